package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// WorkingTree returns the working tree in a session's folder, limited to what view shows.
func (o *Orchestrator) WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error) {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return workingtree.Tree{}, err
	}
	return o.tree(s.CWD, view), nil
}

func (o *node) tree(cwd string, view workingtree.View) workingtree.Tree {
	return workingtree.Tree{Trees: o.runner, Place: workingtree.Place{Roots: o.rules().Roots, CWD: cwd, View: view}}
}

// workingTreeIncident is the entry of the audit log for a change to a folder: changes_discarded,
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

// Discard discards the changes to a file, and records that in the audit log first. seen is the
// digest of the content that the person saw.
func (o *Orchestrator) Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error {
	d, err := t.PlanDiscard(ctx, t.Place, path, seen)
	if err != nil {
		return err
	}
	if err := o.record(ctx, workingTreeIncident{incident: newIncident("changes_discarded", s, by), Paths: []string{d.Path}, Object: d.Object}); err != nil {
		return err
	}
	return t.Discard(ctx, t.Place, d)
}

// Commit commits files and returns the id of the commit. The audit log records it before, so
// that no commit is missing there, and again with its id.
func (o *Orchestrator) Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error) {
	if _, err := t.PlanCommit(ctx, t.Place, message, paths); err != nil {
		return "", err
	}
	if err := o.record(ctx, workingTreeIncident{incident: newIncident("commit_started", s, by), Paths: paths, Message: message}); err != nil {
		return "", err
	}
	id, err := t.Commit(ctx, t.Place, message, paths)
	if err != nil {
		return "", err
	}
	return id, o.record(ctx, workingTreeIncident{incident: newIncident("changes_committed", s, by), Paths: paths, Commit: id, Message: message})
}

// RecordExport records in the audit log that a person is about to download the whole transcript of
// a session as a file in this format.
func (o *Orchestrator) RecordExport(ctx context.Context, s session.Session, format string, by pending.Actor) error {
	return o.record(ctx, struct {
		incident
		Format string `json:"format"`
	}{newIncident("session_exported", s, by), format})
}

// FolderTree is like WorkingTree, for a folder that need not have a session. permit is called with
// the folder, free of symbolic links, and may refuse it.
func (o *Orchestrator) FolderTree(ctx context.Context, cwd string, permit func(folder string) error, view workingtree.View) (workingtree.Tree, error) {
	real, err := o.runner.ResolveFolder(ctx, o.rules().Roots, cwd)
	if err != nil {
		return workingtree.Tree{}, problem.InField("cwd", err)
	}
	if err := permit(real); err != nil {
		return workingtree.Tree{}, err
	}
	return o.tree(real, view), nil
}

// AddWorktree adds a worktree to the repository of a folder, and records that in the audit log
// first. It returns the folder of the worktree, in which a session can start.
func (o *Orchestrator) AddWorktree(ctx context.Context, t workingtree.Tree, branch, base string, by pending.Actor) (folder string, err error) {
	w, err := t.PlanWorktree(ctx, t.Place, branch, base)
	if err != nil {
		return "", err
	}
	if err := o.record(ctx, workingTreeIncident{
		incident: newIncident("worktree_added", session.Session{CWD: w.Path}, by), Paths: []string{}, Branch: branch, Base: base, Commit: w.Commit,
	}); err != nil {
		return "", err
	}
	return t.AddWorktree(ctx, t.Place, w)
}

// MergeWorktree merges the branch of a session's worktree into its base, and records that in the audit
// trail first. digest is the digest of the state that the person saw.
func (o *Orchestrator) MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (commit string, err error) {
	m, err := t.PlanMerge(ctx, t.Place, digest)
	if err != nil {
		return "", err
	}
	if err := o.record(ctx, workingTreeIncident{
		incident: newIncident("worktree_merged", s, by), Paths: []string{}, Branch: m.Branch, Base: m.Base, Commit: m.To,
	}); err != nil {
		return "", err
	}
	return t.MergeWorktree(ctx, t.Place, m)
}

// RemoveWorktree removes the worktree of a session. It first records that in the audit log, with the
// names of the ignored files that are lost. digest is the digest of the state that the person saw. It
// refuses while Claude runs in the worktree.
func (o *Orchestrator) RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	w, err := t.PlanRemoval(ctx, t.Place, digest)
	if err != nil {
		return w, err
	}
	// Checked after the plan, which takes time: a session may have started meanwhile.
	for _, p := range o.all() {
		if p.snapshot().row.Running() && w.Contains(p.session.CWD) {
			return w, problem.New("worktree_in_use")
		}
	}
	if err := o.record(ctx, workingTreeIncident{
		incident: newIncident("worktree_removed", s, by), Paths: append([]string{}, w.Ignored...), Branch: w.Branch, Base: w.Base, Commit: w.Head, Object: w.Kept,
	}); err != nil {
		return w, err
	}
	return t.RemoveWorktree(ctx, t.Place, w)
}
