package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/pending"
)

// The REST bodies that are not commands: here requests, refusals and the audit log, other
// subjects in their own files.

// Outcome is the response to a command over REST.
type Outcome struct {
	CommandID string     `json:"command_id,omitempty"`
	Result    AckResult  `json:"result"`
	SessionID string     `json:"session_id,omitempty"` // of the session that create or fork created
	MessageID string     `json:"message_id,omitempty"`
	ExpiresAt *float64   `json:"expires_at,omitempty"` // of the extended request
	HeldUntil *float64   `json:"held_until,omitempty"` // of the held answer
	Error     *ErrorBody `json:"error,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"` // with 409: the answer that was first
}

// RequestFate is the state of one request, even if it has ended.
type RequestFate struct {
	RequestID string         `json:"request_id"`
	SessionID string         `json:"session_id"`
	Status    pending.Status `json:"status"`
	ExpiresAt *float64       `json:"expires_at"`
	Resolved  *Resolved      `json:"resolved"` // null while it can be answered
}

// PendingRequest is an open request with its session.
type PendingRequest struct {
	SessionID    string `json:"session_id"`
	SessionTitle string `json:"session_title"`
	Request
}

// PendingList lists every open request that the caller may see, oldest first.
type PendingList struct {
	PendingRequests []PendingRequest `json:"pending_requests"`
}

// AuditEntry is one entry of the audit log. Its hash is the SHA-256 of the previous hash
// followed by the exact bytes of Entry.
type AuditEntry struct {
	Seq   int64           `json:"seq"`
	Hash  string          `json:"hash"` // hexadecimal
	Entry json.RawMessage `json:"entry"`
}

// AuditPage is a page of the audit log. Next is the `after` of the next page, which is
// empty at the end.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next"`
}

// Refusal is the body of every error response.
type Refusal struct {
	Error ErrorBody `json:"error"`
}
