package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// TurnSource says how the state of a folder before a turn is known.
type TurnSource string

const (
	// FromSnapshot: git stored the folder. Whatever changed since is known, but for what git ignores.
	FromSnapshot TurnSource = "snapshot"
	// FromCheckpoints: the CLI kept the files that Claude's own edits have changed, and no others.
	FromCheckpoints TurnSource = "checkpoints"
)

// TurnChanges are the changes of a folder since before a message.
type TurnChanges struct {
	workingtree.Status
	Source TurnSource // "" when nothing is known
	// Commands is the number of commands that Claude has run since the message, whose changes are not
	// known. It is 0 for FromSnapshot.
	Commands int
}

// snapshotTimeout bounds what storing the state of a folder may delay a message.
const snapshotTimeout = 3 * time.Second

// snapshotFolder stores the state of the session's folder before a turn, and returns its name, "" if it
// cannot be stored in time: the turn begins without it. A folder that was too slow once is not tried
// again. Only the sender calls it.
func (p *process) snapshotFolder(ctx context.Context) string {
	if p.slowFolder {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	base, err := p.o.git.Snapshot(ctx, workingtree.Place{
		Roots: p.o.rules().Roots, CWD: p.session.CWD, Visible: func(string) bool { return true }, // what a person sees is decided when they look
	})
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

// turnBase is what a folder is compared with.
type turnBase struct {
	message    session.Item
	snapshot   workingtree.Base   // "" when there is none
	checkpoint *claude.Checkpoint // nil when there is none, or a snapshot
}

// turnBase finds the state of a folder before a person's message.
func (o *Orchestrator) turnBase(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (b turnBase, err error) {
	if b.message, err = o.personsMessage(ctx, s.SessionID, messageID); err != nil {
		return b, err
	}
	stored, err := snapshotOf(b.message)
	if err != nil {
		return b, err
	}
	switch has, err := f.HasSnapshot(ctx, workingtree.Base(stored)); {
	case err != nil:
		return b, err
	case has:
		b.snapshot = workingtree.Base(stored)
		return b, nil
	}
	c, err := o.runner.SavedCheckpoint(ctx, s.SessionID, messageID)
	switch {
	case err == nil:
		b.checkpoint = &c
	case !errors.Is(err, claude.ErrNotSaved):
		return b, fmt.Errorf("orchestrator: %w", err)
	}
	return b, nil
}

// TurnChanges compares a folder that WorkingTree opened with its state before a person's message.
func (o *Orchestrator) TurnChanges(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (TurnChanges, error) {
	b, err := o.turnBase(ctx, s, f, messageID)
	if err != nil {
		return TurnChanges{}, err
	}
	if b.snapshot != "" {
		status, err := f.Status(ctx, b.snapshot)
		return TurnChanges{Status: status, Source: FromSnapshot}, err
	}
	since, err := o.rewoundSince(ctx, s, b.message)
	if err != nil {
		return TurnChanges{}, err
	}
	status, err := f.Status(ctx, workingtree.BaseHead)
	if err != nil {
		return TurnChanges{}, err
	}
	status.Changes, status.More = []workingtree.Change{}, false // those since the last commit
	t := TurnChanges{Status: status, Commands: since.commands}
	if b.checkpoint == nil {
		return t, nil
	}
	t.Source = FromCheckpoints
	files := b.checkpointed(s)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if len(t.Changes) == maxCheckpointFiles {
			t.More = true
			break
		}
		c, same, err := o.compareCheckpoint(ctx, f, b, path, files[path])
		if err != nil {
			return TurnChanges{}, err
		}
		if same || c.After.State == workingtree.ContentOutside { // perhaps hidden from the person
			continue
		}
		change := workingtree.Change{Path: path, Status: workingtree.Modified, Added: -1, Removed: -1, Version: c.Digest}
		switch workingtree.ContentMissing {
		case c.Before.State:
			change.Status = workingtree.Added
		case c.After.State:
			change.Status = workingtree.Deleted
		}
		t.Changes = append(t.Changes, change)
	}
	return t, nil
}

// maxCheckpointFiles bounds the list of files of a checkpoint.
const maxCheckpointFiles = 200

// CompareTurn compares a file of TurnChanges with its state before a person's message.
func (o *Orchestrator) CompareTurn(ctx context.Context, s session.Session, f *workingtree.Folder, messageID, path, oldPath string) (workingtree.Comparison, error) {
	b, err := o.turnBase(ctx, s, f, messageID)
	if err != nil {
		return workingtree.Comparison{}, err
	}
	if b.snapshot != "" {
		return f.Compare(ctx, b.snapshot, path, oldPath)
	}
	backup, known := b.checkpointed(s)[path]
	if !known {
		return workingtree.Comparison{}, problem.For("path", "file_unchanged")
	}
	c, _, err := o.compareCheckpoint(ctx, f, b, path, backup)
	return c, err
}

// checkpointed returns the backups of a checkpoint by the paths of their files: relative to the folder if
// they are in it, else absolute.
func (b turnBase) checkpointed(s session.Session) map[string]string {
	files := map[string]string{}
	if b.checkpoint == nil {
		return files
	}
	for path, backup := range b.checkpoint.Files {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.CWD, path)
		}
		if rest, inside := strings.CutPrefix(path, s.CWD+"/"); inside {
			path = rest
		}
		files[path] = backup
	}
	return files
}

// compareCheckpoint compares a file with its backup, "" for a file that did not exist.
func (o *Orchestrator) compareCheckpoint(ctx context.Context, f *workingtree.Folder, b turnBase, path, backup string) (c workingtree.Comparison, same bool, err error) {
	before := workspace.File{State: workspace.FileMissing}
	if backup != "" {
		before, err = o.runner.ReadFile(ctx, nil, b.checkpoint.Folder, backup, workingtree.MaxCompared)
		if err != nil {
			return c, false, fmt.Errorf("orchestrator: read a backup of Claude: %w", err)
		}
		if before.State == workspace.FileMissing {
			before.State = workspace.FileOutside // there was a file, of which nothing is known
		}
	}
	return f.CompareWith(before, path)
}
