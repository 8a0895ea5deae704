package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// insertAttachmentColumns lists the columns of [newAttachmentValues].
const insertAttachmentColumns = "attachment_id, owner_id, name, media_type, size, used, created_at"

// newAttachmentValues returns the arguments for an insertion of [insertAttachmentColumns].
func newAttachmentValues(a session.StoredAttachment) []any {
	return []any{a.AttachmentID, SanitizeText(a.OwnerID), SanitizeText(a.Name), SanitizeText(a.MediaType), int64(a.Size), false, Micros(a.CreatedAt)}
}

// attachmentColumns is the select list that [attachmentRow.dest] scans, over attachments a and an
// outer-joined use u.
const attachmentColumns = "a.attachment_id, a.owner_id, a.name, a.media_type, a.size, a.created_at, COALESCE(u.session_id, '')"

// attachmentRow scans the rows of one attachment, of which each session that uses it has one.
type attachmentRow struct {
	a               session.StoredAttachment
	size, createdAt int64
	sessionID       string
}

// dest returns the destinations for Scan.
func (x *attachmentRow) dest() []any {
	return []any{&x.a.AttachmentID, &x.a.OwnerID, &x.a.Name, &x.a.MediaType, &x.size, &x.createdAt, &x.sessionID}
}

// addTo adds the scanned row to the attachment that a holds from the rows before.
func (x *attachmentRow) addTo(a *session.StoredAttachment) {
	sessions := a.Sessions
	*a = x.a
	a.Size, a.CreatedAt, a.Sessions = int(x.size), Time(x.createdAt), sessions
	if x.sessionID != "" {
		a.Sessions = append(a.Sessions, x.sessionID)
	}
}

// UsedAttachments returns the ids of the files that a message attaches.
func UsedAttachments(m session.Message) []string {
	var ids []string
	for _, a := range m.Attachments {
		if a.AttachmentID != "" {
			ids = append(ids, strings.ToValidUTF8(a.AttachmentID, ""))
		}
	}
	return ids
}

var (
	insertAttachment = define(insertInto("attachments", insertAttachmentColumns) + " ON CONFLICT (attachment_id) DO NOTHING")
	selectAttachment = query("SELECT " + attachmentColumns + " FROM attachments a LEFT JOIN attachment_uses u ON u.attachment_id = a.attachment_id WHERE a.attachment_id = $1 ORDER BY u.session_id")
	shareAttachments = define(`INSERT INTO attachment_uses (session_id, attachment_id) SELECT CAST($1 AS text), attachment_id FROM attachment_uses WHERE session_id = $2
		ON CONFLICT DO NOTHING`)
	saveChunk = define(insertInto("attachment_chunks", "attachment_id, number, hash, created_at, data") + ` ON CONFLICT (attachment_id, number)
		DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at, data = excluded.data`)
	selectChunks = query("SELECT number, hash, created_at, data FROM attachment_chunks WHERE attachment_id = $1 ORDER BY number")
	// A few at a time: a chunk is large, and answers wait for the statement in SQLite.
	forgetChunks = define(`DELETE FROM attachment_chunks WHERE (attachment_id, number) IN (SELECT c.attachment_id, c.number FROM attachment_chunks c
		WHERE c.created_at < $1 AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.attachment_id = c.attachment_id) LIMIT 64)`)
	forgetAttachments = define(`DELETE FROM attachments WHERE (used OR created_at < $1)
		AND NOT EXISTS (SELECT 1 FROM attachment_uses u WHERE u.attachment_id = attachments.attachment_id)`)
)

// SaveAttachmentChunk implements [session.Store].
func (s Shared) SaveAttachmentChunk(ctx context.Context, attachmentID string, c session.AttachmentChunk) error {
	return s.e.Apply(ctx, Change{What: "save chunk of attachment " + attachmentID, Durability: Durable, LeavesRequests: true,
		Steps: []Step{step(saveChunk, attachmentID, c.Number, c.Hash, Micros(c.CreatedAt), c.Data)}})
}

// AttachmentChunks implements [session.Store].
func (s Shared) AttachmentChunks(ctx context.Context, attachmentID string) ([]session.AttachmentChunk, error) {
	return queryAll(ctx, s, "chunks of attachment "+attachmentID, selectChunks, func(row Row) (c session.AttachmentChunk, err error) {
		var createdAt int64
		err = row.Scan(&c.Number, &c.Hash, &createdAt, &c.Data)
		c.CreatedAt = Time(createdAt)
		return c, err
	}, attachmentID)
}

// ForgetAttachmentChunks implements [session.Store].
func (s Shared) ForgetAttachmentChunks(ctx context.Context, before time.Time) (int, error) {
	return s.applyAndCount(ctx, Change{What: "forget chunks of attachments", LeavesRequests: true, Steps: []Step{step(forgetChunks, before.UnixMicro())}})
}

// SaveAttachment implements [session.Store].
func (s Shared) SaveAttachment(ctx context.Context, a session.StoredAttachment) error {
	return s.e.Apply(ctx, Change{What: "save attachment " + a.AttachmentID, Steps: []Step{step(insertAttachment, newAttachmentValues(a)...)}})
}

// Attachment implements [session.Store].
func (s Shared) Attachment(ctx context.Context, attachmentID string) (a session.StoredAttachment, err error) {
	known := false
	err = s.e.Query(ctx, "attachment "+attachmentID, selectAttachment, func(row Row) error {
		var x attachmentRow
		if err := row.Scan(x.dest()...); err != nil {
			return err
		}
		known = true
		x.addTo(&a)
		return nil
	}, attachmentID)
	if err == nil && !known {
		err = fmt.Errorf("store: attachment %s: %w", attachmentID, session.ErrNoAttachment)
	}
	if err != nil {
		return session.StoredAttachment{}, err
	}
	return a, nil
}

// ShareAttachments implements [session.Store].
func (s Shared) ShareAttachments(ctx context.Context, from, to string) error {
	return s.e.Apply(ctx, Change{What: "share the attachments of " + from, Orphan: session.ErrNotFound, Steps: []Step{step(shareAttachments, to, from)}})
}

// ForgetAttachments implements [session.Store].
func (s Shared) ForgetAttachments(ctx context.Context, before time.Time) (int, error) {
	return s.applyAndCount(ctx, Change{What: "forget attachments", Steps: []Step{step(forgetAttachments, before.UnixMicro())}})
}
