package httpapi

import (
	"context"
	"net/http"
	"path"
	"strconv"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// changesDriver is what changesHandlers needs from the orchestrator.
type changesDriver interface {
	WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error)
	Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error
	Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error)
	FolderTree(ctx context.Context, runnerID, cwd string, permit func(folder string) error, view workingtree.View) (workingtree.Tree, error)
	LastChoice(ctx context.Context, runnerID, userID, folder string) (mode, model string, err error)
	AddWorktree(ctx context.Context, t workingtree.Tree, branch, base string, by pending.Actor) (folder string, err error)
	MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (commit string, err error)
	RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error)
	TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (orchestrator.TurnChanges, error)
	CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error)
	PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (orchestrator.Rewind, error)
	Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error
}

// changesHandlers serves the changes and the files of a session's folder.
type changesHandlers struct {
	driver changesDriver
	guard  *access.Guard
}

// maxRawFile bounds a file that is downloaded, in bytes.
const maxRawFile = 32 << 20

// find returns the folder of a session that a person may see.
func (s *changesHandlers) find(r *http.Request, who account.Identity) (workingtree.Tree, error) {
	_, t, err := s.findSession(r, who)
	return t, err
}

func (s *changesHandlers) findSession(r *http.Request, who account.Identity) (session.Session, workingtree.Tree, error) {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return ses, workingtree.Tree{}, err
	}
	t, err := s.folder(r.Context(), who, ses, book)
	return ses, t, err
}

// turnBase names the only base that is no commit: the state before a person's message.
const turnBase = "turn"

// folder returns the folder of a session as a person may see it: without the folders of projects
// that are hidden from them.
func (s *changesHandlers) folder(ctx context.Context, who account.Identity, ses session.Session, book *project.Book) (workingtree.Tree, error) {
	return s.driver.WorkingTree(ctx, ses.SessionID, view(book, func(projectID string) bool {
		return projectID == ses.InProject || access.Sees(book, who, projectID)
	}))
}

// view returns which folders a person may see. sees reports whether they see a project; everybody
// sees folders in no project.
func view(book *project.Book, sees func(projectID string) bool) (v workingtree.View) {
	v.Shown, v.Hidden = book.Folders(sees)
	return v
}

// change requires that the person may answer in the session of a request, reads the body into dst,
// and calls do with the session's folder. The end of the request does not interrupt do. The body is
// read after the check, so that its errors reveal nothing about sessions that the person may not see.
func (s *changesHandlers) change(r *http.Request, who account.Identity, dst any, do func(context.Context, session.Session, workingtree.Tree) error) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.Answer, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := readBody(r, dst); err != nil {
		return err
	}
	t, err := s.folder(r.Context(), who, ses, book)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	return do(ctx, ses, t)
}

