package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Rewind describes what changes if the files of a session are restored to their state before a
// message.
type Rewind struct {
	Files                 []RewoundFile // sorted by path
	Insertions, Deletions int           // lines, in all files together
	// Commands is the number of commands that Claude has run since the message. A rewind does not
	// undo their effects.
	Commands int
	// Digest changes when one of the files does.
	Digest string
}

// RewoundFile is a file that a rewind changes.
type RewoundFile struct {
	Path    string // relative to the session's folder if it is inside, else absolute
	Missing bool   // the file was deleted, and will be created again
	// Changed is set if something else has changed the file after Claude. That change is lost too.
	Changed bool
}

// PreviewRewind returns what Rewind would change, and changes nothing. It refuses if no process runs
// and during a turn, as Rewind does.
func (o *Orchestrator) PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (Rewind, error) {
	plan, err := o.planRewind(ctx, s, t, messageID)
	if err != nil {
		return Rewind{}, err
	}
	since, err := o.rewoundSince(ctx, s, plan.message)
	if err != nil {
		return Rewind{}, err
	}
	plan.Commands = since.commands
	for i, info := range plan.infos {
		plan.Files[i].Changed = !info.Missing && since.changedLater(plan.paths[i], info.ModTime)
	}
	return plan.Rewind, nil
}

// Rewind restores the files that Claude's tools have changed since a person's message. digest is the
// Digest of the preview that the person saw; Rewind refuses if the files have changed since. It first
// stores the current content in the repository, if there is one, and records the rewind in the audit
// trail and the transcript, because Claude goes on restoring even if the server is killed. Rewind
// refuses if no process runs, because only a running CLI can restore files, and during a turn, because
// Claude may be changing them.
func (o *Orchestrator) Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error {
	p, err := o.running(ctx, s.SessionID)
	if err != nil {
		return err
	}
	release, err := p.holdTurns(ctx)
	if err != nil {
		return err
	}
	defer release()
	plan, err := o.planRewind(ctx, s, t, messageID)
	switch {
	case err != nil:
		return err
	case plan.Digest != digest:
		return problem.For("digest", "rewind_changed")
	case len(plan.paths) == 0:
		return problem.For("message_id", "rewind_nothing")
	}
	kept, err := t.KeepFiles(ctx, t.Place, plan.paths)
	if err != nil {
		return err
	}
	if err := o.record(ctx, workingTreeIncident{incident: newIncident("files_restored", s, by), Paths: plan.paths, Objects: kept, MessageID: messageID}); err != nil {
		return err
	}
	key := restoredKey + uuid.NewString()
	note := func(level, text string) error {
		p.addItems(transcript.Note(key, level, statement.New(text, "by", by.Name, "files", len(plan.paths)), time.Now()))
		return p.flush(ctx)
	}
	if err := note("warning", "files_restore_unconfirmed"); err != nil {
		return err
	}
	_, err = p.rewindFiles(ctx, messageID, false)
	var refused *problem.Error
	switch {
	case err == nil:
		return note("info", "files_restored")
	case errors.As(err, &refused) && refused.Reason == "rewind_refused":
		return errors.Join(err, note("warning", "files_not_restored"))
	}
	return err
}

// restoredKey begins the keys of transcript notes about restored files.
const restoredKey = "restored:"

// rewindPlan is a Rewind without Commands and Changed, with what is needed to carry it out.
type rewindPlan struct {
	Rewind
	paths   []string               // absolute, of Files
	infos   []workingtree.FileInfo // of paths
	message session.Item
}

// planRewind asks the CLI what a rewind would change.
func (o *Orchestrator) planRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (plan rewindPlan, err error) {
	p, err := o.running(ctx, s.SessionID)
	if err != nil {
		return rewindPlan{}, err
	}
	switch now := p.snapshot(); {
	case now.row.State == session.Dead || now.stopReason != "":
		return rewindPlan{}, ErrNotRunning
	case now.row.State != session.UserTurn:
		return rewindPlan{}, problem.New("rewind_in_turn")
	}
	plan.message, err = o.personsMessage(ctx, s.SessionID, messageID)
	if err != nil {
		return rewindPlan{}, err
	}
	found, err := p.rewindFiles(ctx, messageID, true)
	if err != nil {
		return rewindPlan{}, err
	}
	plan.Insertions, plan.Deletions = found.Insertions, found.Deletions
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", messageID)
	for _, path := range slices.Compact(slices.Sorted(slices.Values(found.FilesChanged))) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.CWD, path)
		}
		plan.paths = append(plan.paths, path)
	}
	if plan.infos, err = t.InspectFiles(ctx, t.Place, plan.paths); err != nil {
		return rewindPlan{}, err
	}
	for i, path := range plan.paths {
		info := plan.infos[i]
		file := RewoundFile{Path: path, Missing: info.Missing}
		if rest, inside := strings.CutPrefix(path, s.CWD+"/"); inside {
			file.Path = rest
		}
		fmt.Fprintf(sum, "%s\x00", path)
		if !info.Missing {
			fmt.Fprintf(sum, "%d %d %s", info.ModTime.UnixNano(), info.Size, info.Mode)
		}
		plan.Files = append(plan.Files, file)
	}
	plan.Digest = hex.EncodeToString(sum.Sum(nil))
	return plan, nil
}

