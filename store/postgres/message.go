package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	queueMessage = define("WITH moved AS (INSERT INTO messages (" + sqlstore.MessageColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (message_id) DO NOTHING RETURNING session_id) ` + bumpVersion("$10"))
	markSent     = define("WITH moved AS (UPDATE messages SET sent_at = $3 WHERE message_id = $1 AND sent_at = 0 RETURNING session_id) " + bumpVersion("$2"))
	removeQueued = define("WITH moved AS (DELETE FROM messages WHERE message_id = $1 AND sent_at = 0 RETURNING session_id) " + bumpVersion("$2"))
	unsend       = define("WITH moved AS (UPDATE messages SET sent_at = 0, place = (" + sqlstore.SelectFirstPlace +
		") WHERE message_id = $1 AND sent_at <> 0 RETURNING session_id) " + bumpVersion("$2"))
	// Another transaction may have requeued a message since sent was selected, so the update checks
	// sent_at again.
	requeue = define("WITH sent AS (" + sqlstore.SelectRequeued + `),
		moved AS (UPDATE messages m SET sent_at = 0, place = sent.place FROM sent WHERE m.seq = sent.seq AND m.sent_at <> 0 RETURNING m.session_id),
		bump AS (` + bumpVersion("$2") + `)
		SELECT count(*) FROM moved`)
	// If the message does not exist, the foreign key fails and so does the transaction.
	useAttachments = define("INSERT INTO attachment_uses (session_id, attachment_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING")
	markUsed       = define("UPDATE attachments SET used = true WHERE attachment_id = ANY ($1::text[])")
)

// bumpVersion returns an update that increments the version of the session of the rows in moved, if
// there are any. now is the placeholder of the time.
func bumpVersion(now string) string {
	return "UPDATE processes SET version = version + 1, updated_at = " + now + " WHERE session_id = (SELECT session_id FROM moved LIMIT 1)"
}

// QueueMessage implements [session.Store].
func (s *Store) QueueMessage(ctx context.Context, m session.Message) (queued bool, err error) {
	values, err := sqlstore.NewMessageValues(m, bind)
	if err != nil {
		return false, fmt.Errorf("postgres: queue message %s: %w", m.MessageID, err)
	}
	what := "queue message " + m.MessageID
	ids := sqlstore.UsedAttachments(m)
	if len(ids) == 0 {
		queued, err = s.changeQueue(ctx, what, queueMessage, append(values, time.Now().UnixMicro())...)
	} else {
		var n int64
		err = s.write(ctx, what, step{queueMessage, append(values, time.Now().UnixMicro()), countRows(&n)},
			step{Statement: markUsed, args: []any{ids}}, step{Statement: useAttachments, args: []any{m.SessionID, ids}})
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

// MarkSent implements [session.Store].
func (s *Store) MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error) {
	return s.changeQueue(ctx, "mark sent "+messageID, markSent, messageID, time.Now().UnixMicro(), at.UnixMicro())
}

// Requeue implements [session.Store].
func (s *Store) Requeue(ctx context.Context, sessionID string) (n int, err error) {
	var counted bool
	err = s.write(ctx, "requeue messages of "+sessionID,
		step{Statement: sqlstore.LockMessages, args: []any{sessionID}},
		step{requeue, []any{sessionID, time.Now().UnixMicro()}, scanRow(&counted, &n)})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Unsend implements [session.Store].
func (s *Store) Unsend(ctx context.Context, messageID string) (bool, error) {
	return s.changeQueue(ctx, "unsend "+messageID, unsend, messageID, time.Now().UnixMicro())
}

// RemoveQueued implements [session.Store].
func (s *Store) RemoveQueued(ctx context.Context, messageID string) (bool, error) {
	return s.changeQueue(ctx, "remove queued "+messageID, removeQueued, messageID, time.Now().UnixMicro())
}

// changeQueue runs a statement that changes the queue, and reports whether it changed a row.
func (s *Store) changeQueue(ctx context.Context, what string, statement *sqlstore.Statement, args ...any) (bool, error) {
	var n int64
	if err := s.write(ctx, what, step{statement, args, countRows(&n)}); err != nil {
		return false, err
	}
	return n > 0, nil
}
