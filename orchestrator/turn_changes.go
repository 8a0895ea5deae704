package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// TurnSource is where the state of a folder before a turn comes from.
type TurnSource string

const (
	// FromSnapshot means that Git stored the folder. All later changes are known, except to files that
	// Git ignores.
	FromSnapshot TurnSource = "snapshot"
	// FromCheckpoints means that the CLI kept the files that Claude's own edits have changed, and no
	// others.
	FromCheckpoints TurnSource = "checkpoints"
)

// TurnChanges lists the changes to a folder since the moment before a message.
type TurnChanges struct {
	workingtree.Status
	Source TurnSource // "" when nothing is known
	// Commands is the number of commands that Claude has run since the message and whose changes are
	// unknown. It is 0 for FromSnapshot.
	Commands int
}

// snapshotTimeout bounds how long storing the state of a folder may delay a message.
const snapshotTimeout = 3 * time.Second

// snapshotFolder stores the state of the session's folder before a turn and returns the name of the
// snapshot. It returns "" if the state cannot be stored in time: the turn then starts without it. A
// folder that was too slow once is not tried again. Only the sender calls it.
func (p *process) snapshotFolder(ctx context.Context) string {
	if p.slowFolder {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	t := p.o.tree(p.session.CWD, workingtree.View{}) // what a person may see is decided when they view the changes
	base, err := t.Snapshot(ctx, t.Place)
	if err != nil {
		p.slowFolder = ctx.Err() != nil
		p.log.DebugContext(ctx, "cannot store the state of the folder before the turn", "error", err)
	}
	return string(base)
}

// storedSnapshot returns the snapshot of a message that may have been sent before, or "".
func (p *process) storedSnapshot(ctx context.Context, messageID string) (string, error) {
	it, err := p.o.o.Store.TranscriptItem(ctx, p.session.SessionID, transcript.MessageKey(messageID))
	if errors.Is(err, session.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read a message that may have been sent: %w", err)
	}
	return snapshotOf(it)
}

func snapshotOf(it session.Item) (string, error) {
	var body session.UserBody
	if err := json.Unmarshal(it.Body, &body); err != nil {
		return "", fmt.Errorf("orchestrator: read a message: %w", err)
	}
	return body.Snapshot, nil
}

// snapshotBefore returns a person's message, and the snapshot of the folder before it; "" if there is
// none.
func (o *Orchestrator) snapshotBefore(ctx context.Context, s session.Session, messageID string) (message session.Item, base workingtree.Base, err error) {
	if message, err = o.personsMessage(ctx, s.SessionID, messageID); err != nil {
		return message, "", err
	}
	stored, err := snapshotOf(message)
	return message, workingtree.Base(stored), err
}

// TurnChanges compares a folder with its state before a person's message.
func (o *Orchestrator) TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (TurnChanges, error) {
	message, base, err := o.snapshotBefore(ctx, s, messageID)
	if err != nil {
		return TurnChanges{}, err
	}
	if base != "" {
		status, err := t.TreeStatus(ctx, t.Place, base)
		if !errors.Is(err, workingtree.ErrNoSnapshot) {
			return TurnChanges{Status: status, Source: FromSnapshot}, err
		}
	}
	since, err := o.rewoundSince(ctx, s, message)
	if err != nil {
		return TurnChanges{}, err
	}
	status, err := t.TreeStatus(ctx, t.Place, workingtree.BaseHead)
	if err != nil {
		return TurnChanges{}, err
	}
	status.Changes, status.More = []workingtree.Change{}, false // drops the changes since the last commit
	changes := TurnChanges{Status: status, Commands: since.commands}
	found, err := o.runner.CheckpointChanges(ctx, t.Place, s.SessionID, messageID)
	switch {
	case errors.Is(err, claude.ErrNotSaved):
		return changes, nil
	case err != nil:
		return TurnChanges{}, fmt.Errorf("orchestrator: %w", err)
	}
	changes.Source, changes.Changes, changes.More = FromCheckpoints, append(changes.Changes, found.Changes...), found.More
	return changes, nil
}

// CompareTurn compares a file listed by TurnChanges with its state before a person's message.
func (o *Orchestrator) CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error) {
	_, base, err := o.snapshotBefore(ctx, s, messageID)
	if err != nil {
		return workingtree.Comparison{}, err
	}
	if base != "" {
		c, err := t.CompareFile(ctx, t.Place, base, path, oldPath)
		if !errors.Is(err, workingtree.ErrNoSnapshot) {
			return c, err
		}
	}
	c, err := o.runner.CompareCheckpoint(ctx, t.Place, s.SessionID, messageID, path)
	if errors.Is(err, claude.ErrNotSaved) {
		err = problem.For("path", "file_unchanged")
	}
	return c, err
}
