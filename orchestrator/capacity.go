package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// capacityInterval is how often what waits for capacity is tried again without a
// signal: a new day may have begun, or a process uses less memory.
const capacityInterval = time.Minute

// Bounds returns the limits that hold now, and what the sessions with a process
// take.
func (o *Orchestrator) Bounds(ctx context.Context) (*project.Bounds, []project.Taken, error) {
	return o.admission.Bounds(ctx)
}

// usage returns what the running processes take, by session id.
func (o *Orchestrator) usage() map[string]project.Taken {
	taken := map[string]project.Taken{}
	for _, p := range o.all() {
		taken[p.session.SessionID] = project.Taken{Folder: p.session.CWD, OwnerID: p.session.OwnerID, Memory: p.snapshot().row.Memory}
	}
	return taken
}

// reserve keeps a slot for a process of a session until release is called; see
// [admission.Control.Reserve]. It first waits until the processes of the server before
// this one are known.
func (o *Orchestrator) reserve(ctx context.Context, s session.Session) (release func(), err error) {
	select {
	case <-o.settled:
	case <-o.closing:
		return nil, ErrClosing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return o.admission.Reserve(ctx, s.SessionID, s.CWD, s.OwnerID)
}

// LimitsChanged tries again whatever waits for capacity.
func (o *Orchestrator) LimitsChanged() {
	for _, p := range o.all() {
		wake(p.feed)
	}
	o.admission.CapacityFreed()
}

// waitForCapacity makes a dead session wait for capacity and shows why. It notifies
// only when the reason changed, because a notification makes the session try again.
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

// restoreWaiting makes the sessions wait that waited when the server before this one
// stopped.
func (o *Orchestrator) restoreWaiting(ctx context.Context) {
	held, err := o.o.Store.ThrottledSessions(ctx)
	if err != nil {
		if ctx.Err() == nil { // else the server is stopping
			o.o.Log.ErrorContext(ctx, "cannot see which sessions wait for capacity", "error", err)
		}
		return
	}
	o.admission.Wait(held...)
	o.admission.CapacityFreed()
}

// resumeWaiting starts the sessions that wait for capacity, as far as there is now.
func (o *Orchestrator) resumeWaiting(ctx context.Context) {
	for _, sessionID := range o.admission.TakeWaiting() {
		err := o.resumeQueued(ctx, sessionID)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, session.ErrNotFound), errors.Is(err, ErrRunning), errors.Is(err, ErrClosing):
		case isTemporary(err):
			o.admission.Wait(sessionID)
		default:
			o.o.Log.ErrorContext(ctx, "cannot resume a session that waited for capacity", "session_id", sessionID, "error", err)
		}
	}
}

// resumeQueued starts a session that has queued messages or answers.
func (o *Orchestrator) resumeQueued(ctx context.Context, sessionID string) error {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		return o.resumeIfAnswered(ctx, sessionID)
	}
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	return o.explainDelay(ctx, sessionID, o.launch(ctx, s, launchOf(s)))
}
