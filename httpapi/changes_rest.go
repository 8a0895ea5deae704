package httpapi

import (
	"context"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

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

// changesDriver is what changesHandlers needs of the orchestrator.
type changesDriver interface {
	WorkingTree(ctx context.Context, sessionID string, visible func(path string) bool) (*workingtree.Folder, error)
	Discard(ctx context.Context, s session.Session, f *workingtree.Folder, path, seen string, by pending.Actor) error
	Commit(ctx context.Context, s session.Session, f *workingtree.Folder, message string, paths []string, by pending.Actor) (string, error)
	FolderTree(ctx context.Context, cwd string, permit func(folder string) error, visible func(path string) bool) (*workingtree.Folder, error)
	LastChoice(ctx context.Context, userID, folder string) (mode, model string, err error)
	AddWorktree(ctx context.Context, f *workingtree.Folder, branch, base string, by pending.Actor) (folder string, err error)
	MergeWorktree(ctx context.Context, s session.Session, f *workingtree.Folder, digest string, by pending.Actor) (commit string, err error)
	RemoveWorktree(ctx context.Context, s session.Session, f *workingtree.Folder, digest string, by pending.Actor) (workingtree.RemovedWorktree, error)
	TurnChanges(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (orchestrator.TurnChanges, error)
	CompareTurn(ctx context.Context, s session.Session, f *workingtree.Folder, messageID, path, oldPath string) (workingtree.Comparison, error)
	PreviewRewind(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (orchestrator.Rewind, error)
	Rewind(ctx context.Context, s session.Session, f *workingtree.Folder, messageID, digest string, by pending.Actor) error
}

// changesHandlers serves the changes and the files of a session's folder.
type changesHandlers struct {
	driver changesDriver
	guard  *access.Guard
}

// maxRawFile bounds a file that is downloaded, in bytes.
const maxRawFile = 32 << 20

// open opens the folder of a session that a person may see.
func (s *changesHandlers) open(r *http.Request, who account.Identity) (*workingtree.Folder, error) {
	_, f, err := s.openSession(r, who)
	return f, err
}

func (s *changesHandlers) openSession(r *http.Request, who account.Identity) (session.Session, *workingtree.Folder, error) {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return ses, nil, err
	}
	f, err := s.folder(r.Context(), who, ses, book)
	return ses, f, err
}

// turnBase is the base that is no commit: the state before a person's message.
const turnBase = "turn"

// folder opens the folder of a session as a person may see it: without the folders of projects
// that are hidden from them.
func (s *changesHandlers) folder(ctx context.Context, who account.Identity, ses session.Session, book *project.Book) (*workingtree.Folder, error) {
	return s.driver.WorkingTree(ctx, ses.SessionID, func(file string) bool {
		in := book.ProjectIDOf(path.Clean(file))
		return in == ses.InProject || access.Sees(book, who, in)
	})
}

// change reads the body of a request into dst, opens the folder of its session, in which the person
// may answer, and calls do, which the end of the request does not interrupt. The body is read
// second, so that it reveals nothing of sessions that the person may not see, and the folder is
// opened last.
func (s *changesHandlers) change(r *http.Request, who account.Identity, dst any, do func(context.Context, session.Session, *workingtree.Folder) error) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.Answer, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := readBody(r, dst); err != nil {
		return err
	}
	f, err := s.folder(r.Context(), who, ses, book)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	return do(ctx, ses, f)
}

func (s *changesHandlers) getChanges(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, f, err := s.openSession(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	query := r.URL.Query()
	var turn orchestrator.TurnChanges
	if query.Get("base") == turnBase {
		turn, err = s.driver.TurnChanges(r.Context(), ses, f, query.Get("message_id"))
		turn.Base = turnBase
	} else {
		turn.Status, err = f.Status(r.Context(), commitBase(query.Get("base")))
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
			Readable: utf8.ValidString(c.Path+c.OldPath) && !strings.HasSuffix(c.Path, "/"),
		}
		if c.Added >= 0 {
			changed.Added, changed.Removed = &c.Added, &c.Removed
		}
		out.Files = append(out.Files, changed)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// commitBase returns the base of a name. A base of another kind is none that a client can name.
func commitBase(name string) workingtree.Base {
	if name == string(workingtree.BaseBranch) {
		return workingtree.BaseBranch
	}
	return workingtree.BaseHead
}

func (s *changesHandlers) getChangedFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, f, err := s.openSession(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	query := r.URL.Query()
	path, oldPath := query.Get("path"), query.Get("old_path")
	var c workingtree.Comparison
	if query.Get("base") == turnBase {
		c, err = s.driver.CompareTurn(r.Context(), ses, f, query.Get("message_id"), path, oldPath)
	} else {
		c, err = f.Compare(r.Context(), commitBase(query.Get("base")), path, oldPath)
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
	if err := s.change(r, who, &d, func(ctx context.Context, ses session.Session, f *workingtree.Folder) error {
		return s.driver.Discard(ctx, ses, f, d.Path, d.Digest, access.Actor(who))
	}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *changesHandlers) postCommit(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var c wire.CommitCreate
	var id string
	if err := s.change(r, who, &c, func(ctx context.Context, ses session.Session, f *workingtree.Folder) (err error) {
		id, err = s.driver.Commit(ctx, ses, f, c.Message, c.Paths, access.Actor(who))
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
	f, err := s.folder(r.Context(), who, ses, book)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(r.Context(), command.Timeout)
	defer cancel()
	preview, err := s.driver.PreviewRewind(ctx, ses, f, r.URL.Query().Get("message_id"))
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
	if err := s.change(r, who, &d, func(ctx context.Context, ses session.Session, f *workingtree.Folder) error {
		return s.driver.Rewind(ctx, ses, f, d.MessageID, d.Digest, access.Actor(who))
	}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *changesHandlers) getFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.open(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	list, more, err := f.List(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	out := wire.FolderEntries{Entries: make([]wire.FolderEntry, 0, len(list)), More: more}
	for _, e := range list {
		out.Entries = append(out.Entries, wire.FolderEntry{Name: e.Name, Kind: string(e.Kind), Readable: utf8.ValidString(e.Name)})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *changesHandlers) getFoundFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.open(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.writeFound(w, r, f)
}

func (s *changesHandlers) writeFound(w http.ResponseWriter, r *http.Request, f *workingtree.Folder) error {
	found, more, err := f.Search(r.Context(), r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.FoundFiles{Paths: append([]string{}, found...), More: more})
	return nil
}

func (s *changesHandlers) getFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.open(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	c, _, err := f.Read(r.URL.Query().Get("path"), workingtree.MaxText)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, fileContent(c))
	return nil
}

// getRawFile sends the bytes of a file as a download, which no browser opens as a page.
func (s *changesHandlers) getRawFile(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.open(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	name := r.URL.Query().Get("path")
	_, data, err := f.Read(name, maxRawFile)
	if err != nil {
		return err
	}
	if data == nil {
		return problem.For("path", "file_not_shown")
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition("attachment", path.Base(name)))
	h.Set("Content-Security-Policy", attachmentPolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(data) // the client may be gone
	return nil
}
