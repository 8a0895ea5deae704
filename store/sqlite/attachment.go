package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectAttachment = engine.SelectAttachment + " WHERE a.attachment_id = ? ORDER BY u.session_id"
	useAttachment    = "INSERT INTO attachment_uses (session_id, attachment_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
	markUsed         = "UPDATE attachments SET used = 1 WHERE attachment_id = ?"
	shareAttachments = "INSERT INTO attachment_uses (session_id, attachment_id) SELECT ?, attachment_id FROM attachment_uses WHERE session_id = ? ON CONFLICT DO NOTHING"
	forgetAttachment = `DELETE FROM attachments WHERE (used OR created_at < ?)
		AND NOT EXISTS (SELECT 1 FROM attachment_uses u WHERE u.attachment_id = attachments.attachment_id)`
)

// SaveAttachment implements [session.Store].
func (s *Store) SaveAttachment(ctx context.Context, a session.KeptAttachment) error {
	return s.write(ctx, normal, "save attachment "+a.AttachmentID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, "INSERT INTO attachments ("+engine.InsertAttachmentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (attachment_id) DO NOTHING",
			engine.NewAttachmentValues(a)...)
		return err
	})
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
		err = fmt.Errorf("sqlite: attachment %s: %w", attachmentID, session.ErrNoAttachment)
	}
	if err != nil {
		return session.KeptAttachment{}, err
	}
	return a, nil
}

// use notes that a session says what a message attaches.
func (t tx) use(ctx context.Context, m session.Message) error {
	for _, id := range engine.UsedAttachments(m) {
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

// ShareAttachments implements [session.Store].
func (s *Store) ShareAttachments(ctx context.Context, from, to string) error {
	return s.write(ctx, normal, "share the attachments of "+from, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, shareAttachments, to, from)
		if orphan(err) {
			err = session.ErrNotFound
		}
		return err
	})
}

// ForgetAttachments implements [session.Store].
func (s *Store) ForgetAttachments(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.write(ctx, normal, "forget attachments", func(ctx context.Context, t tx) (err error) {
		if n, err = t.exec(ctx, forgetAttachment, before.UnixMicro()); err == nil && n == 0 {
			err = errNothing
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}
