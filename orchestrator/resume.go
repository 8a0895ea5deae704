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

// Resume starts a dead session again. A turn that was cut off continues by itself.
func (o *Orchestrator) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return err
	}
	if p := o.find(sessionID); p != nil && p.snapshot().end != nil {
		// A process is shown as dead before everything that it left is stored and cleared.
		waiting, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		if err := p.awaitGone(waiting); err != nil {
			return cmp.Or(ctx.Err(), fmt.Errorf("orchestrator: store the end of the process: %w", pending.ErrUnavailable))
		}
	}
	l := launchOf(s)
	l.ContinueTurn, l.By = s.Begun, by
	return o.launch(ctx, s, l)
}

// settleTimeout bounds how long Resume waits for the end of a process to be stored. Only a
// failing store takes longer.
const settleTimeout = 5 * time.Second

// SessionChanged handles a change of a session. It is a listener of the notifier and never blocks.
// It acts on sessions without a running process: their change may be an answer to an orphaned
// request.
func (o *Orchestrator) SessionChanged(sessionID string) {
	if !o.rules().ResumeOnAnswer {
		return
	}
	o.mu.Lock()
	running := o.processes[sessionID] != nil
	if _, ok := o.changedSessions[sessionID]; !running && !ok { // true is kept
		o.changedSessions[sessionID] = false
	}
	o.mu.Unlock()
	if !running {
		wake(o.answered)
	}
}

// resumeAnswered resumes the changed sessions whose process died before it received an answer
// that exists now, and those that died in an outage. If the store fails, it tries again later.
func (o *Orchestrator) resumeAnswered(ctx context.Context) {
	o.mu.Lock()
	touched := o.changedSessions
	o.changedSessions = make(map[string]bool)
	o.mu.Unlock()
	again := map[string]bool{}
	for sessionID, afterOutage := range touched {
		resume := o.resumeIfAnswered
		if afterOutage {
			resume = o.continueAfterOutage
		}
		switch err := resume(ctx, sessionID); {
		case err == nil, ctx.Err() != nil:
		case pending.IsTemporary(err):
			again[sessionID] = afterOutage
			o.o.Log.DebugContext(ctx, "cannot resume a session yet", "session_id", sessionID, "error", err)
		default:
			o.o.Log.ErrorContext(ctx, "cannot resume a session", "session_id", sessionID, "error", err)
		}
	}
	if len(again) == 0 {
		return
	}
	select {
	case <-time.After(storeRetryDelay):
	case <-ctx.Done():
		return
	}
	o.mu.Lock()
	for sessionID, afterOutage := range again {
		o.changedSessions[sessionID] = o.changedSessions[sessionID] || afterOutage
	}
	o.mu.Unlock()
	wake(o.answered)
}

// continueLater makes Run continue a session whose process died while no server ran.
func (o *Orchestrator) continueLater(sessionID string) {
	o.mu.Lock()
	o.changedSessions[sessionID] = true
	o.mu.Unlock()
	wake(o.answered)
}

func (o *Orchestrator) resumeIfAnswered(ctx context.Context, sessionID string) error {
	given, err := o.undelivered(ctx, sessionID)
	if err != nil || len(given) == 0 {
		return err
	}
	return o.resumeForAnswer(ctx, sessionID)
}

// continueAfterOutage continues a session whose process died while no server ran, such as in a
// power cut, or was never started, if a message waits in its queue or Claude has not acted on an
// answer.
func (o *Orchestrator) continueAfterOutage(ctx context.Context, sessionID string) error {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		return o.continueForAnswer(ctx, sessionID)
	}
	cutOff, err := o.diedInTurnBefore(ctx, sessionID, queue[0])
	if err != nil {
		return err
	}
	return o.continueWithQueue(ctx, sessionID, queue[0], cutOff)
}

// diedInTurnBefore reports whether the last process of a session died in the turn of a message that was
// sent before next. A turn that next may have started counts as not started.
func (o *Orchestrator) diedInTurnBefore(ctx context.Context, sessionID string, next session.Message) (bool, error) {
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil {
		return false, err
	}
	mark, err := o.o.Store.Mark(ctx, sessionID)
	if err != nil || mark.ProcessID != state.ProcessID {
		return false, err
	}
	known, err := decodeMemo(mark.Memo)
	return known.Sending != "" && known.Sending != next.MessageID, err
}

// continueWithQueue starts a session again for its queued messages, of which next is the first.
func (o *Orchestrator) continueWithQueue(ctx context.Context, sessionID string, next session.Message, continueTurn bool) error {
	// The current session: the model and the mode may have changed since its start.
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	l := launchOf(s)
	l.By = next.By
	l.ContinueTurn = s.Begun && continueTurn
	if err := o.launch(ctx, s, l); !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) {
		return o.explainDelay(ctx, sessionID, err)
	}
	return nil
}

// continueForAnswer continues a session if Claude has not acted on an answer that was already
// confirmed to its author. If Claude may have received the answer, it asks again.
func (o *Orchestrator) continueForAnswer(ctx context.Context, sessionID string) error {
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
	l.ContinueTurn = s.Begun
	if err := o.launch(ctx, s, l); !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) {
		return o.explainDelay(ctx, sessionID, err)
	}
	return nil
}

// continueSession starts the session again if a message or an answer arrived while its process
// exited, so that neither waits forever. It cannot loop: each process that starts takes at least
// one message, and an answer counts for one exit only.
func (o *Orchestrator) continueSession(ctx context.Context, p *process) {
	if ctx.Err() != nil {
		return
	}
	if p.hasNoTranscript(ctx) {
		if err := o.restartAfresh(ctx, p); err != nil && !errors.Is(err, ErrClosing) {
			p.log.ErrorContext(ctx, "cannot restart the session", "error", err)
		}
		return
	}
	if !p.continuesAfterExit() {
		return
	}
	err := retryStore(ctx, p.log, "messages and answers received while the process ended", func() error {
		queue, err := o.o.Store.QueuedMessages(ctx, p.session.SessionID)
		if err != nil {
			return err
		}
		if len(queue) > 0 {
			return o.continueWithQueue(ctx, p.session.SessionID, queue[0], p.continuesTurn(queue[0]))
		}
		if p.leftover != nil {
			return o.continueForAnswer(ctx, p.session.SessionID)
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
	if err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot continue the session after its process ended", "error", err)
	}
}

// exitDetection bounds how long it takes to detect that a CLI has died.
const exitDetection = time.Second

// restartAfresh starts a session again whose transcript Claude lacks, because Claude was killed
// before it wrote one. The session's messages are sent again.
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

// explainDelay shows people why a session does not continue by itself, and returns why if that is
// nothing to show. It notifies only once, because a notification makes the session try again.
func (o *Orchestrator) explainDelay(ctx context.Context, sessionID string, why error) error {
	message := statement.New("folder_not_resumed")
	switch {
	case errors.Is(why, problem.LimitReached), errors.Is(why, problem.NoDescriptors):
		return o.waitForCapacity(ctx, sessionID, problem.Message(why))
	case errors.Is(why, problem.RunnerUnreachable):
		return nil // the message or the answer waits for the runner
	case errors.Is(why, errBypassStopped):
		message = statement.New("bypass_not_resumed")
	case !errors.Is(why, ErrUntrusted):
		return why
	}
	return o.explain(ctx, sessionID, message)
}

// explain stores message as the reason why a dead session does not continue, and notifies if it
// is new.
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
