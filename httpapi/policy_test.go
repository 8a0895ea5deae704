package httpapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// TestWhatTheCLIDemandsIsObeyed: what it says must be decided by itself is never of low
// risk, never part of a batch, and no rule goes with it where it allows none.
func TestWhatTheCLIDemandsIsObeyed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("api")
	give := func(r pending.Request, more map[string]any) apitest.Response {
		body := map[string]any{"session_id": r.SessionID, "request_type": "tool_approval", "decision": "allow"}
		maps.Copy(body, more)
		return h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", body)
	}
	batch := map[string]any{"batch": true}
	for name, c := range map[string]struct {
		policy pending.Policy
		alone  bool
	}{
		"default_to_no":             {pending.Policy{DefaultToNo: true}, true},
		"requires_user_interaction": {pending.Policy{RequiresUserInteraction: true}, true},
		"matched_ask_rule":          {pending.Policy{MatchedAskRule: &pending.AskRule{Source: "userSettings", ToolName: "Bash"}}, true},
		"classifier_approvable no":  {pending.Policy{ClassifierApprovable: new(false)}, true},
		"classifier_approvable":     {pending.Policy{ClassifierApprovable: new(true)}, false},
		"mcp_server":                {pending.Policy{MCPServer: &pending.MCPServer{Name: "gh", Source: "project"}}, false},
	} {
		r, _ := h.Ask(id, name, func(r *pending.Request) {
			call("Bash", `{"command":"ls"}`)(r)
			r.Policy = &c.policy
		})
		var list wire.PendingList
		h.CallAs(account.Member, "GET", "/api/pending", nil).Decode(t, &list)
		at := slices.IndexFunc(list.PendingRequests, func(w wire.PendingRequest) bool { return w.RequestID == r.RequestID })
		if at < 0 {
			t.Fatal("it is not listed")
		}
		if low := list.PendingRequests[at].Risk == review.Low; low == c.alone {
			t.Errorf("%s: its risk is %s", name, list.PendingRequests[at].Risk)
		}
		if !c.alone {
			if got := give(r, batch); got.Status != 200 {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
			continue
		}
		apitest.CheckRefusal(t, give(r, batch), 422, "not_in_a_batch")
		if got := give(r, nil); got.Status != 200 {
			t.Errorf("%s by itself: %d %s", name, got.Status, got.Body)
		}
	}
	r, _ := h.Ask(id, "no rule", func(r *pending.Request) {
		r.Policy = &pending.Policy{SuppressAlwaysAllowRule: true}
		r.PermissionSuggestions = json.RawMessage(`[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}]`)
	})
	apitest.CheckRefusal(t, give(r, map[string]any{"updated_permissions": r.PermissionSuggestions}), 422, "invalid_answer")
	if got := give(r, nil); got.Status != 200 {
		t.Errorf("without a rule: %d %s", got.Status, got.Body)
	}
}