func (s *changesHandlers) getChanges(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, t, err := s.findSession(r, who)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	var turn orchestrator.TurnChanges
	if query.Get("base") == turnBase {
		turn, err = s.driver.TurnChanges(r.Context(), ses, t, query.Get("message_id"))
		turn.Base = turnBase
	} else {
		turn.Status, err = t.TreeStatus(r.Context(), t.Place, commitBase(query.Get("base")))
	}
	if err != nil {
		return err
	}
	status := turn.Status
	out := wire.Changes{
		Repository: string(status.Repository), Branch: status.Branch, Head: status.Head, Base: string(status.Base), MainBranch: status.MainBranch,
		Files: make([]wire.ChangedFile, 0, len(status.Changes)), More: status.More, Source: string(turn.Source), Commands: turn.Commands,
	}
	for _, c := range status.Changes {
		changed := wire.ChangedFile{
			Path: c.Path, OldPath: c.OldPath, Status: string(c.Status), Uncommitted: c.Uncommitted, Version: c.Version,
			Readable: c.Readable,
		}
		if c.Added >= 0 {
			changed.Added, changed.Removed = &c.Added, &c.Removed
		}
		out.Files = append(out.Files, changed)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// commitBase returns the base that a client names. Any unknown name means
// [workingtree.BaseHead], so clients cannot name a snapshot.
func commitBase(name string) workingtree.Base {
	if name == string(workingtree.BaseBranch) {
		return workingtree.BaseBranch
	}
	return workingtree.BaseHead
}

func (s *changesHandlers) getChangedFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, t, err := s.findSession(r, who)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	path, oldPath := query.Get("path"), query.Get("old_path")
	var c workingtree.Comparison
	if query.Get("base") == turnBase {
		c, err = s.driver.CompareTurn(r.Context(), ses, t, query.Get("message_id"), path, oldPath)
	} else {
		c, err = t.CompareFile(r.Context(), t.Place, commitBase(query.Get("base")), path, oldPath)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.FileComparison{Before: fileContent(c.Before), After: fileContent(c.After), Digest: c.Digest})
	return nil
}

func fileContent(c workingtree.Content) wire.FileContent {
	return wire.FileContent{State: string(c.State), Text: c.Text, Size: c.Size}
}

func (s *changesHandlers) postDiscard(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var d wire.FileDiscard
	if err := s.change(r, who, &d, func(ctx context.Context, ses session.Session, t workingtree.Tree) error {
		return s.driver.Discard(ctx, ses, t, d.Path, d.Digest, access.Actor(who))
	}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *changesHandlers) postCommit(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var c wire.CommitCreate
	var id string
	if err := s.change(r, who, &c, func(ctx context.Context, ses session.Session, t workingtree.Tree) (err error) {
		id, err = s.driver.Commit(ctx, ses, t, c.Message, c.Paths, access.Actor(who))
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.CommitCreated{Commit: id})
	return nil
}

// getRewind previews a rewind, for people who may also carry it out.
func (s *changesHandlers) getRewind(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.Answer, r.PathValue("id"))
	if err != nil {
		return err
	}
	t, err := s.folder(r.Context(), who, ses, book)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), command.Timeout)
	defer cancel()
	preview, err := s.driver.PreviewRewind(ctx, ses, t, r.URL.Query().Get("message_id"))
	if err != nil {
		return err
	}
	out := wire.Rewind{
		Files:      make([]wire.RewoundFile, 0, len(preview.Files)),
		Insertions: preview.Insertions, Deletions: preview.Deletions, Commands: preview.Commands, Digest: preview.Digest,
	}
	for _, file := range preview.Files {
		out.Files = append(out.Files, wire.RewoundFile{Path: file.Path, Missing: file.Missing, Changed: file.Changed})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *changesHandlers) postRewind(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var d wire.RewindStart
	if err := s.change(r, who, &d, func(ctx context.Context, ses session.Session, t workingtree.Tree) error {
		return s.driver.Rewind(ctx, ses, t, d.MessageID, d.Digest, access.Actor(who))
	}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *changesHandlers) getFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	t, err := s.find(r, who)
	if err != nil {
		return err
	}
	list, err := t.ListTree(r.Context(), t.Place, r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	out := wire.FolderEntries{Entries: make([]wire.FolderEntry, 0, len(list.Entries)), More: list.More}
	for _, e := range list.Entries {
		out.Entries = append(out.Entries, wire.FolderEntry{Name: e.Name, Kind: string(e.Kind), Readable: e.Readable})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *changesHandlers) getFoundFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	t, err := s.find(r, who)
	if err != nil {
		return err
	}
	return s.writeFound(w, r, t)
}

func (s *changesHandlers) writeFound(w http.ResponseWriter, r *http.Request, t workingtree.Tree) error {
	found, err := t.SearchTree(r.Context(), t.Place, r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.FoundFiles{Paths: append([]string{}, found.Paths...), More: found.More})
	return nil
}

func (s *changesHandlers) getFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	t, err := s.find(r, who)
	if err != nil {
		return err
	}
	file, err := t.ReadTreeFile(r.Context(), t.Place, r.URL.Query().Get("path"), workingtree.MaxText)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, fileContent(file.Content))
	return nil
}

// getRawFile sends the bytes of a file as a download, so that no browser opens it as a page.
func (s *changesHandlers) getRawFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	t, err := s.find(r, who)
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("path")
	file, err := t.ReadTreeFile(r.Context(), t.Place, name, maxRawFile)
	if err != nil {
		return err
	}
	if file.Data == nil {
		return problem.For("path", "file_not_shown")
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition("attachment", path.Base(name)))
	h.Set("Content-Security-Policy", attachmentPolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(file.Data)))
	w.WriteHeader(http.StatusOK)
	writeParts(w, file.Data)
	return nil
}
