package claude_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// TestRealCLIAsksWhenAHookSaysSo: a hook that says ask makes the real CLI ask in every
// mode, for what only reads and for what rules allow, with hooks turned off and a sandbox
// that allows.
func TestRealCLIAsksWhenAHookSaysSo(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk"} {
			t.Run(version+"/"+mode, func(t *testing.T) {
				t.Parallel()
				s := startReal(t, realCLI(t, variable, version), func(o *claude.Options) {
					o.PermissionMode, o.AllowedTools = mode, []string{"Bash", "Write", "Read", "Bash(ls *)"}
					o.HookCallback = func(context.Context, claude.HookRequest) (json.RawMessage, error) {
						return json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"a rule says so"}}`), nil
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), realPatience)
				defer cancel()
				_, err := s.client.Initialize(ctx, claude.InitializeRequest{Hooks: map[string][]claude.HookMatcher{
					"PreToolUse": {{HookCallbackIDs: []string{"rules"}, Timeout: 2_000_000, OnFailure: "block"}},
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.client.ApplySettings(ctx, map[string]any{"disableAllHooks": true, "sandbox": map[string]any{"enabled": true, "autoAllowBashIfSandboxed": true}}); err != nil {
					t.Fatal(err)
				}
				for tool, input := range map[string]any{
					"Bash": map[string]any{"command": "ls"}, "Read": map[string]any{"file_path": "/etc/hosts"}, "Write": map[string]any{"file_path": filepath.Join(s.dir, "x"), "content": "x"},
				} {
					call, err := json.Marshal(map[string]any{"tool": tool, "input": input})
					if err != nil {
						t.Fatal(err)
					}
					s.says(`[[` + string(call) + `],[{"text":"over"}]]`)
					a := s.next(1)[0]
					if a.ToolName != tool {
						t.Errorf("got %s, want %s", a.ToolName, tool)
					}
					a.decide <- claude.ToolDecision{Message: "no"}
					s.result("over")
				}
				if s.exists("x") {
					t.Error("it was written")
				}
			})
		}
	}
}