// personsMessage returns the item of a person's message in a transcript, or a [problem.Error].
func (o *Orchestrator) personsMessage(ctx context.Context, sessionID, messageID string) (session.Item, error) {
	it, err := o.o.Store.TranscriptItem(ctx, sessionID, transcript.MessageKey(messageID))
	switch {
	case errors.Is(err, session.ErrNotFound) || err == nil && it.Kind != session.ItemUser:
		return session.Item{}, problem.For("message_id", "rewind_unknown_message")
	case err != nil:
		return session.Item{}, fmt.Errorf("orchestrator: find message: %w", err)
	}
	return it, nil
}

// rewound holds what a transcript reports about the time since a message.
type rewound struct {
	since    time.Time            // when the message was sent
	edited   map[string]time.Time // by absolute path: when Claude last changed the file
	unknown  time.Time            // when Claude last changed a file whose path is unknown
	restored []time.Time          // when files were restored
	commands int
}

// clockTolerance is how much later than the end of a call the modification time of a file may be
// that the call has written.
const clockTolerance = time.Second

// changedLater reports whether something other than Claude made the last change to a file, since the
// message.
func (r rewound) changedLater(path string, modified time.Time) bool {
	for _, at := range []time.Time{r.since, r.edited[path], r.unknown} {
		if !modified.After(at.Add(clockTolerance)) {
			return false
		}
	}
	for _, restored := range r.restored {
		if d := modified.Sub(restored); d > -10*clockTolerance && d < clockTolerance {
			return false
		}
	}
	return true
}

// rewoundSince reads from the transcript what happened since a message. Earlier items do not matter:
// a file differs from its state before the message only if it was changed since.
func (o *Orchestrator) rewoundSince(ctx context.Context, s session.Session, message session.Item) (rewound, error) {
	r := rewound{since: message.At, edited: map[string]time.Time{}}
	err := o.eachItemAfter(ctx, s.SessionID, message.Rev, func(it session.Item) error {
		switch {
		case it.Seq < message.Seq: // an earlier item that only ended after the message
		case it.Kind == session.ItemNote && strings.HasPrefix(it.Key, restoredKey):
			r.restored = append(r.restored, it.At)
		case it.Kind == session.ItemToolCall:
			var call session.ToolCallBody
			if err := json.Unmarshal(it.Body, &call); err != nil {
				return fmt.Errorf("orchestrator: read a call: %w", err)
			}
			if call.ToolName == "Bash" && !call.NoResult {
				r.commands++
			}
			at := time.UnixMicro(int64(call.FinishedAt * 1e6))
			switch {
			case call.Change != nil:
				path := call.Change.Path
				if !filepath.IsAbs(path) {
					path = filepath.Join(s.CWD, path)
				}
				if at.After(r.edited[path]) {
					r.edited[path] = at
				}
			case slices.Contains(editingTools, call.ToolName) && at.After(r.unknown):
				r.unknown = at
			}
		}
		return nil
	})
	return r, err
}

// editingTools lists the tools whose changes to files the CLI can undo.
var editingTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}

// holdTurns keeps messages in the queue until release is called. It refuses during a turn.
func (p *process) holdTurns(ctx context.Context) (release func(), err error) {
	id := uuid.NewString()
	if s := p.handleAndRead(ctx, turnsHeld{id}); s.heldBy != id {
		return nil, problem.New("rewind_in_turn")
	}
	return func() { p.handle(context.WithoutCancel(ctx), turnsReleased{id}) }, nil
}

// rewindFiles asks the CLI to restore files or, with dryRun, what that would change.
func (p *process) rewindFiles(ctx context.Context, messageID string, dryRun bool) (claude.Rewind, error) {
	client := p.clientNow()
	if client == nil || !p.is(func(s state) bool { return s.initialized }) {
		return claude.Rewind{}, ErrNotRunning
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Reply, errUnanswered)
	defer cancel()
	r, err := client.RewindFiles(ctx, messageID, dryRun)
	var refused *claude.RequestError
	switch {
	case errors.Is(err, errUnanswered):
		return r, problem.New("claude_unanswered")
	case errors.Is(err, claude.ErrClosed):
		return r, ErrNotRunning
	case errors.As(err, &refused):
		return r, problem.New("rewind_refused", "detail", strings.TrimSuffix(refused.Error(), "."))
	case err != nil:
		return r, fmt.Errorf("orchestrator: rewind: %w", err)
	case !r.CanRewind && dryRun, r.Error != "":
		return r, problem.New("rewind_refused", "detail", strings.TrimSuffix(r.Error, "."))
	}
	return r, nil
}
