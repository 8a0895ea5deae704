package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/session"
)

// Send hands a message to Claude: at once when it waits for one, after the
// present turn otherwise. A dead session is resumed first. A MessageID that is
// known changes nothing.
func (o *Orchestrator) Send(ctx context.Context, m session.Message) error {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return problem.For("text", "message_empty")
	}
	s, err := o.ownSession(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if o.find(m.SessionID) == nil { // what cannot be said need not wait
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
	o.o.Notifier.Notify(m.SessionID)
	for {
		p := o.find(m.SessionID)
		if p == nil {
			break
		}
		if p.snapshot().takesMessages() {
			wake(p.feed)
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
	p := o.find(sessionID)
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
	o.o.Notifier.Notify(sessionID)
	if now := o.find(sessionID); now != nil {
		// One that came up meanwhile may have read the queue before.
		removed = removed && (now == p || now.withhold(messageID))
		wake(now.feed) // what waited behind it
	}
	return removed, nil
}
