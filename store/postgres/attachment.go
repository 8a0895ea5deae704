package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	insertAttachment = "INSERT INTO attachments (" + engine.InsertAttachmentColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (attachment_id) DO NOTHING"
	selectAttachment = engine.SelectAttachment + " WHERE a.attachment_id = $1 ORDER BY u.session_id"
	// Of one that is not there the use names nothing, and the transaction fails.
	useAttachments   = "INSERT INTO attachment_uses (session_id, attachment_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING"
	markUsed         = "UPDATE attachments SET used = true WHERE attachment_id = ANY ($1::text[])"
	shareAttachments = "INSERT INTO attachment_uses (session_id, attachment_id) SELECT $1::text, attachment_id FROM attachment_uses WHERE session_id = $2 ON CONFLICT DO NOTHING"
	forgetAttachment = `DELETE FROM attachments a WHERE (used OR created_at < $1)
		AND NOT EXISTS (SELECT 1 FROM attachment_uses u WHERE u.attachment_id = a.attachment_id)`
)

// SaveAttachment implements [session.Store].
func (s *Store) SaveAttachment(ctx context.Context, a session.KeptAttachment) error {
	return s.write(ctx, "save attachment "+a.AttachmentID, relaxed, statement{text: insertAttachment, args: engine.NewAttachmentValues(a)})
}

// Attachment implements [session.Store].
func (s *Store) Attachment(ctx context.Context, attachmentID string) (a session.KeptAttachment, err error) {
	known := false
	err = s.query(ctx, "attachment "+attachmentID, selectAttachment, func(rows engine.Row) error {
		var row engine.AttachmentRow
		if err := rows.Scan(row.Dest()...); err != nil {
			return err
		}
		known = true
		row.AddTo(&a)
		return nil
	}, attachmentID)
	if err == nil && !known {
		err = fmt.Errorf("postgres: attachment %s: %w", attachmentID, session.ErrNoAttachment)
	}
	if err != nil {
		return session.KeptAttachment{}, err
	}
	return a, nil
}

// ShareAttachments implements [session.Store].
func (s *Store) ShareAttachments(ctx context.Context, from, to string) error {
	err := s.write(ctx, "share the attachments of "+from, relaxed, statement{text: shareAttachments, args: []any{to, from}})
	if violates(err, foreignKeyRule) {
		return fmt.Errorf("postgres: share the attachments of %s: %w", from, session.ErrNotFound)
	}
	return err
}

// ForgetAttachments implements [session.Store].
func (s *Store) ForgetAttachments(ctx context.Context, before time.Time) (int, error) {
	var n int64
	if err := s.write(ctx, "forget attachments", relaxed, statement{forgetAttachment, []any{before.UnixMicro()}, changed(&n)}); err != nil {
		return 0, err
	}
	return int(n), nil
}
