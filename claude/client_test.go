package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

func TestEndOfOutputEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause, fate error
		c := open(t, t.Context(), claude.Options{CanUseTool: func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return claude.ToolDecision{Allow: true, Sent: func(err error) { fate = err }}, nil
		}})
		waiting := make(chan error, 1)
		go func() { waiting <- c.client.Interrupt(t.Context()) }()
		c.asks("r1", `{}`)
		c.request()
		if err := c.end(); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
		// No synctest.Wait: when Run has returned, all of it is over.
		if !errors.Is(cause, claude.ErrClosed) || !errors.Is(fate, claude.ErrClosed) {
			t.Errorf("callback ended with %v, Sent got %v, want ErrClosed twice", cause, fate)
		}
		if err := <-waiting; !errors.Is(err, claude.ErrClosed) {
			t.Errorf("waiting call: got %v, want ErrClosed", err)
		}
		if err := c.client.Interrupt(t.Context()); !errors.Is(err, claude.ErrClosed) {
			t.Errorf("call afterwards: got %v, want ErrClosed", err)
		}
		if err := c.client.SendUser(t.Context(), claude.UserMessage{Text: "x"}); !errors.Is(err, claude.ErrClosed) {
			t.Errorf("message afterwards: got %v, want ErrClosed", err)
		}
		if err := c.client.Run(t.Context()); err == nil {
			t.Error("a second Run succeeded")
		}
	})
}

func TestEndOfContextEndsRunWithItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause error
		ctx, cancel := context.WithCancelCause(t.Context())
		c := open(t, ctx, claude.Options{CanUseTool: func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return claude.ToolDecision{}, nil
		}})
		c.asks("r1", `{}`)
		synctest.Wait()
		cancel(errBoom)
		if err := <-c.run; !errors.Is(err, errBoom) {
			t.Errorf("Run: got %v, want the cause of its context", err)
		}
		if !errors.Is(cause, claude.ErrClosed) {
			t.Errorf("callback ended with %v, want ErrClosed", cause)
		}
	})
}

func TestBrokenTransportIsNamed(t *testing.T) {
	t.Parallel()
	err := claude.NewClient(broken{errBoom}, claude.Options{}).Run(t.Context())
	if !errors.Is(err, errBoom) {
		t.Errorf("Run: got %v, want %v", err, errBoom)
	}
}

// The end must come although an answer is stuck in Send.
func TestEndUnblocksAStuckAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, cli := claudetest.Pipe()
		var told error
		client := claude.NewClient(&blocked{host, make(chan struct{})}, claude.Options{
			OnCallbackError: func(_, _ string, err error) { told = err },
		})
		run := make(chan error, 1)
		go func() { run <- client.Run(t.Context()) }()
		if err := cli.Send([]byte(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool"}}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cli.Close()
		if err := <-run; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
		if !errors.Is(told, errBoom) {
			t.Errorf("host was told %v, want that the answer was not sent", told)
		}
	})
}

func TestRequestsWaitForTheirOwnResponse(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		got := make(chan string, 3)
		for _, subtype := range []string{"a", "b"} {
			go func() {
				v, err := c.client.Request(c.t.Context(), subtype, map[string]any{"for": subtype})
				got <- fmt.Sprintf("%s %s %v", subtype, v, err)
			}()
		}
		first, r1 := c.request()
		second, r2 := c.request()
		if first == second || r1["for"] != r1["subtype"] || r2["for"] != r2["subtype"] {
			t.Errorf("got requests %s %v and %s %v", first, r1, second, r2)
		}
		c.succeeds("nobody", `{}`)
		c.succeeds(second, `{"n":2}`)
		if want := fmt.Sprintf(`%s {"n":2} <nil>`, r2["subtype"]); <-got != want {
			t.Errorf("want %s", want)
		}
		c.succeeds(second, `{"n":3}`) // twice: ignored
		c.says(`{"type":"control_response","response":{"subtype":"error","request_id":"` + first + `","error":"no","error_code":"c"}}`)
		if g := <-got; !strings.HasSuffix(g, fmt.Sprintf("the CLI refused %s: no", r1["subtype"])) {
			t.Errorf("got %s", g)
		}
	})
}

