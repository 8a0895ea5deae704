package session

// Usage is how much of the database is used for what.
type Usage struct {
	Sessions        map[string]Bytes // by id; those without a transcript and files may be missing
	Attachments     int64            // files, also those that no message uses yet
	AttachmentBytes int64
	AuditBytes      int64
}

// Bytes is what one session takes. A file counts in each session that uses it.
type Bytes struct {
	Transcript, Attachments int64
}

// Total returns the sum.
func (b Bytes) Total() int64 { return b.Transcript + b.Attachments }
