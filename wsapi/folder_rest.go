package wsapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wire"
)

const (
	maxFolders   = 200
	foldersDef   = 50
	longestTyped = 4096 // bytes of a path, as for the folder of a session
)

func wireFolderItems(list []orchestrator.FolderItem) []wire.FolderItem {
	out := make([]wire.FolderItem, 0, len(list))
	for _, i := range list {
		out = append(out, wire.FolderItem{
			Kind: wire.FolderItemKind(i.Kind), Danger: wire.FolderDanger(i.Danger), File: i.File, Name: i.Name, Text: i.Text, Cut: i.Cut, New: i.New,
		})
	}
	return out
}

// getTrustedFolders lists the folders whose settings somebody trusts.
func (s *Server) getTrustedFolders(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.o.Driver.TrustedFolders(r.Context())
	if err != nil {
		return err
	}
	list := wire.TrustedFolderList{Folders: make([]wire.TrustedFolder, 0, len(all))}
	for _, t := range all {
		list.Folders = append(list.Folders, wire.TrustedFolder{Folder: t.Folder, Digest: t.Digest, By: t.By, TrustedAt: wire.Seconds(t.At), Items: wireFolderItems(t.Items)})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// postDistrust takes a trust back. Sessions that run there go on as they are.
func (s *Server) postDistrust(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TrustRevoke
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), commandTimeout)
	defer cancel()
	known, err := s.o.Driver.Distrust(ctx, body.Folder, body.Digest, access.Actor(who))
	if err != nil {
		return err
	}
	if !known {
		return refuse(http.StatusNotFound, "not_found", "This folder is not trusted in that way any more. Look at the list again.")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// wireTrust is what a person must look at.
func wireTrust(e *orchestrator.UntrustedError) *wire.FolderTrust {
	w := &wire.FolderTrust{
		Folder: e.Folder, Digest: e.Digest, Items: wireFolderItems(e.Items), Gone: wireFolderItems(e.Gone), Told: e.Told, CanLeaveOut: !e.CannotLeaveOut,
	}
	if w.Told == nil {
		w.Told = []string{}
	}
	if e.Before != nil {
		w.Before = &wire.TrustedBy{By: e.Before.By.Name, At: wire.Seconds(e.Before.At)}
	}
	return w
}

// consent has what a person says about the settings of a session's folder stored.
func (s *Server) consent(ctx context.Context, sessionID string, given wire.FolderConsent, who account.Identity) error {
	if given == (wire.FolderConsent{}) {
		return nil
	}
	return s.o.Driver.Consent(ctx, sessionID, orchestrator.Consent{Trust: given.Trust, LeaveOut: given.WithoutSettings}, access.Actor(who))
}

// getFolders completes what somebody types as the folder of a new session.
func (s *Server) getFolders(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	limit, err := number(query.Get("limit"), "limit", foldersDef, maxFolders)
	if err != nil {
		return err
	}
	prefix := query.Get("prefix")
	if len(prefix) > longestTyped {
		return refuseField("prefix", "The path is longer than a path can be.")
	}
	found, err := s.o.Driver.Folders(r.Context(), who.User.UserID, workspace.Search{
		Prefix: prefix, Hidden: query.Get("hidden") == "true", Limit: max(int(limit), 1),
	})
	if err != nil {
		return err
	}
	book, err := s.book(r.Context())
	if err != nil {
		return err
	}
	list := wire.FolderList{Folders: make([]wire.Folder, 0, len(found.Folders)), More: found.More}
	for _, f := range found.Folders {
		if book.RoleIn(access.Person(who), book.Of(f.Path)) == "" {
			continue // the folder of a project that they may not see
		}
		list.Folders = append(list.Folders, wire.Folder{Path: f.Path, Recent: f.Recent})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
