package wire

// RetentionLimits bounds what the server keeps. A limit of 0 keeps everything.
type RetentionLimits struct {
	SessionDays  *int `json:"session_days"`
	SessionSize  *int `json:"session_size"` // MB
	AuditDays    *int `json:"audit_days"`
	AuditEntries *int `json:"audit_entries"`
}

// Storage reports what the server stores and what its retention would delete now.
type Storage struct {
	DatabaseBytes   int64  `json:"database_bytes"`
	FreeBytes       *int64 `json:"free_bytes"` // of the disk of the state folder; null if unknown
	Sessions        int    `json:"sessions"`
	TranscriptBytes int64  `json:"transcript_bytes"`
	Attachments     int64  `json:"attachments"` // files
	AttachmentBytes int64  `json:"attachment_bytes"`
	JournalBytes    int64  `json:"journal_bytes"` // output of running sessions on this machine
	AuditEntries    int64  `json:"audit_entries"`
	AuditBytes      int64  `json:"audit_bytes"`

	Limits              RetentionLimits `json:"limits"` // applied to the following counts
	ExpiredSessions     int             `json:"expired_sessions"`
	ExpiredBytes        int64           `json:"expired_bytes"` // of their transcripts and files
	ExpiredUntil        *float64        `json:"expired_until"` // last activity of the newest of these sessions
	ExpiredAuditEntries int64           `json:"expired_audit_entries"`
}
