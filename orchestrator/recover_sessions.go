package orchestrator

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// isForgotten reports whether a running process is newer than the state of its session in the
// database, because the database was restored or has lost its last changes. A process that
// another one has replaced is older.
func isForgotten(origin launch.Origin, id launch.ID, known session.ProcessState) bool {
	switch {
	case !origin.Alive || known.Kind != session.Ours:
		return false
	case known.ProcessID == id.ProcessID: // dead in the database, though nobody may have ended it
		return known.KillReason == ""
	}
	return origin.StartedAt.After(known.StartedAt)
}

// recoverSession creates the session of a running process whose session is missing in the
// database. It returns nil if the process is dead, and errNoFolder if its folder is unknown.
func (o *Orchestrator) recoverSession(ctx context.Context, left launch.Leftover) (*process, error) {
	origin, id := left.Origin(), left.ID()
	if !origin.Alive {
		return nil, nil
	}
	saved, err := o.runner.SavedConversation(ctx, id.SessionID)
	if err != nil && !errors.Is(err, claude.ErrNotSaved) {
		o.o.Log.WarnContext(ctx, "cannot read Claude's saved transcript of a session", "session_id", id.SessionID, "error", err)
	}
	folder := origin.Folder
	if folder == "" {
		folder = saved.CWD
	}
	if !filepath.IsAbs(folder) {
		return nil, errNoFolder
	}
	started := origin.StartedAt
	if started.IsZero() {
		started = time.Now()
	}
	s := session.Session{
		SessionID: id.SessionID, ProjectID: session.ProjectOf(folder), CWD: folder,
		Title:          titleOf(StartRequest{Prompt: saved.Title}, folder),
		PermissionMode: "default", Begun: saved.SessionID != "", RunnerID: o.o.RunnerID,
		Demo:      o.o.Demo != nil && strings.HasPrefix(folder+"/", o.o.Demo.Folder+"/"),
		CreatedAt: started, UpdatedAt: time.Now(),
	}
	if err := o.o.Store.CreateSession(ctx, s); err != nil {
		return nil, err
	}
	return o.recoverProcess(ctx, left, s, statement.New("session_recovered"))
}

// errNoFolder means that the folder of a process is unknown, and so is who may see the process.
var errNoFolder = errors.New("the folder of the process is unknown")

// recoverProcess returns a running process as one of its session, with a note that gives reason,
// and adds to the session's transcript what only Claude's own transcript contains.
func (o *Orchestrator) recoverProcess(ctx context.Context, left launch.Leftover, s session.Session, reason string) (*process, error) {
	id := left.ID()
	o.o.Log.WarnContext(ctx, "recovering a session that is missing from the database", "session_id", id.SessionID, "process_id", id.ProcessID, "reason", reason)
	if err := o.addSaved(ctx, s); err != nil {
		return nil, err
	}
	// The database does not know the token that the process has.
	agent, err := o.newAgent(ctx, id.SessionID)
	if err == nil {
		err = o.o.Launcher.ConnectAgent(ctx, id, agent.Token)
	}
	if err != nil {
		o.o.Log.ErrorContext(ctx, "Claude cannot ask questions over MCP", "session_id", id.SessionID, "error", err)
	}
	p := newProcess(o.node, s, launchOf(s), left)
	if started := left.Origin().StartedAt; !started.IsZero() {
		p.state.row.StartedAt = started
	}
	p.noteRecovered(ctx, reason)
	return p, p.flush(ctx)
}

// addSaved adds to the transcript of a session the items that only Claude's own transcript has.
func (o *Orchestrator) addSaved(ctx context.Context, s session.Session) error {
	known := map[string]bool{}
	if err := o.eachItem(ctx, s.SessionID, func(it session.Item) error {
		known[it.Key] = true
		return nil
	}); err != nil {
		return err
	}
	return o.importTranscript(ctx, s, s.SessionID, func(it session.Item) bool { return !known[it.Key] })
}
