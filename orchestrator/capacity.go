package orchestrator

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// capacityInterval is how often waiting sessions try again without a signal: a new day may have
// begun, or a process may use less memory.
const capacityInterval = time.Minute

// Bounds returns the current limits, and what the sessions that have a process use.
func (o *Orchestrator) Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error) {
	return o.admission.Bounds(ctx)
}

// reserve reserves a slot for a process of a session until release is called; see
// [admission.Control.Reserve]. It first blocks until the processes of the previous server are
// settled.
func (o *Orchestrator) reserve(ctx context.Context, s session.Session) (release func(), err error) {
	select {
	case <-o.settled:
	case <-o.closing:
		return nil, ErrClosing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := o.checkDraining(ctx); err != nil {
		return nil, err
	}
	if err := o.o.Launcher.CheckMachine(ctx); err != nil {
		return nil, err
	}
	return o.admission.Reserve(ctx, s.SessionID, s.CWD, s.OwnerID)
}

// waitForCapacity makes a dead session wait for capacity and shows why. It notifies only if the
// reason has changed, because a notification makes the session try again.
func (o *Orchestrator) waitForCapacity(ctx context.Context, sessionID string, why string) error {
	o.admission.Wait(sessionID)
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || state.Running() || state.Throttled == why {
		return err
	}
	state.Throttled = why
	if _, err := o.o.Store.SaveProcess(ctx, state); err != nil {
		return err
	}
	o.o.Notifier.Notify(sessionID)
	return nil
}
