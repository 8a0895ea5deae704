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
	if p := o.find(sessionID); p != nil {
		if err := p.setModel(ctx, model); err != nil {
			return err
		}
	}
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{Model: &model})
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
	if p := o.find(sessionID); p != nil {
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
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{PermissionMode: &mode})
	o.o.Notifier.Notify(sessionID)
	return err
}

// Kill ends the process of a session and all its descendants: gracefully, with time to save its
// transcript, or at once with force. It does not wait for the process to be gone. A dead session
// only stops waiting for capacity. reason is shown to people.
func (o *Orchestrator) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	p, err := o.running(ctx, sessionID)
	if errors.Is(err, ErrNotRunning) {
		o.admission.StopWaiting(sessionID) // the session must not start by itself either
		return nil
	}
	if err != nil {
		return err
	}
	p.kill(force, true, reason)
	return nil
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
	if p := o.find(sessionID); p != nil {
		p.kill(true, true, statement.New("session_deleted"))
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	return o.o.Store.DeleteSession(ctx, sessionID)
}
