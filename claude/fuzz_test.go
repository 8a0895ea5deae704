package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
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

// Whatever the CLI prints, the client ends, sends only lines that are JSON, and allows nothing that
// no callback allowed.
func FuzzClient(f *testing.F) {
	f.Add([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"a":1},"tool_use_id":"t"}}` + "\n" + `{"type":"control_cancel_request","request_id":"r"}`))
	f.Add([]byte(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"hook-0","input":{"tool_name":"Bash"}}}` + "\n" + `{"type":"result","subtype":"success"}`))
	f.Add([]byte(`{"type":"control_request","request_id":"m","request":{"subtype":"mcp_message","server_name":"s","message":{"id":1,"method":"x"}}}`))
	f.Add([]byte(`{"type":"control_request","request_id":"e","request":{"subtype":"elicitation"}}` + "\n" + `{"type":"system","subtype":"task_started","task_id":"a"}`))
	f.Add([]byte(`{"type":"control_response","response":{"request_id":"x","subtype":"success","pending_permission_requests":[{}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		transport := &spoken{lines: bytes.Split(input, []byte("\n"))}
		var tasks claude.Tasks
		client := claude.NewClient(transport, claude.Options{
			CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
				_, _ = r.Questions()
				return claude.ToolDecision{Grant: r.Suggestions()}, nil
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
		for _, line := range transport.sent {
			if !json.Valid([]byte(line)) {
				t.Fatalf("sent %q, which ends the CLI", line)
			}
			if strings.Contains(line, `{"behavior":"allow"`) || strings.Contains(line, `"permissionDecision":"allow"`) {
				t.Fatalf("allowed: %s", line)
			}
		}
	})
}
