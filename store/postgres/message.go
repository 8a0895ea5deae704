package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	queueMessage = "WITH queued AS (INSERT INTO messages (" + engine.MessageColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (message_id) DO NOTHING RETURNING session_id)
		UPDATE processes SET version = version + 1, updated_at = $10 WHERE session_id = (SELECT session_id FROM queued)`
	markSent = `WITH taken AS (UPDATE messages SET sent_at = $3 WHERE message_id = $1 AND sent_at = 0 RETURNING session_id)
		UPDATE processes SET version = version + 1, updated_at = $2 WHERE session_id = (SELECT session_id FROM taken)`
	removeQueued = `WITH taken AS (DELETE FROM messages WHERE message_id = $1 AND sent_at = 0 RETURNING session_id)
		UPDATE processes SET version = version + 1, updated_at = $2 WHERE session_id = (SELECT session_id FROM taken)`
	unsend = `WITH back AS (UPDATE messages SET sent_at = 0, place = (` + engine.FirstPlace + `) WHERE message_id = $1 AND sent_at <> 0 RETURNING session_id)
		UPDATE processes SET version = version + 1, updated_at = $2 WHERE session_id = (SELECT session_id FROM back)`
	selectQueued = "SELECT " + engine.MessageColumns + " FROM messages WHERE session_id = $1 AND sent_at = 0" + engine.QueueOrder
	// The lock comes in a statement of its own: what the next one sees is then
	// all that was committed before it.
	lockMessages = "SELECT 1 FROM messages WHERE session_id = $1 ORDER BY message_id FOR UPDATE"
)

// A message that came after the lock may be put back by another meanwhile, so
// the update looks again.
var requeue = "WITH sent AS (" + engine.Requeued("$1") + `),
	back AS (UPDATE messages m SET sent_at = 0, place = sent.place FROM sent WHERE m.seq = sent.seq AND m.sent_at <> 0 RETURNING m.session_id),
	bump AS (UPDATE processes SET version = version + 1, updated_at = $2 WHERE session_id IN (SELECT session_id FROM back))
	SELECT count(*) FROM back`

// QueueMessage implements [session.Store].
func (s *Store) QueueMessage(ctx context.Context, m session.Message) (queued bool, err error) {
	values, err := engine.NewMessageValues(m, bind)
	if err != nil {
		return false, fmt.Errorf("postgres: queue message %s: %w", m.MessageID, err)
	}
	what := "queue message " + m.MessageID
	ids := engine.UsedAttachments(m)
	if len(ids) == 0 {
		queued, err = s.moved(ctx, what, queueMessage, append(values, time.Now().UnixMicro())...)
	} else {
		var n int64
		err = s.write(ctx, what, relaxed, statement{queueMessage, append(values, time.Now().UnixMicro()), changed(&n)},
			statement{text: markUsed, args: []any{ids}}, statement{text: useAttachments, args: []any{m.SessionID, ids}})
		queued = err == nil && n > 0
	}
	if violates(err, foreignKeyRule) {
		missing := session.ErrNotFound
		if _, known := s.Session(ctx, m.SessionID); known == nil {
			missing = session.ErrNoAttachment
		}
		err = fmt.Errorf("postgres: %s: %w", what, missing)
	}
	return queued, err
}

// QueuedMessages implements [session.Store].
func (s *Store) QueuedMessages(ctx context.Context, sessionID string) ([]session.Message, error) {
	return engine.All(ctx, s.query, "queued messages of "+sessionID, selectQueued, engine.ReadMessage, sessionID)
}

// MarkSent implements [session.Store].
func (s *Store) MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error) {
	return s.moved(ctx, "mark sent "+messageID, markSent, messageID, time.Now().UnixMicro(), at.UnixMicro())
}

// Requeue implements [session.Store].
func (s *Store) Requeue(ctx context.Context, sessionID string) (n int, err error) {
	var counted bool
	err = s.write(ctx, "requeue messages of "+sessionID, relaxed,
		statement{text: lockMessages, args: []any{sessionID}},
		statement{requeue, []any{sessionID, time.Now().UnixMicro()}, row(&counted, &n)})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Unsend implements [session.Store].
func (s *Store) Unsend(ctx context.Context, messageID string) (bool, error) {
	return s.moved(ctx, "unsend "+messageID, unsend, messageID, time.Now().UnixMicro())
}

// RemoveQueued implements [session.Store].
func (s *Store) RemoveQueued(ctx context.Context, messageID string) (bool, error) {
	return s.moved(ctx, "remove queued "+messageID, removeQueued, messageID, time.Now().UnixMicro())
}

// moved runs a statement that changes the queue and bumps its session when it
// did.
func (s *Store) moved(ctx context.Context, what, text string, args ...any) (bool, error) {
	var n int64
	if err := s.write(ctx, what, relaxed, statement{text, args, changed(&n)}); err != nil {
		return false, err
	}
	return n > 0, nil
}
