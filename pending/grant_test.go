package pending_test

import (
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/pending"
)

// TestModesThatAskGrantNothing: who approves a plan and wants to be asked before edits has
// allowed nothing for good.
func TestModesThatAskGrantNothing(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]int{"default": 0, "plan": 0, "acceptEdits": 1} {
		answer := pending.Answer{Decision: pending.Allow, UpdatedPermissions: json.RawMessage(`[{"type":"setMode","mode":"` + mode + `","destination":"session"}]`)}
		if got := pending.GrantsOf(pending.Request{RequestID: "r"}, pending.Resolution{Answer: &answer}); len(got) != want {
			t.Errorf("mode %s: %d grants, want %d", mode, len(got), want)
		}
	}
}
