package session

// Usage is the space that each kind of data uses in the database.
type Usage struct {
	Sessions        map[string]Bytes // by id; those without a transcript and files may be missing
	Attachments     int64            // number of files, including those that no message uses yet
	AttachmentBytes int64
	AuditBytes      int64
}

// Bytes is the space that one session uses, in bytes. A file counts in each session that uses
// it.
type Bytes struct {
	Transcript, Attachments int64
}

// Total returns the sum.
func (b Bytes) Total() int64 { return b.Transcript + b.Attachments }
