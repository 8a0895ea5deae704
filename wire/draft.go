package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/account"
)

// KeptDraft is a draft of this tab's person. Only their tabs receive it: all drafts on a
// new connection, and each when it changes on any device. Of two, the one with the later At
// is newer.
type KeptDraft struct {
	Type      string          `json:"type" ts:"'draft'"`
	SessionID string          `json:"session_id"`
	RequestID string          `json:"request_id,omitempty"` // absent for the message to the session
	Value     json.RawMessage `json:"value"`                // null after it was cleared
	At        float64         `json:"at"`
	// CommandID is the command that changed the draft, so that a tab recognizes its own change;
	// absent on a new connection.
	CommandID string `json:"command_id,omitempty"`
}

// NewKeptDraft converts a draft. commandID is the command that changed the draft, "" for none.
func NewKeptDraft(d account.Draft, commandID string) KeptDraft {
	return KeptDraft{
		Type: "draft", SessionID: d.SessionID, RequestID: d.RequestID, Value: RawOr(d.Value, "null"),
		At: Seconds(d.ChangedAt), CommandID: commandID,
	}
}
