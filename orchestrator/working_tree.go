package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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

// workingTreeBody is an entry of the audit trail; docs/operating/audit.md describes it.
type workingTreeBody struct {
	What      string    `json:"what"` // changes_discarded, commit_started, changes_committed, files_restored
	At        time.Time `json:"at"`
	By        bypassBy  `json:"by"`
	SessionID string    `json:"session_id"`
	Folder    string    `json:"folder"`
	Paths     []string  `json:"paths"`
	Object    string    `json:"object,omitempty"` // of the discarded content, in the repository
	Commit    string    `json:"commit,omitempty"`
	Message   string    `json:"message,omitempty"`
	MessageID string    `json:"message_id,omitempty"`
	// Objects are the ids of the previous content in the repository, by path.
	Objects map[string]string `json:"objects,omitempty"`
}

// Discard discards the changes of a file in a folder that WorkingTree opened. seen is the digest
// of the content that the person saw. It is recorded in the audit trail first.
func (o *Orchestrator) Discard(ctx context.Context, s session.Session, f *workingtree.Folder, path, seen string, by pending.Actor) error {
	return f.Discard(ctx, path, seen, func(d workingtree.Discarded) error {
		return o.recordWorkingTree(ctx, s, by, workingTreeBody{What: "changes_discarded", Paths: []string{d.Path}, Object: d.Object})
	})
}

// Commit commits files in a folder that WorkingTree opened. It is recorded in the audit trail
// first, so that no commit is missing there, and again with its id. It returns the id of the commit.
func (o *Orchestrator) Commit(ctx context.Context, s session.Session, f *workingtree.Folder, message string, paths []string, by pending.Actor) (string, error) {
	id, err := f.Commit(ctx, message, paths, func() error {
		return o.recordWorkingTree(ctx, s, by, workingTreeBody{What: "commit_started", Paths: paths, Message: message})
	})
	if err != nil {
		return "", err
	}
	return id, o.recordWorkingTree(ctx, s, by, workingTreeBody{What: "changes_committed", Paths: paths, Commit: id, Message: message})
}

func (o *Orchestrator) recordWorkingTree(ctx context.Context, s session.Session, by pending.Actor, body workingTreeBody) error {
	body.At, body.SessionID, body.Folder = time.Now().UTC().Truncate(time.Microsecond), s.SessionID, s.CWD
	body.By = bypassBy{by.UserID, by.Name, by.Device, by.Address}
	return o.record(ctx, body.What, body)
}

// record appends an entry to the audit trail.
func (o *Orchestrator) record(ctx context.Context, what string, body any) error {
	data, err := json.Marshal(body)
	if err == nil {
		err = o.o.Store.AddIncident(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: record %s: %w", what, err)
	}
	return nil
}

// RecordExport records in the audit trail that a person is about to get the whole transcript of a
// session as a file of this format.
func (o *Orchestrator) RecordExport(ctx context.Context, s session.Session, format string, by pending.Actor) error {
	const what = "session_exported"
	return o.record(ctx, what, struct {
		What      string    `json:"what"`
		At        time.Time `json:"at"`
		By        bypassBy  `json:"by"`
		SessionID string    `json:"session_id"`
		Folder    string    `json:"folder"`
		Format    string    `json:"format"`
	}{what, time.Now().UTC().Truncate(time.Microsecond), bypassBy{by.UserID, by.Name, by.Device, by.Address}, s.SessionID, s.CWD, format})
}
