package orchestrator

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// restoreWaiting restores the list of sessions that waited for capacity when the previous server
// stopped.
func (o *Orchestrator) restoreWaiting(ctx context.Context) {
	sessionIDs, err := o.o.Store.ThrottledSessions(ctx)
	if err != nil {
		if ctx.Err() == nil { // otherwise the server is stopping
			o.o.Log.ErrorContext(ctx, "cannot read which sessions wait for capacity", "error", err)
		}
		return
	}
	o.admission.Wait(sessionIDs...)
	o.admission.CapacityFreed()
}

// resumeWaiting starts the sessions that wait for capacity, as far as capacity allows.
func (o *Orchestrator) resumeWaiting(ctx context.Context) {
	for _, sessionID := range o.admission.TakeWaiting() {
		err := o.resumeQueued(ctx, sessionID)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, session.ErrNotFound), errors.Is(err, ErrRunning), errors.Is(err, ErrClosing):
		case pending.IsTemporary(err):
			o.admission.Wait(sessionID)
		default:
			o.o.Log.ErrorContext(ctx, "cannot resume a session that waited for capacity", "session_id", sessionID, "error", err)
		}
	}
}

// resumeQueued starts a session if it has queued messages or undelivered answers.
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
