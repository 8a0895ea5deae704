package sqlstore

import (
	"context"

	"github.com/sayso-dev/sayso/session"
)

// The sizes do not include indexes and other overhead of the database.
var (
	selectTranscriptSizes = query("SELECT session_id, CAST(COALESCE(sum(octet_length(body)), 0) AS bigint) FROM transcript GROUP BY session_id").long()
	selectAttachmentSizes = query(`SELECT u.session_id, CAST(sum(a.size) AS bigint) FROM attachment_uses u JOIN attachments a ON a.attachment_id = u.attachment_id
		GROUP BY u.session_id`).long()
	selectAttachmentTotal = query("SELECT count(*), CAST(COALESCE(sum(size), 0) AS bigint) FROM attachments").long()
	selectAuditSize       = query("SELECT CAST(COALESCE(sum(octet_length(body)), 0) AS bigint) FROM audit").long()
)

// Usage implements store.Store.
func (s Shared) Usage(ctx context.Context) (u session.Usage, err error) {
	u.Sessions = map[string]session.Bytes{}
	err = s.e.Query(ctx, "sizes of transcripts", selectTranscriptSizes, func(row Row) error {
		var id string
		var size int64
		err := row.Scan(&id, &size)
		u.Sessions[id] = session.Bytes{Transcript: size}
		return err
	})
	if err == nil {
		err = s.e.Query(ctx, "sizes of attachments", selectAttachmentSizes, func(row Row) error {
			var id string
			var size int64
			err := row.Scan(&id, &size)
			u.Sessions[id] = session.Bytes{Transcript: u.Sessions[id].Transcript, Attachments: size}
			return err
		})
	}
	if err == nil {
		err = s.e.Query(ctx, "size of attachments", selectAttachmentTotal, func(row Row) error {
			return row.Scan(&u.Attachments, &u.AttachmentBytes)
		})
	}
	if err == nil {
		err = s.e.Query(ctx, "size of the audit log", selectAuditSize, func(row Row) error { return row.Scan(&u.AuditBytes) })
	}
	return u, err
}
