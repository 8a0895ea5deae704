package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/account"
)

// KeptDraft is what the person of this tab has half written, on whichever device.
// It comes to their tabs alone: all there are on a new connection, and each when
// it changes. At tells which of two is newer.
type KeptDraft struct {
	Type      string          `json:"type" ts:"'draft'"`
	SessionID string          `json:"session_id"`
	RequestID string          `json:"request_id,omitempty"` // absent for the message to the session
	Value     json.RawMessage `json:"value"`                // null when it was taken away
	At        float64         `json:"at"`
	// CommandID is of the command that changed it, so that a tab knows its own;
	// absent on a new connection.
	CommandID string `json:"command_id,omitempty"`
}

// NewKeptDraft converts a draft that commandID changed, "" for none.
func NewKeptDraft(d account.Draft, commandID string) KeptDraft {
	return KeptDraft{
		Type: "draft", SessionID: d.SessionID, RequestID: d.RequestID, Value: RawOr(d.Value, "null"),
		At: Seconds(d.ChangedAt), CommandID: commandID,
	}
}