func TestRefusalHasItsCode(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		got := make(chan error, 1)
		go func() { got <- c.client.SetPermissionMode(c.t.Context(), "auto") }()
		id, r := c.request()
		if r["mode"] != "auto" {
			t.Errorf("got %v", r)
		}
		c.says(`{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"not available","error_code":"c"}}`)
		var refused *claude.RequestError
		if err := <-got; !errors.As(err, &refused) || refused.Subtype != "set_permission_mode" || refused.Code != "c" {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

func TestRequestEndsWithItsContextAndIgnoresTheLateResponse(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		ctx, cancel := context.WithCancelCause(c.t.Context())
		got := make(chan error, 1)
		go func() { got <- c.client.SetModel(ctx, "opus") }()
		id, r := c.request()
		if r["model"] != "opus" {
			t.Errorf("got %v", r)
		}
		cancel(errBoom)
		if err := <-got; !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
		c.succeeds(id, `{}`)
		c.hearsNothing()
	})
}

func TestUnknownRequestIsRefusedAtOnce(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		c.says(`{"type":"control_request","request_id":"r1","request":{"subtype":"brand_new"}}`)
		want := `{"type":"control_response","response":{"subtype":"error","request_id":"r1","error":"unsupported control request \"brand_new\"","error_code":"unsupported_request"}}`
		if got := c.hears(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		c.says(`{"type":"control_request","request_id":"r2"}`)
		if got := c.hears(); !strings.Contains(got, `"r2"`) || !strings.Contains(got, "unsupported_request") {
			t.Errorf("without a request: got %s", got)
		}
	})
}

// Without a callback every request has the refusal that its CLI understands.
func TestRefusalsWithoutCallbacks(t *testing.T) {
	for subtype, want := range map[string]string{
		"elicitation":         `"response":{"action":"decline"}`,
		"hook_callback":       `"subtype":"error"`,
		"mcp_message":         `"subtype":"error"`,
		"request_user_dialog": `"response":{"behavior":"cancelled"}`,
	} {
		t.Run(subtype, func(t *testing.T) {
			converse(t, claude.Options{}, func(c *conversation) {
				c.says(`{"type":"control_request","request_id":"r1","request":{"subtype":"` + subtype + `"}}`)
				if got := c.hears(); !strings.Contains(got, want) || !strings.Contains(got, `"request_id":"r1"`) {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		})
	}
}

func TestFailingCallbacksAnswer(t *testing.T) {
	o := claude.Options{
		Elicitation: func(context.Context, claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
			return claude.ElicitationAnswer{Action: "shrug"}, nil
		},
		HookCallback: func(context.Context, claude.HookRequest) (json.RawMessage, error) { return nil, errBoom },
		MCPMessage:   func(context.Context, claude.MCPMessageRequest) (json.RawMessage, error) { panic("x") },
		UserDialog: func(context.Context, claude.UserDialogRequest) (json.RawMessage, error) {
			return json.RawMessage(`{`), nil
		},
	}
	told := make(chan string, 4)
	o.OnCallbackError = func(subtype, _ string, _ error) { told <- subtype }
	converse(t, o, func(c *conversation) {
		for subtype, want := range map[string]string{
			"elicitation":         `"subtype":"error"`,
			"hook_callback":       `"subtype":"error"`,
			"mcp_message":         `"subtype":"error"`,
			"request_user_dialog": `"behavior":"cancelled"`,
		} {
			c.says(`{"type":"control_request","request_id":"` + subtype + `","request":{"subtype":"` + subtype + `"}}`)
			if got := c.hears(); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", subtype, got, want)
			}
			if got := <-told; got != subtype {
				t.Errorf("told of %s, want %s", got, subtype)
			}
		}
	})
}

func TestMCPNotificationIsAcknowledged(t *testing.T) {
	o := claude.Options{MCPMessage: func(context.Context, claude.MCPMessageRequest) (json.RawMessage, error) { return nil, nil }}
	converse(t, o, func(c *conversation) {
		c.says(`{"type":"control_request","request_id":"r1","request":{"subtype":"mcp_message","server_name":"s","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}}`)
		if a := c.answer("r1"); a["mcp_response"] == nil {
			t.Errorf("got %v", a)
		}
	})
}

const initialized = `{"commands":[{"name":"compact","description":"d"}],"models":[{"value":"opus","displayName":"Opus"}],"account":{"email":"a@b.c","apiKeySource":"none"},"claude_code_version":"2.1.329","novel":1}`

func (c *conversation) initializes(pending string) *claude.InitializeResponse {
	c.t.Helper()
	got := make(chan *claude.InitializeResponse, 1)
	go func() {
		r, err := c.client.Initialize(c.t.Context(), claude.InitializeRequest{Title: "t"})
		if err != nil {
			c.t.Errorf("Initialize: %v", err)
		}
		got <- r
	}()
	id, r := c.request()
	if r["subtype"] != "initialize" || r["title"] != "t" || len(r) != 2 {
		c.t.Errorf("got %v", r)
	}
	c.says(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + initialized + `,"pending_permission_requests":` + pending + `}}`)
	return <-got
}

func TestInitializeReturnsWhatTheCLISays(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		r := c.initializes(`[]`)
		if len(r.Models) != 1 || r.Models[0].Value != "opus" || r.Account.Email != "a@b.c" || len(r.Commands) != 1 || r.ClaudeCodeVersion != "2.1.329" {
			t.Errorf("got %+v", r)
		}
		if string(r.Raw) != initialized {
			t.Errorf("Raw: got %s", r.Raw)
		}
	})
}

