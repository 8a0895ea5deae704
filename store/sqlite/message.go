package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	insertMessage = define("INSERT INTO messages (" + sqlstore.MessageColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message_id) DO NOTHING")
	useAttachment = define("INSERT INTO attachment_uses (session_id, attachment_id) VALUES (?, ?) ON CONFLICT DO NOTHING")
	markUsed      = define("UPDATE attachments SET used = 1 WHERE attachment_id = ?")
	markSent      = define("UPDATE messages SET sent_at = ? WHERE message_id = ? AND sent_at = 0 RETURNING session_id")
	removeQueued  = define("DELETE FROM messages WHERE message_id = ? AND sent_at = 0 RETURNING session_id")
	requeue       = define("UPDATE messages SET sent_at = 0, place = sent.place FROM (" + sqlstore.SelectRequeued + ") AS sent WHERE messages.seq = sent.seq")
	unsend        = define("UPDATE messages SET sent_at = 0, place = (" + sqlstore.SelectFirstPlace + ") WHERE message_id = ? AND sent_at <> 0 RETURNING session_id")
)

// QueueMessage implements [session.Store].
func (s *Store) QueueMessage(ctx context.Context, m session.Message) (queued bool, err error) {
	values, err := sqlstore.NewMessageValues(m, bind)
	if err != nil {
		return false, fmt.Errorf("sqlite: queue message %s: %w", m.MessageID, err)
	}
	err = s.write(ctx, sqlstore.Relaxed, "queue message "+m.MessageID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, insertMessage, values...)
		switch {
		case isForeignKeyViolation(err):
			return session.ErrNotFound
		case err != nil:
			return err
		case n == 0:
			return errUnchanged
		}
		queued = true
		if err := t.useAttachments(ctx, m); err != nil {
			return err
		}
		return t.bumpVersion(ctx, m.SessionID)
	})
	return queued && err == nil, err
}

// MarkSent implements [session.Store].
func (s *Store) MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error) {
	return s.unqueue(ctx, "mark sent "+messageID, markSent, at.UnixMicro(), messageID)
}

// Requeue implements [session.Store].
func (s *Store) Requeue(ctx context.Context, sessionID string) (int, error) {
	var n int64
	err := s.write(ctx, sqlstore.Relaxed, "requeue messages of "+sessionID, func(ctx context.Context, t tx) (err error) {
		if n, err = t.exec(ctx, requeue, sessionID); err != nil {
			return err
		}
		if n == 0 {
			return errUnchanged
		}
		return t.bumpVersion(ctx, sessionID)
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
	return s.unqueue(ctx, "remove queued "+messageID, removeQueued, messageID)
}

// unqueue runs a statement that adds one message to the queue or removes one from it, and returns the
// session of the message. taken reports whether it did so.
func (s *Store) unqueue(ctx context.Context, what string, statement *sqlstore.Statement, args ...any) (taken bool, err error) {
	err = s.write(ctx, sqlstore.Relaxed, what, func(ctx context.Context, t tx) error {
		var sessionID string
		err := t.queryRow(ctx, []any{&sessionID}, statement, args...)
		if errors.Is(err, sql.ErrNoRows) {
			return errUnchanged
		}
		if err != nil {
			return err
		}
		taken = true
		return t.bumpVersion(ctx, sessionID)
	})
	return taken && err == nil, err
}

// useAttachments records that a session shows the attachments of a message.
func (t tx) useAttachments(ctx context.Context, m session.Message) error {
	for _, id := range sqlstore.UsedAttachments(m) {
		n, err := t.exec(ctx, markUsed, id)
		if err == nil && n == 0 {
			err = session.ErrNoAttachment
		}
		if err == nil {
			_, err = t.exec(ctx, useAttachment, m.SessionID, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
