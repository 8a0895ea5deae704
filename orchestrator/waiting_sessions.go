package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// restoreWaiting restores the list of sessions that waited for capacity when the previous server
// stopped.
func (o *Orchestrator) restoreWaiting(ctx context.Context) {
	var sessionIDs []string
	err := retryStore(ctx, o.o.Log, "the sessions that wait for capacity", func() (err error) {
		sessionIDs, err = o.o.Store.ThrottledSessions(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() == nil { // otherwise the server is stopping
			o.o.Log.ErrorContext(ctx, "cannot read which sessions wait for capacity", "error", err)
		}
		return
	}
	o.admission.Wait(sessionIDs...)
	o.admission.CapacityFreed()
}

// maxAnswerAge bounds how long after its last change a dead session is resumed because of an
// answer that nobody could act on. After that, nobody expects Claude to start by itself, and the
// answer waits until a person resumes the session.
const maxAnswerAge = 30 * 24 * time.Hour

// restoreAnswered resumes the dead sessions with an answer that was given while no server drove the
// runner, or that the previous server had no time to act on. Sessions that a person ended stay dead.
func (o *Orchestrator) restoreAnswered(ctx context.Context) {
	if !o.rules().ResumeOnAnswer {
		return
	}
	err := retryStore(ctx, o.o.Log, "the dead sessions with an answer", func() error {
		sessionIDs, err := o.o.Store.AnsweredSessions(ctx, o.o.RunnerID, time.Now().Add(-maxAnswerAge))
		if err != nil {
			return err
		}
		for _, sessionID := range sessionIDs {
			state, err := o.o.Store.ProcessState(ctx, sessionID)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			byPerson, err := o.endedByPerson(ctx, state)
			if err != nil {
				return err
			}
			if !byPerson {
				o.SessionChanged(sessionID)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		o.o.Log.ErrorContext(ctx, "cannot read which dead sessions have an answer", "error", err)
	}
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
