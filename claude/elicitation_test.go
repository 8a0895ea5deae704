package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// realElicitation waits for decide in its callback.
type realElicitation struct {
	claude.ElicitationRequest
	decide chan claude.ElicitationAnswer
	ended  chan error
	sent   chan error
}

// The contract with the real CLI about what an MCP server asks.
func TestRealElicitation(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			old := version == "2.1.197"
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"elicitor": map[string]any{"command": exe, "args": []string{mcpServer}}}})
			if err != nil {
				t.Fatal(err)
			}
			asked := make(chan *realElicitation, 10)
			s := startReal(t, realCLI(t, variable, version), func(o *claude.Options) {
				o.MCPConfig, o.StrictMCPConfig, o.AllowedTools = config, true, []string{"mcp__elicitor__elicit"}
				o.Elicitation = func(ctx context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
					e := &realElicitation{r, make(chan claude.ElicitationAnswer, 1), make(chan error, 1), make(chan error, 1)}
					asked <- e
					select {
					case a := <-e.decide:
						a.Sent = func(err error) { e.sent <- err }
						return a, nil
					case <-ctx.Done():
						e.ended <- context.Cause(ctx)
						return claude.ElicitationAnswer{}, claude.ErrNoAnswer
					}
				}
			})
			s.initialize()
			s.connected("elicitor")

			t.Log("a form, which is not listed when initialized again, accepted")
			const schema = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer"}},"required":["name"]}`
			s.says(`[[{"tool":"mcp__elicitor__elicit","input":{"message":"Who?","requestedSchema":` + schema + `}}],[{"text":"{{last_tool_result}}"}]]`)
			e := receive(t, "the elicitation", asked)
			if e.ServerName != "elicitor" || e.Message != "Who?" || e.Mode != "form" || string(e.RequestedSchema) != schema {
				t.Errorf("got %s", e.Raw)
			}
			if open := s.initialize().PendingElicitationRequests; len(open) != 0 {
				t.Errorf("listed %+v: who attaches later could learn of it by that", open)
			}
			s.initialize() // and it can be answered still
			e.decide <- claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage("{\n\"name\":\"Ada\",\"age\":36}")}
			s.result(`{"action":"accept","content":{"name":"Ada","age":36}}`)
			if err := receive(t, "the fate", e.sent); err != nil {
				t.Error(err)
			}

			t.Log("declined")
			s.says(`[[{"tool":"mcp__elicitor__elicit","input":{"message":"Who?","requestedSchema":` + schema + `}}],[{"text":"{{last_tool_result}}"}]]`)
			receive(t, "the elicitation", asked).decide <- claude.ElicitationAnswer{Action: "decline"}
			s.result(`{"action":"decline"}`)

			t.Log("url mode, which the old one does not know")
			s.says(`[[{"tool":"mcp__elicitor__elicit","input":{"mode":"url","elicitationId":"e-1","url":"https://example.org/x","message":"Go there"}}],[{"text":"{{last_tool_result}}"}]]`)
			if old {
				s.result("Client does not support URL-mode elicitation requests")
			} else {
				e := receive(t, "the elicitation", asked)
				if e.Mode != "url" || e.URL != "https://example.org/x" || e.ElicitationID != "e-1" {
					t.Errorf("got %s", e.Raw)
				}
				e.decide <- claude.ElicitationAnswer{Action: "accept"}
				s.result(`{"action":"accept"}`)
			}

			t.Log("interrupted, of which the old one says nothing")
			s.says(`[[{"tool":"mcp__elicitor__elicit","input":{"message":"Who?","requestedSchema":` + schema + `}}],[{"text":"never"}]]`)
			e = receive(t, "the elicitation", asked)
			ctx, cancel := context.WithTimeout(t.Context(), realPatience)
			defer cancel()
			if err := s.client.Interrupt(ctx); err != nil {
				t.Fatal(err)
			}
			s.result("error_during_execution")
			if old {
				e.decide <- claude.ElicitationAnswer{Action: "cancel"}
				if err := receive(t, "the fate", e.sent); err != nil {
					t.Error(err)
				}
			} else {
				if err := receive(t, "the withdrawal", e.ended); !errors.Is(err, claude.ErrWithdrawn) {
					t.Errorf("got %v, want ErrWithdrawn", err)
				}
			}
			s.says(`[[{"text":"still here"}]]`)
			s.result("still here")
		})
	}
}