// A second initialize lists what is open. What is in flight here, or was
// answered while the list was on its way, is not asked again.
func TestInitializeAgainReconciles(t *testing.T) {
	p := &parked{}
	o := p.options()
	asked := map[string]int{}
	inner := o.CanUseTool
	askedOf := make(chan string, 10)
	o.CanUseTool = func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		askedOf <- r.RequestID
		return inner(ctx, r)
	}
	pendingOf := func(id string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"id":"` + id + `"},"tool_use_id":"tool-` + id + `"}}`
	}
	converse(t, o, func(c *conversation) {
		c.asks("known", `{}`)
		c.asks("answered", `{}`)
		p.of("answered") <- claude.ToolDecision{Allow: true}
		c.answer("answered")
		r := c.initializes(`[` + pendingOf("known") + `,` + pendingOf("answered") + `,` + pendingOf("missed") + `]`)
		if len(r.PendingPermissionRequests) != 3 || r.PendingPermissionRequests[2].ToolUseID != "tool-missed" || string(r.PendingPermissionRequests[2].Input) != `{"id":"missed"}` {
			t.Errorf("got %+v", r.PendingPermissionRequests)
		}
		p.of("missed") <- claude.ToolDecision{Allow: true}
		c.answer("missed")
		p.of("known") <- claude.ToolDecision{Allow: true}
		c.answer("known")
		close(askedOf)
		for id := range askedOf {
			asked[id]++
		}
		if fmt.Sprint(asked) != "map[answered:1 known:1 missed:1]" {
			t.Errorf("asked %v, want each once", asked)
		}
	})
}

// A cancel in the line after the list must find the request that was listed.
func TestCancelRightAfterTheListIsHeard(t *testing.T) {
	ended := make(chan error, 1)
	o := claude.Options{CanUseTool: func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return claude.ToolDecision{}, nil
	}}
	converse(t, o, func(c *conversation) {
		go c.client.Initialize(c.t.Context(), claude.InitializeRequest{})
		id, _ := c.request()
		c.says(`{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{},"pending_permission_requests":[{"type":"control_request","request_id":"r9","request":{"subtype":"can_use_tool"}}]}}`)
		c.says(`{"type":"control_cancel_request","request_id":"r9"}`)
		if err := <-ended; !errors.Is(err, claude.ErrWithdrawn) {
			t.Errorf("got %v, want ErrWithdrawn", err)
		}
		c.hearsNothing()
	})
}

// A CLI before 2.1.161 refuses a second initialize and lists all the same.
func TestInitializeRefusedWithAList(t *testing.T) {
	converse(t, decides(claude.ToolDecision{Allow: true}, nil), func(c *conversation) {
		got := make(chan *claude.InitializeResponse, 1)
		go func() {
			r, err := c.client.Initialize(c.t.Context(), claude.InitializeRequest{})
			if err != nil {
				t.Errorf("Initialize: %v", err)
			}
			got <- r
		}()
		id, _ := c.request()
		c.says(`{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"Already initialized","pending_permission_requests":[{"request_id":"r1","request":{"subtype":"can_use_tool","tool_use_id":"t1"}}]}}`)
		if r := <-got; len(r.PendingPermissionRequests) != 1 {
			t.Errorf("got %+v", r)
		}
		c.answer("r1")
	})
}

func TestSendUser(t *testing.T) {
	converse(t, claude.Options{}, func(c *conversation) {
		send := func(m claude.UserMessage, want string) {
			t.Helper()
			if err := c.client.SendUser(c.t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got := c.hears(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		send(claude.UserMessage{UUID: "u1", Text: "--help <b>\u2028"},
			`{"type":"user","message":{"role":"user","content":"--help <b>\u2028"},"parent_tool_use_id":null,"session_id":"","uuid":"u1"}`)
		send(claude.UserMessage{Text: "look", Blocks: []claude.ContentBlockParam{
			claude.AttachmentBlock("a.png", "image/png", []byte("png")),
			claude.AttachmentBlock("a.pdf", "application/pdf", []byte("pdf")),
			claude.AttachmentBlock("a.txt", "text/plain", []byte("hello \xff")),
		}}, `{"type":"user","message":{"role":"user","content":[`+
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},`+
			`{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}},`+
			`{"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"hello �"}},`+
			`{"type":"text","text":"look"}]},"parent_tool_use_id":null,"session_id":""}`)
	})
}

