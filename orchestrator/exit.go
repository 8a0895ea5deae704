package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// finalize settles what a dead process leaves: its calls, its requests, its state. stop is why
// it was ended, "" if nobody ended it; reason is why it died by itself.
func (p *process) finalize(ctx context.Context, stop, reason string) {
	end := ended{stop: stop, reason: reason, at: time.Now()}
	p.handle(ctx, cliGone{end})
	p.mu.Lock()
	abandoned, byPerson := p.transcript.CloseCalls(true), p.state.endedByPerson
	if i := p.transcript.Interrupt; i != nil && !i.Refused {
		abandoned = append(abandoned, p.transcript.NoteInterrupt(time.Now())...)
	}
	p.mu.Unlock()
	if stop != "" && byPerson {
		abandoned = append(abandoned, transcript.Note("ended:"+p.processID, "info", stop, time.Now()))
	}
	p.addItems(abandoned...)
	// If a person ended the process, its questions end too. Otherwise they stay answerable, and
	// the answers are used when the session continues.
	lasting := context.WithoutCancel(ctx)
	var wrote func(ctx context.Context, requestID string) (bool, error)
	if conn, ok := p.conn.(launch.JournaledConn); ok {
		wrote = conn.Wrote
	} else if p.conn == nil && p.leftover != nil {
		wrote = p.leftover.Wrote
	}
	// Without a journal, only this server wrote to the CLI, and has recorded what it wrote.
	err := retryStore(ctx, p.log, "the answers that an ended process received", func() error {
		if wrote == nil {
			return nil
		}
		return p.requests.settleDelivered(lasting, wrote)
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot store which answers an ended process received", "error", err)
	}
	err = retryStore(ctx, p.log, "the open requests of an ended process", func() (err error) {
		if byPerson {
			_, err = p.o.o.Registry.WithdrawAll(lasting, p.session.SessionID, stop)
		} else if err = p.o.endMCP(lasting, p.session.SessionID, cmp.Or(stop, reason)); err == nil {
			_, err = p.o.o.Registry.Orphan(lasting, p.session.SessionID, cmp.Or(stop, reason))
		}
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot update the open requests of an ended process", "error", err)
	}
	err = retryStore(ctx, p.log, "the revoked token of an ended process", func() error { return p.o.revokeTokens(lasting, p.session.SessionID) })
	if err != nil {
		p.log.ErrorContext(ctx, "cannot revoke the token of an ended process", "error", err)
	}
	p.requests.recordMissing(lasting)
	p.settleMessage(lasting)
	if stop != "" {
		p.log.InfoContext(ctx, "Claude was stopped", "reason", stop)
	} else {
		p.log.ErrorContext(ctx, "Claude ended unexpectedly", "reason", reason)
	}
	p.handle(lasting, exited{end})
}

// settleMessage removes from the queue a message that may or may not have been sent, if Claude
// has started to work on it, so that it is not sent twice.
func (p *process) settleMessage(ctx context.Context) {
	s := p.snapshot()
	id := s.memo.Sending
	if id == "" || !s.memo.TurnStarted || !s.working() {
		return
	}
	err := retryStore(ctx, p.log, "the delivery of a message", func() error {
		_, err := p.o.o.Store.MarkSent(ctx, id, time.Now())
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot mark a queued message as delivered", "error", err)
	}
}

// hasNoTranscript reports whether the CLI failed to resume because it does not know the
// conversation.
func (p *process) hasNoTranscript(ctx context.Context) bool {
	p.mu.Lock()
	conn, failed := p.conn, !p.state.initialized && p.state.stopReason == "" && p.plan.Resume == p.session.SessionID
	p.mu.Unlock()
	return failed && strings.Contains(p.stderr(ctx, conn), "No conversation found")
}

// continuesAfterExit reports whether the session should continue with its queued messages after
// its process has ended: not if a person ended the process, and not if it never initialized. A
// process that ended while no server ran may have initialized.
func (p *process) continuesAfterExit() bool {
	s := p.snapshot()
	return (s.initialized || p.leftover != nil) && !s.endedByPerson
}

// continuesTurn reports whether the turn in which the process died continues before the next
// message. It continues only once, because the turn may be what killed the process, and not if
// next may be the message that started the turn.
func (p *process) continuesTurn(next session.Message) bool {
	s := p.snapshot()
	return s.diedInTurn && !p.plan.ContinueTurn && s.memo.Sending != next.MessageID
}

// exitSentence returns a sentence for people about why a CLI exited that nobody ended.
func (p *process) exitSentence(ctx context.Context, conn launch.Conn, startError error) string {
	_, noise := p.noise.seen()
	output := cmp.Or(lastLine(p.stderr(ctx, conn)), noise)
	switch {
	case errors.Is(startError, errNotProtocol):
		return statement.New("wrong_protocol", "output", output)
	case errors.Is(startError, errNoAnswer):
		return statement.New("start_unanswered", "limit", p.o.rules().Limits.Start.Seconds(), "output", output)
	case errors.Is(startError, errNoAccount):
		sentence, err := p.o.runner.SignInSentence(ctx)
		if err != nil {
			p.log.WarnContext(ctx, "cannot find the CLI that has just run", "error", err)
		}
		if p.o.o.Runner != nil || p.o.o.Servers != nil {
			sentence = nameMachine(p.o.machineName(ctx), sentence)
		}
		return sentence
	case startError != nil && !errors.Is(startError, errGone):
		return statement.New("start_failed", "detail", startError.Error(), "output", output)
	}
	how := ""
	if err := conn.ExitError(); err != nil {
		how = err.Error()
	}
	switch {
	case startError == nil:
		return statement.New("ended_by_itself", "how", how, "output", output)
	case p.leftover != nil:
		return statement.New("ended_away", "how", how, "output", output)
	}
	return statement.New("ended_at_start", "how", how, "output", output)
}

// lastLine returns the last line of a text, truncated to fit a banner.
func lastLine(text string) string {
	const limit = 300
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return ellipsis.Runes(strings.TrimSpace(lines[len(lines)-1]), limit)
}
