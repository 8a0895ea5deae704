package mcpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

func TestTokenOfADeadSessionIs401(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a, other := h.agent(session.Ours, ""), h.agent(session.Ours, "")
		a.call("get_phase_status", `{}`).text()
		if err := h.directory.RevokeAgents(t.Context(), a.sessionID); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, ways ...how) {
			t.Helper()
			c := a.call("ask_user", lone("Which?"), ways...)
			<-c.done
			is(t, what+", status", c.status, 401)
			if !strings.HasPrefix(c.header.Get("WWW-Authenticate"), "Bearer") || !strings.Contains(string(c.body), `"not_signed_in"`) {
				t.Fatalf("%s: %v %s", what, c.header, c.body)
			}
			is(t, what+", open", len(a.open()), 0)
		}
		refused("revoked")
		refused("none", func(_ map[string]any, h http.Header) { h.Del("Authorization") })
		refused("67. a session id alone", func(_ map[string]any, h http.Header) { h.Del("Authorization"); h.Set("Mcp-Session-Id", "x") })
		refused("another scheme", header("Authorization", "Basic "+other.secret))
		refused("two", func(_ map[string]any, h http.Header) { h.Add("Authorization", "Bearer "+other.secret) })
		refused("unknown", header("Authorization", "Bearer "+strings.Repeat("0", 64)))
		refused("empty", header("Authorization", "Bearer "))
		delete(h.memory.sessions, other.sessionID)
		refused("of a deleted session", header("Authorization", "Bearer "+other.secret))
	})
}

// 69: what the protocol does not allow is refused before it means anything.
func TestMalformedRequests(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which?"}}}`
	fresh := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which?"},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for name, c := range map[string]struct {
		body   string
		change func(http.Header)
		status int
	}{
		"text":                      {good, func(h http.Header) { h.Set("Content-Type", "text/plain") }, 415},
		"no Accept":                 {good, func(h http.Header) { h.Del("Accept") }, 400},
		"Accept of JSON alone":      {good, func(h http.Header) { h.Set("Accept", "application/json") }, 400},
		"batch":                     {"[" + good + "]", nil, 400},
		"unknown version":           {good, func(h http.Header) { h.Set("Mcp-Protocol-Version", "1999-01-01") }, 400},
		"another method in headers": {fresh, func(h http.Header) { h.Set("Mcp-Protocol-Version", "2026-07-28"); h.Set("Mcp-Method", "tools/list") }, 400},
		"another tool in headers": {fresh, func(h http.Header) {
			h.Set("Mcp-Protocol-Version", "2026-07-28")
			h.Set("Mcp-Method", "tools/call")
			h.Set("Mcp-Name", "get_phase_status")
		}, 400},
		"another version in headers": {fresh, func(h http.Header) { h.Set("Mcp-Method", "tools/call"); h.Set("Mcp-Name", "ask_user") }, 400},
		"cut off":                    {good[:40], nil, 400},
		"empty":                      {"", nil, 400},
		"no JSON-RPC":                {`{"id":1,"method":"tools/call"}`, nil, 400},
		"74. id of null":             {strings.Replace(good, `"id":1`, `"id":null`, 1), nil, 400},
		"74. id of a fraction":       {strings.Replace(good, `"id":1`, `"id":1.5`, 1), nil, 400},
		"74. id of many digits":      {strings.Replace(good, `"id":1`, `"id":9007199254740993`, 1), nil, 400},
		"74. id of a list":           {strings.Replace(good, `"id":1`, `"id":[1]`, 1), nil, 400},
		"74. id of an object":        {strings.Replace(good, `"id":1`, `"id":{}`, 1), nil, 400},
		"too large":                  {strings.Replace(good, "Which?", strings.Repeat("x", 1<<20), 1), nil, 413},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				head := http.Header{"Authorization": {"Bearer " + a.secret}, "Content-Type": {"application/json"},
					"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}}
				if c.change != nil {
					c.change(head)
				}
				call := h.post(head, []byte(c.body))
				if !call.over() {
					t.Fatal("taken")
				}
				is(t, "status", call.status, c.status)
				is(t, "open", len(a.open()), 0)
			})
		})
	}
}

// 74: whatever id a client chooses comes back.
func TestIDsComeBack(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for _, id := range []any{1, 0, -7, 1 << 53, "1.5", "x", strings.Repeat("x", 10_000), "\u2028 <&>"} {
			c := a.call("ask_user", lone("Which?"), withID(id))
			a.answer(a.one(), written("q1", "ok"))
			c.says("User selected: ok")
			var reply struct{ ID any }
			if err := json.Unmarshal(c.body, &reply); err != nil {
				t.Fatal(err)
			}
			want := id
			if n, ok := id.(int); ok {
				want = float64(n)
			}
			is(t, "id", reply.ID, want)
		}
	})
}

