package orchestrator

import (
	"context"

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
// commit_started, changes_committed or files_restored.
type workingTreeIncident struct {
	incident
	Paths     []string `json:"paths"`
	Object    string   `json:"object,omitempty"` // of the discarded content, in the repository
	Commit    string   `json:"commit,omitempty"`
	Message   string   `json:"message,omitempty"`
	MessageID string   `json:"message_id,omitempty"`
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
