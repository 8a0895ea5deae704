package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Resume starts a dead session again. A turn that was cut off goes on by itself.
func (o *Orchestrator) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return err
	}
	if p := o.find(sessionID); p != nil && p.snapshot().end != nil {
		// It is read as dead before all it leaves is stored and cleared away.
		waiting, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		if err := p.awaitGone(waiting); err != nil {
			return cmp.Or(ctx.Err(), fmt.Errorf("orchestrator: store the end of the process: %w", pending.ErrUnavailable))
		}
	}
	l := launchOf(s)
	l.ContinueTurn, l.By = l.Resume != "", by
	return o.launch(ctx, s, l)
}

// settleTimeout bounds how long Resume waits for the end of a process to be stored. Only a
// store that fails takes longer.
const settleTimeout = 5 * time.Second

// SessionChanged says that a session changed; it is a listener of the notifier and never
// blocks. Only sessions whose process is dead are of interest: an answer to what
// they left behind may be there.
func (o *Orchestrator) SessionChanged(sessionID string) {
	if !o.rules().ResumeOnAnswer {
		return
	}
	o.mu.Lock()
	running := o.processes[sessionID] != nil
	if _, ok := o.changedSessions[sessionID]; !running && !ok { // true stays
		o.changedSessions[sessionID] = false
	}
	o.mu.Unlock()
	if !running {
		wake(o.answered)
	}
}

// resumeAnswered resumes the sessions that died before they heard an answer
// which is there now.
func (o *Orchestrator) resumeAnswered(ctx context.Context) {
	o.mu.Lock()
	touched := o.changedSessions
	o.changedSessions = make(map[string]bool)
	o.mu.Unlock()
	for sessionID, afterOutage := range touched {
		resume := o.resumeIfAnswered
		if afterOutage {
			resume = o.continueAfterOutage
		}
		if err := resume(ctx, sessionID); err != nil && ctx.Err() == nil {
			o.o.Log.ErrorContext(ctx, "cannot resume a session whose question was answered", "session_id", sessionID, "error", err)
		}
	}
}

func (o *Orchestrator) resumeIfAnswered(ctx context.Context, sessionID string) error {
	given, err := o.undelivered(ctx, sessionID)
	if err != nil || len(given) == 0 {
		return err
	}
	return o.resumeForAnswer(ctx, sessionID)
}

// continueAfterOutage lets a session go on whose process died while no server was there
// to see it, as in a power cut, if Claude was not seen to act on an answer: its giver was
// told that it counts. What Claude may have heard it asks again.
func (o *Orchestrator) continueAfterOutage(ctx context.Context, sessionID string) error {
	given, err := o.unconsumed(ctx, sessionID)
	if err != nil || len(given) == 0 {
		return err
	}
	if o.rules().ResumeOnAnswer {
		return o.resumeForAnswer(ctx, sessionID)
	}
	return o.explain(ctx, sessionID, statement.New("answer_waits"))
}

func (o *Orchestrator) resumeForAnswer(ctx context.Context, sessionID string) error {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	l := launchOf(s)
	l.ContinueTurn = l.Resume != ""
	if err := o.launch(ctx, s, l); !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) {
		return o.explainDelay(ctx, sessionID, err)
	}
	return nil
}

// continueSession starts the session again when a message or an answer came in while its
// process was on its way out, so that neither waits for a process that will not
// come. It cannot go round for ever: a process that came up takes at least one
// message, and an answer counts for the death that it came with.
func (o *Orchestrator) continueSession(ctx context.Context, p *process) {
	if ctx.Err() != nil {
		return
	}
	if p.hasNoTranscript() {
		if err := o.restartAfresh(ctx, p); err != nil && !errors.Is(err, ErrClosing) {
			p.log.ErrorContext(ctx, "cannot begin the session afresh", "error", err)
		}
		return
	}
	if !p.continuesAfterExit() {
		return
	}
	err := retryStore(ctx, p.log, "what came in while the process ended", func() error {
		queue, err := o.o.Store.QueuedMessages(ctx, p.session.SessionID)
		if err != nil {
			return err
		}
		if len(queue) > 0 {
			// As it is now: the model and the mode may have been changed since its start.
			s, err := o.o.Store.Session(ctx, p.session.SessionID)
			if err != nil {
				return err
			}
			l := launchOf(s)
			l.By = queue[0].By
			l.ContinueTurn = l.Resume != "" && p.continuesTurn(queue[0])
			return o.explainDelay(ctx, s.SessionID, o.launch(ctx, s, l))
		}
		if p.leftover != nil {
			return o.continueAfterOutage(ctx, p.session.SessionID)
		}
		if !o.rules().ResumeOnAnswer {
			return nil
		}
		given, err := o.undelivered(ctx, p.session.SessionID)
		for _, r := range given {
			if r.Resolution.At.After(p.exitedAt.Add(-exitDetection)) {
				return o.resumeIfAnswered(ctx, p.session.SessionID)
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot go on with what came in while the process ended", "error", err)
	}
}

// exitDetection is how long it may take to see that a CLI has died.
const exitDetection = time.Second

// restartAfresh starts a session again that Claude has no transcript of: it was
// killed before it had written one. What was said to it is said again.
func (o *Orchestrator) restartAfresh(ctx context.Context, p *process) error {
	begun := false
	if _, err := o.o.Store.UpdateSession(ctx, p.session.SessionID, session.Patch{Begun: &begun}); err != nil {
		return err
	}
	s, err := o.o.Store.Session(ctx, p.session.SessionID)
	if err != nil {
		return err
	}
	note := transcript.Note("afresh:"+p.processID, "warning", statement.New("conversation_restarted"), time.Now())
	if err := o.o.Store.PutItems(ctx, s.SessionID, []session.Item{note}); err != nil {
		return err
	}
	l := launchOf(s)
	l.By = p.plan.By
	return o.explainDelay(ctx, s.SessionID, o.launch(ctx, s, l))
}

// explainDelay has a session that does not go on by itself say why. It does so once:
// whoever is told of a change would try again.
func (o *Orchestrator) explainDelay(ctx context.Context, sessionID string, why error) error {
	message := statement.New("folder_not_resumed")
	switch {
	case errors.Is(why, problem.LimitReached), errors.Is(why, problem.NoDescriptors):
		return o.waitForCapacity(ctx, sessionID, problem.Message(why))
	case errors.Is(why, errAsksNobody):
		message = statement.New("bypass_not_resumed")
	case !errors.Is(why, ErrUntrusted):
		return why
	}
	return o.explain(ctx, sessionID, message)
}

// explain has a dead session say why it does not go on.
func (o *Orchestrator) explain(ctx context.Context, sessionID, message string) error {
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || state.Running() || state.Error == message {
		return err
	}
	state.Error = message
	if _, err := o.o.Store.SaveProcess(ctx, state); err != nil {
		return err
	}
	o.o.Notifier.Notify(sessionID)
	return nil
}