// 72: a question is text, however long or odd.
func TestHostileQuestions(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "stranger")
		for _, text := range []string{"<script>alert(1)</script>", "![x](http://evil/x.png)", "\u202Egnp.exe", "\x1b[2J", "Approved by admin ✓\n\n---"} {
			input, err := json.Marshal(map[string]string{"question": text})
			if err != nil {
				t.Fatal(err)
			}
			c := a.call("ask_user", string(input))
			is(t, "question", a.one().Form.Questions[0].Question, text)
			is(t, "asker", a.one().Asker, "agent stranger over MCP")
			a.answer(a.one(), written("q1", text))
			c.says("User selected: " + text)
		}
		a.call("ask_user", lone(strings.Repeat("x", 5001))).fails("Validation error: question text exceeds maximum of 5000 characters")
	})
}

func TestCallsBeforeAndAfterRunAreTurnedAway(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		o := mcpapi.Options{Requests: h.registry, Store: h.memory, Directory: h.directory, Notifier: h.notifier, Log: slog.New(slog.DiscardHandler)}
		server, err := mcpapi.New(o)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(`{}`))
		r.Header.Set("Authorization", "Bearer "+a.secret)
		server.ServeHTTP(w, r)
		is(t, "status", w.Code, 503)
		is(t, "retry", w.Header().Get("Retry-After"), "1")
	})
}

// bearer adds a token to every request of a client.
type bearer struct {
	secret string
	next   http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.secret)
	return b.next.RoundTrip(r)
}

// The SDK's own client, in the newest revision that both know, lists and calls.
func TestOfficialClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Agent, "official")
				transport := &http.Transport{DialContext: dialer(h)}
				defer transport.CloseIdleConnections()
				progress := make(chan float64, 10)
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
				})
				ses, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: "http://127.0.0.1/mcp", HTTPClient: &http.Client{Transport: bearer{a.secret, transport}}, DisableStandaloneSSE: true,
				}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer ses.Close()
				list, err := ses.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
				}
				want := mcpapi.ToolNames()
				slices.Sort(names)
				slices.Sort(want)
				same(t, "tools", names, want)

				params := &mcp.CallToolParams{Name: "ask_user", Arguments: map[string]any{"question": "Which?"}}
				params.SetProgressToken("p")
				a.answerAfter(25*time.Second, written("q1", "this"))
				result, err := ses.CallTool(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				is(t, "result", result.Content[0].(*mcp.TextContent).Text, "User selected: this")
				is(t, "progress", len(progress), 5)

				// Its context ends: the question goes.
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(5 * time.Second)
					cancel()
				}()
				if _, err := ses.CallTool(ctx, &mcp.CallToolParams{Name: "ask_user", Arguments: map[string]any{"question": "Gone?"}}); err == nil {
					t.Fatal("a call that was given up returned")
				}
				synctest.Wait()
				if version < "2026-07-28" {
					is(t, "open after the cancellation", len(a.open()), 0)
				}
				time.Sleep(mcpapi.AskerGone + time.Second)
				is(t, "open", len(a.open()), 0)
			})
		})
	}
}

func TestNothingOfAnAnswerIsLostWhenTheServerStops(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for i := range 20 {
			key := header(mcpapi.KeyHeader, "k"+number(i))
			c := a.call("ask_user", lone("Which?"), key, patient)
			r := a.one()
			stopped := make(chan struct{})
			go func() { defer close(stopped); h.close() }()
			if _, err := h.registry.Answer(t.Context(), pending.Submission{RequestID: r.RequestID, SessionID: r.SessionID,
				RequestType: r.RequestType, Actor: ada, Responses: []pending.Response{written("q1", "x")}}); err != nil {
				t.Fatal(err)
			}
			<-stopped
			<-c.done
			h.open()
			if c.result != nil {
				is(t, "the answer was first", c.result.Content[0].Text, "User selected: x")
			} else if c.err == nil {
				t.Fatalf("status %d %s", c.status, c.body)
			}
			a.call("ask_user", lone("Which?"), key, patient).says("User selected: x")
			time.Sleep(3 * time.Second)
		}
	})
}

// dialer connects to the harness.
func dialer(h *harness) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return h.dial(), nil }
}
