package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/pending"
)

// The bodies of REST that are no command: here those of requests, refusals and the
// audit trail, elsewhere those of one subject, as account.go.

// Outcome answers a command that came over REST.
type Outcome struct {
	CommandID string     `json:"command_id,omitempty"`
	Result    AckResult  `json:"result"`
	SessionID string     `json:"session_id,omitempty"` // of the session that create or fork made
	MessageID string     `json:"message_id,omitempty"`
	ExpiresAt *float64   `json:"expires_at,omitempty"` // of the request that was extended
	HeldUntil *float64   `json:"held_until,omitempty"` // of the answer that is held
	Error     *ErrorBody `json:"error,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"` // with 409: who was first, with what, when
}

// RequestFate says where one request stands, also one that has ended.
type RequestFate struct {
	RequestID string         `json:"request_id"`
	SessionID string         `json:"session_id"`
	Status    pending.Status `json:"status"`
	ExpiresAt *float64       `json:"expires_at"`
	Resolved  *Resolved      `json:"resolved"` // null while it can be answered
}

// PendingRequest is an open request together with the session that waits.
type PendingRequest struct {
	SessionID    string `json:"session_id"`
	SessionTitle string `json:"session_title"`
	Request
}

// PendingList holds every open request the caller may see, oldest first.
type PendingList struct {
	PendingRequests []PendingRequest `json:"pending_requests"`
}

// AuditEntry is one answer on record. Its hash is the SHA-256 of the hash before
// and of the bytes of Entry as they are here.
type AuditEntry struct {
	Seq   int64           `json:"seq"`
	Hash  string          `json:"hash"` // hexadecimal
	Entry json.RawMessage `json:"entry"`
}

// AuditPage is a piece of the audit trail. Next is the `after` of the next piece,
// which is empty at the end.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next"`
}

// Refusal is the body of every refusal.
type Refusal struct {
	Error ErrorBody `json:"error"`
}
