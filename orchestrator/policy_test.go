package orchestrator_test

import (
	"reflect"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// TestWhatTheCLIDemandsStandsWithTheRequest: all of it is stored and in the state that
// tabs see, as long as the request can be answered.
func TestWhatTheCLIDemandsStandsWithTheRequest(t *testing.T) {
	ask := claudetest.Step{Ask: map[string]any{
		"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "ls"}, "brand_new": map[string]any{"x": 1},
		"default_to_no": true, "suppress_always_allow_rule": true, "requires_user_interaction": true, "classifier_approvable": false,
		"matched_ask_rule":       map[string]any{"source": "userSettings", "tool_name": "Bash", "rule_content": "ls:*"},
		"mcp_server":             map[string]any{"name": "gh", "source": "project"},
		"permission_suggestions": []any{map[string]any{"type": "addRules", "rules": []any{map[string]any{"toolName": "Bash"}}, "behavior": "allow", "destination": "session"}},
	}}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{ask}}, nil, func(b *bench) {
		id := b.start("go")
		want := &pending.Policy{
			DefaultToNo: true, SuppressAlwaysAllowRule: true, RequiresUserInteraction: true, ClassifierApprovable: new(false),
			MatchedAskRule: &pending.AskRule{Source: "userSettings", ToolName: "Bash", RuleContent: "ls:*"}, MCPServer: &pending.MCPServer{Name: "gh", Source: "project"},
		}
		r := b.wait(id, asking(1)).Requests[0]
		if !reflect.DeepEqual(r.Policy, want) || !reflect.DeepEqual(b.row(r.RequestID).Policy, want) {
			t.Errorf("got %+v", r.Policy)
		}
		// Its process dies: it is as restricted as it was.
		if left := b.die(id, 1)[0]; !reflect.DeepEqual(left.Policy, want) {
			t.Errorf("after its process died: %+v", left.Policy)
		}
		b.wait(id, in(session.Dead))
	})
}
