package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const selectQueued = "SELECT " + engine.MessageColumns + " FROM messages WHERE session_id = ? AND sent_at = 0" + engine.QueueOrder

var requeue = "UPDATE messages SET sent_at = 0, place = sent.place FROM (" + engine.Requeued("?1") + ") AS sent WHERE messages.seq = sent.seq"

const unsend = "UPDATE messages SET sent_at = 0, place = (" + engine.FirstPlace + ") WHERE message_id = ? AND sent_at <> 0 RETURNING session_id"

// QueueMessage implements [session.Store].
func (s *Store) QueueMessage(ctx context.Context, m session.Message) (queued bool, err error) {
	values, err := engine.NewMessageValues(m, bind)
	if err != nil {
		return false, fmt.Errorf("sqlite: queue message %s: %w", m.MessageID, err)
	}
	err = s.write(ctx, normal, "queue message "+m.MessageID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "INSERT INTO messages ("+engine.MessageColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message_id) DO NOTHING", values...)
		switch {
		case orphan(err):
			return session.ErrNotFound
		case err != nil:
			return err
		case n == 0:
			return errNothing
		}
		queued = true
		if err := t.use(ctx, m); err != nil {
			return err
		}
		return t.bump(ctx, m.SessionID)
	})
	return queued && err == nil, err
}

// QueuedMessages implements [session.Store].
func (s *Store) QueuedMessages(ctx context.Context, sessionID string) ([]session.Message, error) {
	return engine.All(ctx, s.query, "queued messages of "+sessionID, selectQueued, engine.ReadMessage, sessionID)
}

// MarkSent implements [session.Store].
func (s *Store) MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error) {
	return s.unqueue(ctx, "mark sent "+messageID,
		"UPDATE messages SET sent_at = ? WHERE message_id = ? AND sent_at = 0 RETURNING session_id", at.UnixMicro(), messageID)
}

// Requeue implements [session.Store].
func (s *Store) Requeue(ctx context.Context, sessionID string) (int, error) {
	var n int64
	err := s.write(ctx, normal, "requeue messages of "+sessionID, func(ctx context.Context, t tx) (err error) {
		if n, err = t.exec(ctx, requeue, sessionID); err != nil {
			return err
		}
		if n == 0 {
			return errNothing
		}
		return t.bump(ctx, sessionID)
	})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// Unsend implements [session.Store].
func (s *Store) Unsend(ctx context.Context, messageID string) (bool, error) {
	return s.unqueue(ctx, "unsend "+messageID, unsend, messageID)
}

// RemoveQueued implements [session.Store].
func (s *Store) RemoveQueued(ctx context.Context, messageID string) (bool, error) {
	return s.unqueue(ctx, "remove queued "+messageID,
		"DELETE FROM messages WHERE message_id = ? AND sent_at = 0 RETURNING session_id", messageID)
}

// unqueue runs a statement that takes one message from the queue and returns its
// session.
func (s *Store) unqueue(ctx context.Context, what, text string, args ...any) (taken bool, err error) {
	err = s.write(ctx, normal, what, func(ctx context.Context, t tx) error {
		var sessionID string
		err := t.row(ctx, []any{&sessionID}, text, args...)
		if errors.Is(err, sql.ErrNoRows) {
			return errNothing
		}
		if err != nil {
			return err
		}
		taken = true
		return t.bump(ctx, sessionID)
	})
	return taken && err == nil, err
}
