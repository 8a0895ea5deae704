package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// A call that was denied comes back as one that failed; only the record of its
// request tells that nothing went wrong.
func TestRecordNamesTheCallThatWaited(t *testing.T) {
	item := session.ResolvedItem(pending.Request{RequestID: "r", ToolName: "Bash", AskerToolUseID: "toolu_1", Status: pending.Denied, Resolution: &pending.Resolution{}}, "", time.Unix(1, 0))
	var body session.ResolvedBody
	if err := json.Unmarshal(item.Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.ToolUseID != "toolu_1" || body.Outcome != "denied" {
		t.Errorf("the record names %q as %q, want toolu_1 as denied", body.ToolUseID, body.Outcome)
	}
}