// connected waits until the CLI has an MCP server: it connects while it works.
func (s *realSession) connected(server string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), realPatience)
	defer cancel()
	for {
		status, err := s.client.Request(ctx, "mcp_status", nil)
		if err != nil {
			s.t.Fatalf("%s is not connected: %v: %s", server, err, status)
		}
		if text := string(status); strings.Contains(text, `"name":"`+server+`"`) && strings.Contains(text, `"status":"connected"`) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestPendingElicitationIsAskedOfWhoAttachesLater(t *testing.T) {
	asked := make(chan claude.ElicitationRequest, 2)
	o := claude.Options{Elicitation: func(_ context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
		asked <- r
		return claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{"a":1}`)}, nil
	}}
	converse(t, o, func(c *conversation) {
		got := make(chan *claude.InitializeResponse, 1)
		go func() {
			r, err := c.client.Initialize(c.t.Context(), claude.InitializeRequest{})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		id, _ := c.request()
		c.says(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{},"pending_elicitation_requests":[
			{"type":"control_request","request_id":"e1","request":{"subtype":"elicitation","mcp_server_name":"s","mode":"form","message":"m"}}]}}`)
		if r := <-got; len(r.PendingElicitationRequests) != 1 || r.PendingElicitationRequests[0].RequestID != "e1" {
			t.Errorf("got %+v", r.PendingElicitationRequests)
		}
		if a := c.answer("e1"); a["action"] != "accept" || len(asked) != 1 || (<-asked).ServerName != "s" {
			t.Errorf("got %v", a)
		}
	})
}

// What nobody lists and the transport does not repeat is given by who remembers it.
func TestRequestsOfAnEarlierClientAreAskedBeforeAnythingIsRead(t *testing.T) {
	var arrived []string
	o := claude.Options{
		Elicitation: func(ctx context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
			if r.RequestID == "gone" {
				<-ctx.Done()
				return claude.ElicitationAnswer{}, claude.ErrNoAnswer
			}
			return claude.ElicitationAnswer{Action: "accept"}, nil
		},
		OnRequest: func(id, subtype string, body json.RawMessage) {
			arrived = append(arrived, id+" "+subtype+" "+string(body))
		},
		Open: map[string]json.RawMessage{
			"gone": json.RawMessage(`{"subtype":"elicitation","mcp_server_name":"s","message":"m"}`),
			"e1":   json.RawMessage(`{"subtype":"elicitation","mcp_server_name":"s","message":"m"}`),
		},
	}
	converse(t, o, func(c *conversation) {
		c.says(`{"type":"control_cancel_request","request_id":"gone"}`)
		if a := c.answer("e1"); a["action"] != "accept" {
			t.Errorf("got %v", a)
		}
		// Repeated by the transport, it is not asked again.
		c.says(`{"type":"control_request","request_id":"e1","request":{"subtype":"elicitation","mcp_server_name":"s","message":"m"}}`)
		c.says(`{"type":"control_request","request_id":"e2","request":{"subtype":"elicitation"}}`)
		if a := c.answer("e2"); a["action"] != "accept" {
			t.Errorf("got %v", a)
		}
		c.hearsNothing()
		if len(arrived) != 1 || arrived[0] != `e2 elicitation {"subtype":"elicitation"}` {
			t.Errorf("arrived: %q", arrived)
		}
	})
}

func TestOutcomeOfAnElicitationsAnswerIsShown(t *testing.T) {
	fates := make(chan error, 2)
	answer := claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{`), Sent: func(err error) { fates <- err }}
	o := claude.Options{Elicitation: func(context.Context, claude.ElicitationRequest) (claude.ElicitationAnswer, error) { return answer, nil }}
	converse(t, o, func(c *conversation) {
		const ask = `{"type":"control_request","request_id":"%","request":{"subtype":"elicitation","mcp_server_name":"s","message":"m"}}`
		c.says(strings.ReplaceAll(ask, "%", "e1"))
		if got := c.hears(); !strings.Contains(got, `"subtype":"error"`) {
			t.Errorf("content that is no JSON: %s", got)
		}
		if err := <-fates; err == nil {
			t.Error("content that is no JSON was sent")
		}
		answer.Content = nil
		c.says(strings.ReplaceAll(ask, "%", "e2"))
		if a := c.answer("e2"); a["action"] != "accept" {
			t.Errorf("got %v", a)
		}
		if err := <-fates; err != nil {
			t.Error(err)
		}
	})
}
