package pending_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sayso-dev/sayso/pending"
)

// TestNoRuleGoesWithAnApprovalThatAllowsNone: neither one that was offered nor a mode;
// the plan alone has its mode.
func TestNoRuleGoesWithAnApprovalThatAllowsNone(t *testing.T) {
	t.Parallel()
	r := bash("r", "s")
	r.PermissionSuggestions = json.RawMessage(`[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}]`)
	r.Policy = &pending.Policy{SuppressAlwaysAllowRule: true}
	mode := json.RawMessage(`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)
	for _, rules := range []json.RawMessage{r.PermissionSuggestions, mode} {
		s := allow("r", "s", "c")
		s.UpdatedPermissions = rules
		if _, err := pending.Normalise(r, s); !errors.Is(err, pending.ErrInvalid) {
			t.Errorf("%s: got %v", rules, err)
		}
	}
	for _, none := range []json.RawMessage{nil, json.RawMessage(`[]`)} {
		s := allow("r", "s", "c")
		s.UpdatedPermissions = none
		if _, err := pending.Normalise(r, s); err != nil {
			t.Errorf("%s: %v", none, err)
		}
	}
	r.ToolName = "ExitPlanMode"
	s := allow("r", "s", "c")
	s.UpdatedPermissions = mode
	if _, err := pending.Normalise(r, s); err != nil {
		t.Error(err)
	}
}
