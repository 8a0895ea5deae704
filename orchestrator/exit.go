package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// finalize settles what a dead process leaves: its calls, its requests, its state.
// stop says why it was ended, reason why it died if nobody ended it.
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
	// What a person ended asks no more. What died by itself leaves its questions:
	// they can be answered, and the answers kept for when the session goes on.
	lasting := context.WithoutCancel(ctx)
	var wrote func(requestID string) (bool, error)
	if conn, ok := p.conn.(launch.JournaledConn); ok {
		wrote = conn.Wrote
	} else if p.conn == nil && p.leftover != nil {
		wrote = p.leftover.Wrote
	}
	// Without a journal only this server wrote to it, and has noted that.
	err := retryStore(ctx, p.log, "what a dead process has heard", func() error {
		if wrote == nil {
			return nil
		}
		return p.requests.settleDelivered(lasting, wrote)
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot settle what a dead process has heard", "error", err)
	}
	err = retryStore(ctx, p.log, "the end of the requests of a dead process", func() (err error) {
		if byPerson {
			_, err = p.o.o.Registry.WithdrawAll(lasting, p.session.SessionID, stop)
		} else if err = p.o.endMCP(lasting, p.session.SessionID, cmp.Or(stop, reason)); err == nil {
			_, err = p.o.o.Registry.Orphan(lasting, p.session.SessionID, cmp.Or(stop, reason))
		}
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot settle the requests of a dead process", "error", err)
	}
	err = retryStore(ctx, p.log, "the end of the token of a dead process", func() error { return p.o.starter.RevokeTokens(lasting, p.session.SessionID) })
	if err != nil {
		p.log.ErrorContext(ctx, "cannot end the token of a dead process", "error", err)
	}
	p.requests.recordMissing(lasting)
	p.settleMessage(lasting)
	if stop != "" {
		p.log.InfoContext(ctx, "the session's process was ended", "reason", stop)
	} else {
		p.log.ErrorContext(ctx, "the session's process died", "reason", reason)
	}
	p.handle(lasting, exited{end})
}

// settleMessage takes the message from the queue of which it was not known whether
// it was said, if Claude has begun to work on it: nobody says it again.
func (p *process) settleMessage(ctx context.Context) {
	s := p.snapshot()
	id := s.memo.Sending
	if id == "" || !s.memo.TurnStarted || !s.working() {
		return
	}
	err := retryStore(ctx, p.log, "that a message was said", func() error {
		_, err := p.o.o.Store.MarkSent(ctx, id, time.Now())
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot take a message from the queue", "error", err)
	}
}

// hasNoTranscript reports whether the CLI could not resume because it knows nothing of
// the conversation.
func (p *process) hasNoTranscript() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn != nil && !p.state.initialized && p.state.stopReason == "" && p.plan.Resume == p.session.SessionID &&
		strings.Contains(p.conn.Stderr(), "No conversation found")
}

// continuesAfterExit reports whether the session should go on with what is queued now
// that the process is gone: not when a person ended it or it never came up. One
// that ended while no server was there to see it may have come up.
func (p *process) continuesAfterExit() bool {
	s := p.snapshot()
	return (s.initialized || p.leftover != nil) && !s.endedByPerson
}

// continuesTurn reports whether the turn that the process died in is to go on before
// the next message is said: once, for a turn may be what it dies of, and not when
// the next message may be the turn's own.
func (p *process) continuesTurn(next session.Message) bool {
	s := p.snapshot()
	return s.diedInTurn && !p.plan.ContinueTurn && s.memo.Sending != next.MessageID
}

// exitSentence tells a person why a CLI exited that nobody ended.
func (p *process) exitSentence(conn launch.Conn, startError error) string {
	_, noise := p.noise.seen()
	output := cmp.Or(lastLine(conn.Stderr()), noise)
	switch {
	case errors.Is(startError, errNotProtocol):
		return statement.New("wrong_protocol", "output", output)
	case errors.Is(startError, errNoAnswer):
		return statement.New("start_unanswered", "limit", p.o.rules().Limits.Start.Seconds(), "output", output)
	case errors.Is(startError, errNoAccount):
		path, _ := p.o.o.CLI.Find() // it ran just now
		return launch.NotSignedIn(path)
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
	line := []rune(strings.TrimSpace(lines[len(lines)-1]))
	if len(line) > limit {
		line = append(line[:limit-1], '…')
	}
	return string(line)
}
