package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// folderDriver is what folderHandlers needs from the orchestrator.
type folderDriver interface {
	Distrust(ctx context.Context, folder, digest string, by pending.Actor) (known bool, err error)
	Folders(ctx context.Context, runnerID, userID string, s workspace.Search) (workspace.Listing, error)
	TrustedFolders(ctx context.Context) ([]orchestrator.TrustedFolder, error)
}

// folderHandlers serves the folders in which sessions can start, and those that people trust.
type folderHandlers struct {
	driver folderDriver
	guard  *access.Guard
}

const (
	maxFolders      = 200
	defaultFolders  = 50
	maxPrefixLength = 4096 // bytes, as for the folder of a session
)

// getTrustedFolders lists the folders whose settings somebody trusts.
func (s *folderHandlers) getTrustedFolders(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.driver.TrustedFolders(r.Context())
	if err != nil {
		return err
	}
	list := wire.TrustedFolderList{Folders: make([]wire.TrustedFolder, 0, len(all))}
	for _, t := range all {
		list.Folders = append(list.Folders, wire.TrustedFolder{Folder: t.Folder, Digest: t.Digest, By: t.By, TrustedAt: wire.Seconds(t.At), Items: refusal.NewFolderItems(t.Items)})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// postDistrust revokes the trust in a folder. Running sessions continue.
func (s *folderHandlers) postDistrust(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TrustRevoke
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	known, err := s.driver.Distrust(ctx, body.Folder, body.Digest, access.Actor(who))
	if err != nil {
		return err
	}
	if !known {
		return refusal.New("folder_not_trusted")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getFolders completes the partly typed path of a new session's folder.
func (s *folderHandlers) getFolders(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	limit, err := queryNumber(query.Get("limit"), "limit", defaultFolders, maxFolders)
	if err != nil {
		return err
	}
	prefix := query.Get("prefix")
	if len(prefix) > maxPrefixLength {
		return refusal.For("prefix", "path_too_long")
	}
	listing, err := s.driver.Folders(r.Context(), query.Get("runner_id"), who.User.UserID, workspace.Search{
		Prefix: prefix, Hidden: query.Get("hidden") == "true", Limit: max(int(limit), 1),
	})
	if err != nil {
		return err
	}
	book, err := s.guard.Book(r.Context())
	if err != nil {
		return err
	}
	list := wire.FolderList{Folders: make([]wire.Folder, 0, len(listing.Folders)), More: listing.More}
	for _, f := range listing.Folders {
		if book.RoleIn(access.Person(who), book.ProjectIDOf(f.Path)) == "" {
			continue // the folder of a project that they may not see
		}
		list.Folders = append(list.Folders, wire.Folder{Path: f.Path, Recent: f.Recent})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
