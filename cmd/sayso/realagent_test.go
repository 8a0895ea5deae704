package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// A Claude that sayso did not start, with the MCP server over HTTP and its approvals
// by --permission-prompt-tool, asks here like every other agent.
func TestRealClaudeElsewhereAsksHere(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		s := h.start()
		config := filepath.Join(h.state, "mcp-of-an-agent.json")
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"sayso": map[string]any{
			"type": "http", "url": s.URL + "/mcp", "headers": map[string]string{"Authorization": "Bearer " + h.agentToken(t, "elsewhere")},
		}}})
		must(t, err)
		must(t, os.WriteFile(config, text, 0o600))

		prompt := "```script\n" + `[[{"tool":"Bash","input":{"command":"echo one > first","description":"one"}}],
			[{"tool":"Bash","input":{"command":"echo two > second","description":"two"}}],
			[{"tool":"mcp__sayso__ask_user","input":{"question":"Shall I go on?"}}],
			[{"text":"I heard {{last_tool_result}}"}]]` + "\n```"
		cmd := exec.Command(h.claude, "-p", "--mcp-config", config, "--strict-mcp-config", "--permission-mode", "default",
			"--permission-prompt-tool", "mcp__sayso__approval_prompt", "--allowedTools", "mcp__sayso__ask_user")
		cmd.Dir, cmd.Stdin = h.work, strings.NewReader(prompt)
		for _, e := range h.env {
			if !strings.HasPrefix(e, "SAYSO_") {
				cmd.Env = append(cmd.Env, e)
			}
		}
		var said words
		cmd.Stdout, cmd.Stderr = &said, &said
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may be gone
			<-ended
		})

		next := func(kind, tool string) asked {
			t.Helper()
			var list struct {
				PendingRequests []struct {
					asked
					RequestType string `json:"request_type"`
					ToolName    string `json:"tool_name"`
				} `json:"pending_requests"`
			}
			within(t, realWaitLimit, "asked: "+tool, func() bool {
				must(t, s.Do(t.Context(), "GET", "/api/pending", nil, &list))
				select {
				case err := <-ended:
					ended <- err
					t.Fatalf("Claude ended: %v: %s", err, said.String())
				default:
				}
				return len(list.PendingRequests) == 1 && list.PendingRequests[0].ToolName == tool
			})
			if r := list.PendingRequests[0]; r.RequestType != kind || r.Source != "mcp" {
				t.Fatalf("asked %+v", r)
			}
			return list.PendingRequests[0].asked
		}
		respond := func(a asked, body map[string]any) {
			t.Helper()
			must(t, blackbox.Client{URL: s.URL, Token: s.Token}.Do(t.Context(), "POST", "/api/pending/"+a.RequestID+"/response", body, nil))
		}
		first := next("tool_approval", "Bash")
		respond(first, map[string]any{"request_type": "tool_approval", "decision": "allow",
			"updated_input": map[string]any{"command": "echo edited > first", "description": "one"}})
		var second asked
		within(t, realWaitLimit, "the second approval", func() bool {
			second = next("tool_approval", "Bash")
			return second.RequestID != first.RequestID
		})
		respond(second, map[string]any{"request_type": "tool_approval", "decision": "deny", "message": "Not this one."})
		respond(next("ask_user_question", "ask_user"), map[string]any{"request_type": "ask_user_question", "answers": map[string]string{"Shall I go on?": "Stop here."}})
		within(t, realWaitLimit, "the end", func() bool {
			select {
			case err := <-ended:
				ended <- err
				return true
			default:
				return false
			}
		})
		if !strings.Contains(said.String(), "I heard User selected: Stop here.") {
			t.Errorf("Claude said %s", said.String())
		}
		written, err := os.ReadFile(filepath.Join(h.work, "first"))
		if err != nil || strings.TrimSpace(string(written)) != "edited" {
			t.Errorf("the edited command wrote %q, %v", written, err)
		}
		if _, err := os.Stat(filepath.Join(h.work, "second")); err == nil {
			t.Error("the denied command ran")
		}
	})
}
