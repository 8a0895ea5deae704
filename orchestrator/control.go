package orchestrator

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Interrupt ends the present turn; the process stays and takes the next message.
// by is named to those whose requests the turn takes along.
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

// SetPermissionMode changes the permission mode, at once when a process runs. The
// mode in which Claude asks nobody is for the caller to have allowed; the CLI takes
// it at its start alone.
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
			if err := o.recordAsksNobody(ctx, p.session, by); err != nil {
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

// Kill ends the process of a session and everything below it: in order, with
// time to save its transcript, or at once with force. It returns when the end
// has begun; killing what is dead changes nothing. reason is shown to people.
func (o *Orchestrator) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	p, err := o.running(ctx, sessionID)
	if errors.Is(err, ErrNotRunning) {
		o.admission.StopWaiting(sessionID) // nor start by itself
		return nil
	}
	if err != nil {
		return err
	}
	p.kill(force, true, reason)
	return nil
}

// Running returns the session of a process that runs, as it was when the process began,
// without asking the store.
func (o *Orchestrator) Running(sessionID string) (session.Session, bool) {
	p := o.find(sessionID)
	if p == nil {
		return session.Session{}, false
	}
	return p.session, true
}

// Delete ends a session and forgets it.
func (o *Orchestrator) Delete(ctx context.Context, sessionID string) error {
	if p := o.find(sessionID); p != nil {
		p.kill(true, true, statement.New("session_deleted"))
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	return o.o.Store.DeleteSession(ctx, sessionID)
}
