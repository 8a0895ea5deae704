package orchestrator

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Interrupt ends the current turn; the process stays and takes the next message. The requests that
// the interrupt ends show the name of by.
func (o *Orchestrator) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	p, err := o.running(ctx, sessionID)
	if err != nil {
		return err
	}
	return p.interrupt(ctx, by)
}

// SetModel changes the model, at once when a process runs.
func (o *Orchestrator) SetModel(ctx context.Context, sessionID, model string) error {
	if err := checkModel(model); err != nil {
		return err
	}
	p, err := o.reach(ctx, sessionID)
	if err != nil {
		return err
	}
	if p != nil {
		if err := p.setModel(ctx, model); err != nil {
			return err
		}
	}
	_, err = o.o.Store.UpdateSession(ctx, sessionID, session.Patch{Model: &model})
	o.o.Notifier.Notify(sessionID)
	return err
}

// SetPermissionMode changes the permission mode, at once when a process runs. The caller must have
// checked that by may use bypassPermissions. A CLI accepts that mode only if it was started with it.
func (o *Orchestrator) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	if mode != bypass {
		if err := checkPermissionMode(mode); err != nil {
			return err
		}
	}
	p, err := o.reach(ctx, sessionID)
	if err != nil {
		return err
	}
	if p != nil {
		if mode == bypass && p.session.PermissionMode != bypass {
			return problem.For("permission_mode", "permission_mode_at_start")
		}
		if mode == bypass {
			if err := o.recordBypass(ctx, p.session, by); err != nil {
				return err
			}
			p.handle(ctx, bypassGranted{by.UserID})
		}
		if err := p.setPermissionMode(ctx, mode); err != nil {
			return err
		}
	}
	_, err = o.o.Store.UpdateSession(ctx, sessionID, session.Patch{PermissionMode: &mode})
	o.o.Notifier.Notify(sessionID)
	return err
}

// Kill ends the process of a session and all its descendants: gracefully, with time to save its
// transcript, or at once with force. It does not wait for the process to be gone. A dead session
// only stops waiting for capacity. reason is shown to people.
func (o *Orchestrator) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	p, err := o.running(ctx, sessionID)
	if errors.Is(err, ErrNotRunning) {
		p, err = o.reach(ctx, sessionID)
	}
	if err != nil {
		return err
	}
	if p == nil {
		return o.stopWaiting(ctx, sessionID) // the session must not start by itself either
	}
	p.kill(force, true, reason)
	return nil
}

// stopWaiting makes a dead session no longer wait for capacity. Without a stored reason to wait, the
// next server does not start it either.
func (o *Orchestrator) stopWaiting(ctx context.Context, sessionID string) error {
	o.admission.StopWaiting(sessionID)
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || state.Running() || state.Throttled == "" {
		return err
	}
	state.Throttled = ""
	if _, err := o.o.Store.SaveProcess(ctx, state); err != nil {
		return err
	}
	o.o.Notifier.Notify(sessionID)
	return nil
}

// reach returns the process of a session, nil if none runs. If the process runs where this
// Orchestrator cannot reach it, reach returns the [problem.Error] of checkRunner, because the process
// would continue as before. A process on a runner that was removed counts as none: it never comes
// back. reach blocks until Run knows the processes of the previous server.
func (o *Orchestrator) reach(ctx context.Context, sessionID string) (*process, error) {
	if p := o.find(sessionID); p != nil {
		return p, nil
	}
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || !state.Running() || state.Kind != session.Ours {
		return nil, err
	}
	if !o.drives(state.RunnerID) {
		known, err := o.o.Store.Runner(ctx, state.RunnerID)
		switch {
		case errors.Is(err, session.ErrNoRunner), err == nil && !known.RemovedAt.IsZero():
			return nil, nil
		case err != nil:
			return nil, err
		}
		return nil, o.checkRunner(ctx, session.Session{RunnerID: state.RunnerID})
	}
	select {
	case <-o.adopted:
		return o.find(sessionID), nil
	case <-o.closing:
		return nil, ErrClosing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Running returns the session of a running process, as it was when the process started,
// without reading the store.
func (o *Orchestrator) Running(sessionID string) (session.Session, bool) {
	p := o.find(sessionID)
	if p == nil {
		return session.Session{}, false
	}
	return p.session, true
}

// Delete ends a session and deletes it.
func (o *Orchestrator) Delete(ctx context.Context, sessionID string) error {
	p, err := o.reach(ctx, sessionID)
	if err != nil {
		return err
	}
	if p != nil {
		p.kill(true, true, statement.New("session_deleted"))
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	return o.o.Store.DeleteSession(ctx, sessionID)
}
