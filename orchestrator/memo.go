package orchestrator

import (
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/orchestrator/transcript"
)

// memo holds what an adopting server needs besides the transcript. It is stored with the
// position in the journal.
type memo struct {
	Answered answeredCalls `json:"answered"`
	Begun    bool          `json:"begun"` // Claude knows the conversation
	// Sending is the message that started the current turn, or "".
	Sending string `json:"sending,omitempty"`
	// TurnStarted is set once Claude has printed output in that turn.
	TurnStarted bool `json:"spoke,omitempty"`
	// Ended is the message of the last turn that ended.
	Ended string `json:"ended,omitempty"`
	// CutOff is set while a turn that was cut off, in this process or an earlier one, has not
	// continued.
	CutOff bool `json:"cut_off,omitempty"`
	// EndedByLimit is set while a limit, and no person, is ending the process. Servers of earlier
	// releases did not store it.
	EndedByLimit bool `json:"ended_by_limit,omitempty"`
	// BypassedBy is the user id of the person who bypassed approvals; see endBypass.
	BypassedBy string `json:"spared_by,omitempty"`
}

// storedMemo is the stored form of a memo: one object with the fields of both parts.
type storedMemo struct {
	transcript.Memo
	memo
	Elicited map[string]*elicited `json:"elicited,omitempty"` // by request id of the CLI, until answered
}

// decodeMemo parses a stored memo, which may be empty.
func decodeMemo(text []byte) (m storedMemo, err error) {
	m.Elicited = map[string]*elicited{}
	if len(text) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("orchestrator: read what an earlier server knew of a process: %w", err)
	}
	for _, e := range m.Elicited {
		e.abandoned = make(chan struct{})
	}
	return m, nil
}
