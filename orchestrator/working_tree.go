package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// WorkingTree opens the folder of a session for a person who sees the paths that visible
// accepts, absolute and without symbolic links. The caller closes it.
func (o *Orchestrator) WorkingTree(ctx context.Context, sessionID string, visible func(path string) bool) (*workingtree.Folder, error) {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return o.git.Open(ctx, workingtree.Place{Roots: o.rules().Roots, CWD: s.CWD, Visible: visible})
}

// workingTreeIncident is the entry of the audit trail for a change of a folder: changes_discarded,
// commit_started, changes_committed, files_restored, worktree_added, worktree_merged or
// worktree_removed.
type workingTreeIncident struct {
	incident
	Paths     []string `json:"paths"`
	Object    string   `json:"object,omitempty"` // of the discarded content, in the repository
	Commit    string   `json:"commit,omitempty"`
	Message   string   `json:"message,omitempty"`
	MessageID string   `json:"message_id,omitempty"`
	Branch    string   `json:"branch,omitempty"`
	Base      string   `json:"base,omitempty"`
	// Objects are the ids of the previous content in the repository, by path.
	Objects map[string]string `json:"objects,omitempty"`
}

// Discard discards the changes of a file in a folder that WorkingTree opened. seen is the digest
// of the content that the person saw. It is recorded in the audit trail first.
func (o *Orchestrator) Discard(ctx context.Context, s session.Session, f *workingtree.Folder, path, seen string, by pending.Actor) error {
	return f.Discard(ctx, path, seen, func(d workingtree.Discarded) error {
		return o.record(ctx, workingTreeIncident{incident: newIncident("changes_discarded", s, by), Paths: []string{d.Path}, Object: d.Object})
	})
}

// Commit commits files in a folder that WorkingTree opened. It is recorded in the audit trail
// first, so that no commit is missing there, and again with its id. It returns the id of the commit.
func (o *Orchestrator) Commit(ctx context.Context, s session.Session, f *workingtree.Folder, message string, paths []string, by pending.Actor) (string, error) {
	id, err := f.Commit(ctx, message, paths, func() error {
		return o.record(ctx, workingTreeIncident{incident: newIncident("commit_started", s, by), Paths: paths, Message: message})
	})
	if err != nil {
		return "", err
	}
	return id, o.record(ctx, workingTreeIncident{incident: newIncident("changes_committed", s, by), Paths: paths, Commit: id, Message: message})
}

// RecordExport records in the audit trail that a person is about to get the whole transcript of a
// session as a file of this format.
func (o *Orchestrator) RecordExport(ctx context.Context, s session.Session, format string, by pending.Actor) error {
	return o.record(ctx, struct {
		incident
		Format string `json:"format"`
	}{newIncident("session_exported", s, by), format})
}

// FolderTree opens a folder in which no session needs to be, as WorkingTree does. permit gets the
// folder without symbolic links and may refuse it.
func (o *Orchestrator) FolderTree(ctx context.Context, cwd string, permit func(folder string) error, visible func(path string) bool) (*workingtree.Folder, error) {
	real, err := o.runner.ResolveFolder(ctx, o.rules().Roots, cwd)
	if err != nil {
		return nil, problem.InField("cwd", err)
	}
	if err := permit(real); err != nil {
		return nil, err
	}
	return o.git.Open(ctx, workingtree.Place{Roots: o.rules().Roots, CWD: real, Visible: visible})
}

// AddWorktree adds a worktree to the repository of a folder that FolderTree opened, and records it
// in the audit trail first. It returns the folder in which a session can start.
func (o *Orchestrator) AddWorktree(ctx context.Context, f *workingtree.Folder, branch, base string, by pending.Actor) (folder string, err error) {
	return f.AddWorktree(ctx, branch, base, func(path, commit string) error {
		return o.record(ctx, workingTreeIncident{
			incident: newIncident("worktree_added", session.Session{CWD: path}, by), Paths: []string{}, Branch: branch, Base: base, Commit: commit,
		})
	})
}

// MergeWorktree merges the branch of a session's worktree into its base, and records it first.
// digest is that of the state that the person saw.
func (o *Orchestrator) MergeWorktree(ctx context.Context, s session.Session, f *workingtree.Folder, digest string, by pending.Actor) (commit string, err error) {
	return f.MergeWorktree(ctx, digest, func(w workingtree.Worktree, commit string) error {
		return o.record(ctx, workingTreeIncident{
			incident: newIncident("worktree_merged", s, by), Paths: []string{}, Branch: w.Branch, Base: w.Base, Commit: commit,
		})
	})
}

// RemoveWorktree removes the worktree of a session, and records it first, with the names of the
// ignored files that are lost. digest is that of the state that the person saw. It refuses while
// Claude runs in it.
func (o *Orchestrator) RemoveWorktree(ctx context.Context, s session.Session, f *workingtree.Folder, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	return f.RemoveWorktree(ctx, digest, func(w workingtree.RemovedWorktree) error {
		// Here, and not before what takes time: a session may have started meanwhile.
		for _, p := range o.all() {
			if p.snapshot().row.Running() && f.Contains(p.session.CWD) {
				return problem.New("worktree_in_use")
			}
		}
		return o.record(ctx, workingTreeIncident{
			incident: newIncident("worktree_removed", s, by), Paths: append([]string{}, w.Ignored...), Branch: w.Branch, Base: w.Base, Commit: w.Head, Object: w.Kept,
		})
	})
}
