package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// spoken is a transport that returns lines and keeps what is sent.
type spoken struct {
	lines [][]byte
	mu    sync.Mutex
	sent  []string
}

func (s *spoken) Recv() ([]byte, error) {
	if len(s.lines) == 0 {
		return nil, io.EOF
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return line, nil
}

func (s *spoken) Send(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(line))
	return nil
}

func (s *spoken) Close() error { return nil }

// Whatever the CLI prints, the client ends and sends only lines that are JSON. It answers each
// request at most once, allows only what the callback allowed, with its input unchanged, and lets
// no hook approve.
func FuzzClient(f *testing.F) {
	ask := func(id, tool string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"` + tool + `","input":{"a":1.0, "b":"\u2028"},"tool_use_id":"t"}}`
	}
	f.Add([]byte(ask("r", "Bash") + "\n" + `{"type":"control_cancel_request","request_id":"r"}`))
	f.Add([]byte(ask("r", "Allow") + "\n" + ask("r", "Allow") + "\n" + ask("q", "Bash") + "\n" + ask("r", "Bash")))
	f.Add([]byte(ask("r", "Allow") + "\n" + `{"type":"control_cancel_request","request_id":"r"}` + "\n" + ask("r", "Allow")))
	f.Add([]byte(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"hook-0","input":{"tool_name":"Bash"}}}` + "\n" + `{"type":"result","subtype":"success"}`))
	f.Add([]byte(`{"type":"control_request","request_id":"m","request":{"subtype":"mcp_message","server_name":"s","message":{"id":1,"method":"x"}}}`))
	f.Add([]byte(`{"type":"control_request","request_id":"e","request":{"subtype":"elicitation"}}` + "\n" + `{"type":"system","subtype":"task_started","task_id":"a"}`))
	f.Add([]byte(`{"type":"control_response","response":{"request_id":"x","subtype":"success","pending_permission_requests":[{}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		transport := &spoken{lines: bytes.Split(input, []byte("\n"))}
		var tasks claude.Tasks
		var mu sync.Mutex
		allowed := map[string][]string{} // inputs by request; a withdrawn id may be used again
		client := claude.NewClient(transport, claude.Options{
			CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
				_, _ = r.Questions()
				if r.ToolName != "Allow" {
					return claude.ToolDecision{Grant: r.Suggestions()}, nil
				}
				mu.Lock()
				defer mu.Unlock()
				allowed[r.RequestID] = append(allowed[r.RequestID], string(r.Input))
				return claude.Allow(), nil
			},
			Hooks: []claude.Hook{{Event: claude.EventPreToolUse, Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) { panic("boom") }}},
			MCPServers: map[string]claude.MCPServerConfig{"s": claude.LocalServer{Serve: func(ctx context.Context, conn claude.MCPConn) error {
				for {
					m, err := conn.Recv(ctx)
					if err != nil {
						return err
					}
					_ = conn.Send(ctx, m)
				}
			}}},
			OnMessage: func(m claude.Message) {
				tasks.Apply(m)
				claude.Keep(m)
			},
		})
		if err := client.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		tasks.Running()
		answered := map[string]bool{}
		for _, line := range transport.sent {
			var sent struct {
				Response struct {
					RequestID string `json:"request_id"`
					Response  struct {
						Behavior     string
						UpdatedInput json.RawMessage
					}
				}
			}
			if err := json.Unmarshal([]byte(line), &sent); err != nil {
				t.Fatalf("sent %q, which ends the CLI: %v", line, err)
			}
			id, answer := sent.Response.RequestID, sent.Response.Response
			if answered[id] {
				t.Fatalf("answered twice: %s", line)
			}
			answered[id] = true
			if strings.Contains(line, `"permissionDecision":"allow"`) {
				t.Fatalf("a hook approved: %s", line)
			}
			if answer.Behavior != "allow" {
				continue
			}
			if !slices.ContainsFunc(allowed[id], func(input string) bool { return runs(input, string(answer.UpdatedInput)) }) {
				t.Fatalf("allowed: %s, after %q", line, allowed[id])
			}
		}
	})
}

// runs reports whether the CLI runs an input when it is told to run updated: the same, but for what
// may be escaped, or no input for one that is no object.
func runs(input, updated string) bool {
	escaped := func(text string) string {
		return strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &object) != nil || object == nil {
		input = "{}"
	}
	return escaped(input) == escaped(updated)
}
