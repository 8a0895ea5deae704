package engine

import (
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// InsertAttachmentColumns are the columns of [NewAttachmentValues].
const InsertAttachmentColumns = "attachment_id, owner_id, name, media_type, size, used, created_at"

// NewAttachmentValues are the arguments of an insertion into attachments.
func NewAttachmentValues(a session.KeptAttachment) []any {
	return []any{a.AttachmentID, Shown(a.OwnerID), Shown(a.Name), Shown(a.MediaType), int64(a.Size), false, Micros(a.CreatedAt)}
}

// AttachmentColumns is the select list of [AttachmentRow.Dest] over attachments a
// and a use u that an outer join may not have found.
const AttachmentColumns = "a.attachment_id, a.owner_id, a.name, a.media_type, a.size, a.created_at, COALESCE(u.session_id, '')"

// SelectAttachment ends after the joins; the caller adds WHERE.
const SelectAttachment = "SELECT " + AttachmentColumns + " FROM attachments a LEFT JOIN attachment_uses u ON u.attachment_id = a.attachment_id"

// AttachmentRow takes the rows of one attachment, one for each session.
type AttachmentRow struct {
	a               session.KeptAttachment
	size, createdAt int64
	sessionID       string
}

// Dest is what to scan into.
func (x *AttachmentRow) Dest() []any {
	return []any{&x.a.AttachmentID, &x.a.OwnerID, &x.a.Name, &x.a.MediaType, &x.size, &x.createdAt, &x.sessionID}
}

// AddTo takes the row that was scanned into the attachment read so far.
func (x *AttachmentRow) AddTo(a *session.KeptAttachment) {
	sessions := a.Sessions
	*a = x.a
	a.Size, a.CreatedAt, a.Sessions = int(x.size), Time(x.createdAt), sessions
	if x.sessionID != "" {
		a.Sessions = append(a.Sessions, x.sessionID)
	}
}

// UsedAttachments are the ids of the files that a message attaches.
func UsedAttachments(m session.Message) []string {
	var ids []string
	for _, a := range m.Attachments {
		if a.AttachmentID != "" {
			ids = append(ids, strings.ToValidUTF8(a.AttachmentID, ""))
		}
	}
	return ids
}