func TestUnreadableLinesAreReportedAndPassedBy(t *testing.T) {
	var reports, types []string
	o := claude.Options{
		OnUnreadable: func(line []byte, err error) { reports = append(reports, fmt.Sprintf("%s: %v", line, err)) },
		OnMessage:    func(m claude.Message) { types = append(types, m.Base().Type) },
	}
	converse(t, o, func(c *conversation) {
		c.says("[SandboxDebug] noise")
		c.says("")
		c.says(" \t ")
		c.says(`{"type":"assis`)
		c.says(`{"type":"control_request","request":{"subtype":"can_use_tool"}}`)
		c.says(`{"type":"control_response"}`)
		c.says("{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"\xff\"}")
		c.says(`{"type":"result","usage":[}`)
		c.says(`{"type":"never_heard_of"}`)
		c.hearsNothing()
		for i, want := range []string{"no object", "bad value", "without request_id", "no object", "no UTF-8", "bad value"} {
			if i >= len(reports) || !strings.Contains(reports[i], want) {
				c.t.Fatalf("report %d: got %q, want %q", i, reports, want)
			}
		}
		if len(reports) != 6 {
			t.Errorf("got %d reports, want 6: %q", len(reports), reports)
		}
		// A line with bytes that are no UTF-8 is reported and used.
		if got := strings.Join(types, " "); got != "system never_heard_of" {
			t.Errorf("got messages %s", got)
		}
	})
}

// A panic over a line, here of a callback on the read loop, costs that line alone: after a restart it
// would be read again.
func TestPanicOverALineIsReportedAndPassedBy(t *testing.T) {
	var reports []string
	heard := 0
	o := claude.Options{
		OnUnreadable: func(line []byte, err error) {
			var panicked *claude.PanicError
			if !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
				t.Errorf("got %v, want a panic with its stack", err)
			}
			reports = append(reports, fmt.Sprintf("%s: %v", line, err))
			panic("again")
		},
		OnMessage: func(m claude.Message) {
			if heard++; heard == 1 {
				panic("ouch")
			}
		},
		OnRequest: func(string, string, json.RawMessage) { panic("no") },
	}
	converse(t, o, func(c *conversation) {
		c.says(`{"type":"never_heard_of"}`)
		c.says(`{"type":"keep_alive"}`)
		c.asks("r1", `{}`)
		if got := c.hears(); !strings.Contains(got, `"behavior":"deny"`) {
			t.Errorf("the request got %s", got)
		}
		c.hearsNothing()
		if len(reports) != 2 || reports[0] != `{"type":"never_heard_of"}: panicked: ouch` || !strings.HasSuffix(reports[1], "panicked: no") || heard != 2 {
			t.Errorf("got reports %q, %d messages", reports, heard)
		}
	})
}

// What has to happen after a callback on the read loop happens if that panics, too.
func TestPanicOfACallbackLeavesNobodyWaiting(t *testing.T) {
	var cause error
	o := claude.Options{
		OnWithdrawn:   func(string) { panic("ouch") },
		OnInitialized: func(*claude.InitializeResponse) { panic("ouch") },
		CanUseTool: func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return claude.ToolDecision{}, claude.ErrNoAnswer
		},
		OnCallbackError: func(string, string, error) { panic("ouch") },
	}
	converse(t, o, func(c *conversation) {
		c.initializes("[]")
		c.asks("r1", `{}`)
		c.says(`{"type":"control_cancel_request","request_id":"r1"}`)
		synctest.Wait()
		if !errors.Is(cause, claude.ErrWithdrawn) {
			t.Errorf("the callback ended with %v", cause)
		}
	})
}

// The transport may drop a line that is over its budget; the conversation lives.
func TestOversizeLineIsReportedAndPassedBy(t *testing.T) {
	t.Parallel()
	var reported error
	heard := 0
	lines := &scripted{recv: []any{claude.ErrTooLarge, `{"type":"keep_alive"}`}}
	err := claude.NewClient(lines, claude.Options{
		OnUnreadable: func(line []byte, err error) { reported = err },
		OnMessage:    func(claude.Message) { heard++ },
	}).Run(t.Context())
	if err != nil || !errors.Is(reported, claude.ErrTooLarge) || heard != 1 {
		t.Errorf("Run %v, reported %v, heard %d", err, reported, heard)
	}
}
