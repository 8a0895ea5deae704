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

// Send sends a message to Claude: at once if Claude waits for one, else after the current turn.
// It resumes a dead session. Sending a known MessageID again only completes what an interrupted
// Send left undone. With an error, the message is not queued, if the store permits that.
func (o *Orchestrator) Send(ctx context.Context, m session.Message) error {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return problem.For("text", "message_empty")
	}
	s, err := o.ownSession(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if o.find(m.SessionID) == nil {
		waits, err := o.isQueued(ctx, m.SessionID, m.MessageID)
		if err != nil {
			return err
		}
		if !waits { // a message that cannot be sent is not queued
			if _, err := o.nextSettings(ctx, s); err != nil {
				return err
			}
			release, err := o.reserve(ctx, s)
			switch {
			case isDraining(err): // the message waits until the runner starts processes again
			case err != nil:
				return err
			default:
				defer release()
			}
		}
	}
	queued, err := o.o.Store.QueueMessage(ctx, m)
	if err != nil {
		return fmt.Errorf("orchestrator: queue message: %w", err)
	}
	if !queued {
		// A repeated command: it may have failed, or its server died, before a process was started.
		if waits, err := o.isQueued(ctx, m.SessionID, m.MessageID); err != nil || !waits {
			return err
		}
	}
	o.o.Notifier.Notify(m.SessionID)
	if err = o.deliver(ctx, s, m); err == nil {
		return nil
	}
	// The sender learns that the message was not sent, and may send it again with another id.
	removed, failed := o.Unqueue(context.WithoutCancel(ctx), m.SessionID, m.MessageID)
	if failed != nil {
		o.o.Log.WarnContext(ctx, "a message stays in the queue although its sender was told that it was not sent", "session_id", m.SessionID, "error", failed)
	} else if !removed {
		return nil // a process that somebody else started sends it
	}
	return err
}

// deliver makes the process of a session send a queued message, or starts one.
func (o *Orchestrator) deliver(ctx context.Context, s session.Session, m session.Message) error {
	for {
		p := o.find(s.SessionID)
		if p == nil {
			break
		}
		if p.snapshot().takesMessages() {
			wake(p.feed)
			return nil
		}
		// The process is ending: the next one gets the message.
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	l := launchOf(s)
	l.By = m.By
	// If there is no capacity, the message stays in the queue.
	if err := o.launch(ctx, s, l); err != nil && !errors.Is(err, ErrRunning) {
		return o.explainDelay(ctx, s.SessionID, err)
	}
	return nil
}

// isQueued reports whether a message waits in the queue of a session.
func (o *Orchestrator) isQueued(ctx context.Context, sessionID, messageID string) (bool, error) {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	return slices.ContainsFunc(queue, func(m session.Message) bool { return m.MessageID == messageID }), err
}

// isDraining reports whether err is the error of checkDraining.
func isDraining(err error) bool {
	var reason *problem.Error
	return errors.As(err, &reason) && reason.Reason == "runner_draining"
}

// Unqueue removes a queued message. It returns false, and changes nothing, if the message is
// being sent or was sent, or if the session has none with that id.
func (o *Orchestrator) Unqueue(ctx context.Context, sessionID, messageID string) (removed bool, err error) {
	if waits, err := o.isQueued(ctx, sessionID, messageID); err != nil || !waits {
		return false, err
	}
	p := o.find(sessionID)
	if p != nil && !p.withhold(messageID) {
		return false, nil
	}
	removed, err = o.o.Store.RemoveQueued(ctx, messageID)
	if p != nil && err != nil {
		p.handle(ctx, messageReleased{messageID}) // the message stays in the queue
	}
	if err != nil {
		return false, fmt.Errorf("orchestrator: withdraw message: %w", err)
	}
	o.o.Notifier.Notify(sessionID)
	if now := o.find(sessionID); now != nil {
		// A process that has started meanwhile may have read the queue before the removal.
		removed = removed && (now == p || now.withhold(messageID))
		wake(now.feed) // for the messages behind it
	}
	return removed, nil
}
