package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// Send hands a message to Claude: at once when it waits for one, after the
// present turn otherwise. A dead session is resumed first. A MessageID that is
// known changes nothing.
func (o *Orchestrator) Send(ctx context.Context, m session.Message) error {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return &InvalidError{Field: "text", Sentence: "The message is empty."}
	}
	s, err := o.ownSession(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if o.process(m.SessionID) == nil { // what cannot be said need not wait
		if _, err := o.nextSettings(ctx, s); err != nil {
			return err
		}
		release, err := o.reserve(ctx, s)
		if err != nil {
			return err
		}
		defer release()
	}
	queued, err := o.o.Store.QueueMessage(ctx, m)
	if err != nil {
		return fmt.Errorf("orchestrator: queue message: %w", err)
	}
	if !queued {
		return nil
	}
	o.o.Bell.Ring(m.SessionID)
	for {
		p := o.process(m.SessionID)
		if p == nil {
			break
		}
		if p.snapshot().takesMessages() {
			p.wakeSender()
			return nil
		}
		// It is being ended: the next process gets the message.
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	l := launchOf(s)
	l.By = m.By
	// Without room the message waits: it is in the queue by now.
	if err := o.launch(ctx, s, l); err != nil && !errors.Is(err, ErrRunning) {
		return o.explainDelay(ctx, m.SessionID, err)
	}
	return nil
}

// Unqueue takes back a message that waits for Claude. It returns false, and
// changes nothing, once the message is said or being said, or when there is none
// of that id in the session.
func (o *Orchestrator) Unqueue(ctx context.Context, sessionID, messageID string) (removed bool, err error) {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(queue, func(m session.Message) bool { return m.MessageID == messageID }) {
		return false, nil
	}
	p := o.process(sessionID)
	if p != nil && !p.withhold(messageID) {
		return false, nil
	}
	removed, err = o.o.Store.RemoveQueued(ctx, messageID)
	if p != nil && err != nil {
		p.handle(ctx, messageReleased{messageID}) // it waits as before
	}
	if err != nil {
		return false, fmt.Errorf("orchestrator: take back message: %w", err)
	}
	o.o.Bell.Ring(sessionID)
	if now := o.process(sessionID); now != nil {
		// One that came up meanwhile may have read the queue before.
		removed = removed && (now == p || now.withhold(messageID))
		now.wakeSender() // what waited behind it
	}
	return removed, nil
}

// withhold keeps a message from being sent, and reports whether that was in time.
func (p *process) withhold(messageID string) bool {
	return slices.Contains(p.handle(context.Background(), messageWithheld{messageID}).withheld, messageID)
}

// continueGrace is how long a resumed CLI may take to go on with the turn that
// was cut off. Only then is a new message sent: it would come in its way.
const continueGrace = 5 * time.Second

// resendPause is how long a message waits that could not be sent.
const resendPause = time.Second

// sendMessages sends what people say, one message a turn, until the CLI is gone.
func (p *process) sendMessages(ctx context.Context, over <-chan struct{}) {
	timer := time.NewTimer(continueGrace)
	defer timer.Stop()
	send := func() bool {
		sent, err := p.sendNext(ctx)
		if full := (*project.LimitError)(nil); errors.As(err, &full) {
			p.handle(ctx, throttled{full.Sentence})
			timer.Reset(capacityInterval)
		} else if err != nil {
			p.log.ErrorContext(ctx, "cannot send the message", "error", err)
			timer.Reset(resendPause)
		}
		return sent
	}
	p.repeatInterrupt(ctx) // for the server before this one
	hold := p.plan.ContinueTurn
	if hold || !send() {
		p.handle(ctx, inputAwaited{time.Now()})
	}
	for {
		select {
		case <-p.feed:
			if p.snapshot().turnEnded {
				p.handle(ctx, turnEndTaken{})
				hold = false
				p.endEarlierQuestions(ctx)
			}
			p.repeatInterrupt(ctx)
		case <-timer.C:
			hold = hold && p.snapshot().working()
		case <-over:
			return
		}
		if !hold {
			send()
		}
	}
}

// sendNext sends the oldest queued message if Claude waits for one.
func (p *process) sendNext(ctx context.Context) (sent bool, err error) {
	s := p.snapshot()
	ready := s.row.State == session.UserTurn || s.row.State == session.Starting
	// A turn was begun for this message, and it is not known whether it was said:
	// a server died in between, or the transport failed.
	doubtful := ""
	if s.working() {
		doubtful = s.memo.Sending
	}
	client := p.clientNow()
	if s.stopReason != "" || !ready && doubtful == "" {
		return false, nil
	}
	queue, err := p.o.o.Store.QueuedMessages(ctx, p.session.SessionID)
	if err != nil {
		return false, err
	}
	if len(queue) == 0 {
		p.handle(ctx, throttled{})
		return false, nil
	}
	m := queue[0]
	if doubtful != "" && m.MessageID != doubtful {
		return false, nil // it was said, and noted
	}
	message := claude.UserMessage{UUID: m.MessageID, Text: m.Text, Blocks: p.blocks(m)}
	ended := p.snapshot().memo.Ended == m.MessageID
	if doubtful == "" && !ended {
		if err := p.admitTurn(ctx); err != nil {
			return false, err
		}
	}
	if err := p.restrictSkills(ctx); err != nil {
		return false, err
	}
	if !ended {
		s := p.handle(ctx, turnStarted{messageID: m.MessageID, at: time.Now()})
		if slices.Contains(s.withheld, m.MessageID) {
			return false, nil // somebody takes it back
		}
		// A turn that goes on may end at any moment: begun once more, it would never end.
		ended = s.memo.Ended == m.MessageID
	}
	if !ended {
		// Stored before it is sent: then a server that adopts the process knows whose
		// turn goes on, and whose has ended, wherever this one dies.
		p.addItems(transcript.UserMessage(m, time.Now()))
		if err := p.flush(ctx); err != nil {
			return false, err
		}
	}
	err = failpoint.Hit("message.before_send")
	if err == nil {
		err = failpoint.After("message.after_send", client.SendUser(ctx, message))
	}
	repeated := errors.Is(err, launch.ErrRepeated)
	if err != nil && !repeated {
		return false, fmt.Errorf("send user message: %w", err)
	}
	if ended && !repeated {
		p.handle(ctx, turnStarted{messageID: m.MessageID, at: time.Now(), anew: true})
		p.addItems(transcript.UserMessage(m, time.Now()))
	}
	if _, err := p.o.o.Store.MarkSent(ctx, m.MessageID, time.Now()); err != nil {
		return true, fmt.Errorf("take message from the queue: %w", err)
	}
	p.o.o.Bell.Ring(p.session.SessionID)
	if ended && repeated {
		p.wakeSender() // it is said and done; the next one
		return false, nil
	}
	return true, nil
}

func (p *process) wakeSender() { wake(p.feed) }
