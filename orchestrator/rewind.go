package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// Rewind is what restoring the files of a session to before a message changes.
type Rewind struct {
	Files                 []RewoundFile // sorted by path
	Insertions, Deletions int           // lines, of all files together
	// Commands is the number of commands that Claude has run since the message. Their effects are
	// not undone.
	Commands int
	// Digest changes when the files do.
	Digest string
}

// RewoundFile is a file that a rewind changes.
type RewoundFile struct {
	Path    string // relative to the session's folder if it is inside, else absolute
	Missing bool   // it was deleted, and comes back
	// Changed: something else has changed the file after Claude, and that is lost, too.
	Changed bool
}

// rewound is what the transcript tells about a rewind.
type rewound struct {
	edited   map[string]time.Time // by absolute path: when Claude last changed it
	restored []time.Time          // when files were restored
	commands int
	found    bool
}

// PreviewRewind returns what Rewind would change. It changes nothing, and refuses in the same
// cases.
func (o *Orchestrator) PreviewRewind(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (Rewind, error) {
	r, _, err := o.planRewind(ctx, s, f, messageID)
	return r, err
}

// Rewind restores the files that Claude's tools have changed since a person's message. digest is
// that of the preview that the person saw; Rewind refuses when the files have changed since. The
// present content is stored in the repository, if there is one, and the audit trail records the
// rewind before it happens. It refuses while no process runs, because only a running CLI can
// restore files, and during a turn, in which Claude changes them.
func (o *Orchestrator) Rewind(ctx context.Context, s session.Session, f *workingtree.Folder, messageID, digest string, by pending.Actor) error {
	p, err := o.running(ctx, s.SessionID)
	if err != nil {
		return err
	}
	release, err := p.holdTurns(ctx)
	if err != nil {
		return err
	}
	defer release()
	plan, paths, err := o.planRewind(ctx, s, f, messageID)
	switch {
	case err != nil:
		return err
	case plan.Digest != digest:
		return problem.For("digest", "rewind_changed")
	case len(paths) == 0:
		return problem.For("message_id", "rewind_nothing")
	}
	kept, err := f.Keep(ctx, paths)
	if err != nil {
		return err
	}
	if err := o.record(ctx, workingTreeIncident{incident: newIncident("files_restored", s, by), Paths: paths, Objects: kept, MessageID: messageID}); err != nil {
		return err
	}
	if _, err := p.rewindFiles(ctx, messageID, false); err != nil {
		return err
	}
	p.addItems(transcript.Note("restored:"+uuid.NewString(), "info", statement.New("files_restored", "by", by.Name, "files", len(paths)), time.Now()))
	return p.flush(ctx)
}

// planRewind asks the CLI what a rewind would change. paths are absolute.
func (o *Orchestrator) planRewind(ctx context.Context, s session.Session, f *workingtree.Folder, messageID string) (plan Rewind, paths []string, err error) {
	p, err := o.running(ctx, s.SessionID)
	if err != nil {
		return Rewind{}, nil, err
	}
	switch now := p.snapshot(); {
	case now.row.State == session.Dead || now.stopReason != "":
		return Rewind{}, nil, ErrNotRunning
	case now.row.State != session.UserTurn:
		return Rewind{}, nil, problem.New("rewind_in_turn")
	}
	known, err := o.rewoundBy(ctx, s, messageID)
	if err != nil {
		return Rewind{}, nil, err
	}
	if !known.found {
		return Rewind{}, nil, problem.For("message_id", "rewind_unknown_message")
	}
	found, err := p.rewindFiles(ctx, messageID, true)
	if err != nil {
		return Rewind{}, nil, err
	}
	plan = Rewind{Insertions: found.Insertions, Deletions: found.Deletions, Commands: known.commands}
	sum := sha256.New()
	for _, path := range slices.Compact(slices.Sorted(slices.Values(found.FilesChanged))) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.CWD, path)
		}
		info, err := f.Inspect(path)
		if err != nil {
			return Rewind{}, nil, err
		}
		file := RewoundFile{Path: path, Missing: info == nil}
		if rest, inside := strings.CutPrefix(path, s.CWD+"/"); inside {
			file.Path = rest
		}
		fmt.Fprintf(sum, "%s\x00", path)
		if info != nil {
			file.Changed = known.changedLater(path, info)
			fmt.Fprintf(sum, "%d %d %s", info.ModTime().UnixNano(), info.Size(), info.Mode())
		}
		plan.Files, paths = append(plan.Files, file), append(paths, path)
	}
	plan.Digest = hex.EncodeToString(sum.Sum(nil))
	return plan, paths, nil
}

// clockTolerance is how much later than the end of a call the time of a file may be that the call
// has written.
const clockTolerance = time.Second

func (r rewound) changedLater(path string, info os.FileInfo) bool {
	at, edited := r.edited[path]
	if !edited || !info.ModTime().After(at.Add(clockTolerance)) {
		return false
	}
	for _, restored := range r.restored {
		if d := info.ModTime().Sub(restored); d > -10*clockTolerance && d < clockTolerance {
			return false
		}
	}
	return true
}

// rewoundBy reads in the transcript what happened since a message.
func (o *Orchestrator) rewoundBy(ctx context.Context, s session.Session, messageID string) (rewound, error) {
	r := rewound{edited: map[string]time.Time{}}
	var since int64
	var commands []int64 // their places in the transcript
	err := o.eachItem(ctx, s.SessionID, func(it session.Item) error {
		switch it.Kind {
		case session.ItemUser:
			if it.Key == transcript.MessageKey(messageID) {
				r.found, since = true, it.Seq
			}
		case session.ItemNote:
			if strings.HasPrefix(it.Key, "restored:") {
				r.restored = append(r.restored, it.At)
			}
		case session.ItemToolCall:
			var call session.ToolCallBody
			if err := json.Unmarshal(it.Body, &call); err != nil {
				return fmt.Errorf("orchestrator: read a call: %w", err)
			}
			if call.ToolName == "Bash" && !call.NoResult {
				commands = append(commands, it.Seq)
			}
			if call.Change == nil {
				return nil
			}
			path := call.Change.Path
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.CWD, path)
			}
			if at := time.UnixMicro(int64(call.FinishedAt * 1e6)); at.After(r.edited[path]) {
				r.edited[path] = at
			}
		}
		return nil
	})
	for _, seq := range commands {
		if seq > since {
			r.commands++
		}
	}
	return r, err
}

// holdTurns keeps messages in the queue until release is called. It refuses during a turn.
func (p *process) holdTurns(ctx context.Context) (release func(), err error) {
	id := uuid.NewString()
	if s := p.handleAndRead(ctx, turnsHeld{id}); s.heldBy != id {
		return nil, problem.New("rewind_in_turn")
	}
	return func() { p.handle(context.WithoutCancel(ctx), turnsReleased{id}) }, nil
}

// rewindFiles asks the CLI to restore files, or what that would change.
func (p *process) rewindFiles(ctx context.Context, messageID string, dryRun bool) (claude.Rewind, error) {
	client := p.clientNow()
	if client == nil || !p.is(func(s state) bool { return s.initialized }) {
		return claude.Rewind{}, ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	r, err := client.RewindFiles(ctx, messageID, dryRun)
	var refused *claude.RequestError
	switch {
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
