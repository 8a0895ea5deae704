package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

func decides(d claude.ToolDecision, err error) claude.Options {
	return claude.Options{CanUseTool: func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) { return d, err }}
}

func TestAllowEchoesTheInputByteForByte(t *testing.T) {
	input := `{"command":"touch <a> & \u2028\ud83d\ude00","n":1.00,"deep":{"b":[1,2]}}`
	converse(t, decides(claude.ToolDecision{Allow: true}, nil), func(c *conversation) {
		c.asks("r1", input)
		want := `{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":` + input + `,"toolUseID":"tool-r1"}}}`
		if got := c.hears(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestAllowWithoutAnInputHasAnEmptyOne(t *testing.T) {
	converse(t, decides(claude.ToolDecision{Allow: true}, nil), func(c *conversation) {
		c.says(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"X"}}`)
		a := c.answer("r1")
		if got, ok := a["updatedInput"].(map[string]any); !ok || len(got) != 0 {
			t.Errorf("got updatedInput %v, want {}", a["updatedInput"])
		}
		if id, ok := a["toolUseID"]; !ok || id != "" {
			t.Errorf("got toolUseID %v, want it there", a)
		}
	})
}

func TestAllowSendsWhatWasEditedAndGrantedOnOneLine(t *testing.T) {
	d := claude.ToolDecision{
		Allow:              true,
		UpdatedInput:       json.RawMessage("{\n  \"command\": \"touch b\u2028\"\n}"),
		UpdatedPermissions: json.RawMessage("[\n{\"type\":\"addRules\"}]"),
	}
	converse(t, decides(d, nil), func(c *conversation) {
		c.asks("r1", `{"command":"touch a"}`)
		want := `{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":{"command":"touch b\u2028"},"updatedPermissions":[{"type":"addRules"}],"toolUseID":"tool-r1"}}}`
		if got := c.hears(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestDenyCarriesItsReason(t *testing.T) {
	converse(t, decides(claude.ToolDecision{Message: "use \"rm\" less\n", Interrupt: true}, nil), func(c *conversation) {
		c.asks("r1", `{}`)
		want := `{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"deny","message":"use \"rm\" less\n","interrupt":true,"toolUseID":"tool-r1"}}}`
		if got := c.hears(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// Whatever goes wrong, the CLI gets a deny with a text that the model can act
// on, and the host gets told; never an allow.
func TestFailureIsADeny(t *testing.T) {
	ask := func(f func(context.Context, claude.ToolRequest) (claude.ToolDecision, error)) claude.Options {
		return claude.Options{CanUseTool: f}
	}
	allow := claude.ToolDecision{Allow: true}
	edited := func(input string) claude.Options {
		return decides(claude.ToolDecision{Allow: true, UpdatedInput: json.RawMessage(input)}, nil)
	}
	technical, nobody := "technical reason", "Nobody can be asked"
	for name, test := range map[string]struct {
		options claude.Options
		message string // part of what the model reads
		told    string // part of what the host is told, "" for nothing
	}{
		"error": {decides(allow, errBoom), technical, "boom"},
		"panic": {ask(func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) { panic("ouch") }), technical, "panicked: ouch"},
		"goexit": {ask(func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) {
			runtime.Goexit()
			return allow, nil
		}), technical, "ended its goroutine"},
		"no callback":         {claude.Options{}, nobody, ""},
		"no message":          {decides(claude.ToolDecision{}, nil), "The user refused", ""},
		"input no JSON":       {edited(`{"a":`), technical, "updated input"},
		"input no object":     {edited(`["a"]`), technical, "no JSON object"},
		"input emptied":       {edited(` { } `), technical, "would run the original"},
		"permissions no list": {decides(claude.ToolDecision{Allow: true, UpdatedPermissions: json.RawMessage(`{}`)}, nil), technical, "no JSON array"},
	} {
		t.Run(name, func(t *testing.T) {
			var told error
			test.options.OnCallbackError = func(subtype, requestID string, err error) {
				if subtype != "can_use_tool" || requestID != "r1" {
					t.Errorf("told of %s %s, want can_use_tool r1", subtype, requestID)
				}
				told = err
			}
			converse(t, test.options, func(c *conversation) {
				c.asks("r1", `{"command":"touch a"}`)
				a := c.answer("r1")
				message, _ := a["message"].(string)
				if a["behavior"] != "deny" || !strings.Contains(message, test.message) || a["toolUseID"] != "tool-r1" {
					t.Errorf("got %v, want a deny with %q", a, test.message)
				}
				if strings.Contains(message, "boom") || strings.Contains(message, "ouch") {
					t.Errorf("the model reads internals: %q", message)
				}
				if (told == nil) != (test.told == "") || told != nil && !strings.Contains(told.Error(), test.told) {
					t.Errorf("host was told %v, want %q", told, test.told)
				}
			})
		})
	}
}

func TestOriginalThatIsNoJSONIsNeverEchoed(t *testing.T) {
	// The CLI exits on a line that is no JSON, which would cost the session.
	converse(t, decides(claude.ToolDecision{Allow: true}, nil), func(c *conversation) {
		c.asks("r1", `{"a":tru}`)
		if a := c.answer("r1"); a["behavior"] != "deny" {
			t.Errorf("got %v, want a deny", a)
		}
	})
}

func TestToolRequestHasAllThatTheCLISays(t *testing.T) {
	var got claude.ToolRequest
	o := claude.Options{CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		got = r
		return claude.ToolDecision{Allow: true}, nil
	}}
	converse(t, o, func(c *conversation) {
		request := `{"brand_new":{"x":1},"default_to_no":true,"suppress_always_allow_rule":true,"requires_user_interaction":true,"matched_ask_rule":{"source":"userSettings","tool_name":"Bash","rule_content":"x:*"},"classifier_approvable":false,"mcp_server":{"name":"gh","source":"project"},"agent_id":"a1","blocked_path":"/etc","decision_reason":"rule","decision_reason_type":"rule","description":"d","display_name":"Shell","title":"Claude wants","permission_suggestions":[{"type":"addRules"}],"tool_use_id":"tu","input":{"command":"x"},"tool_name":"Bash","subtype":"can_use_tool"}`
		c.says(`{"request":` + request + `,"request_id":"r1","type":"control_request"}`)
		c.answer("r1")
		want := claude.ToolRequest{
			RequestID: "r1", ToolName: "Bash", ToolUseID: "tu", AgentID: "a1", Title: "Claude wants", DisplayName: "Shell",
			Description: "d", DecisionReason: "rule", DecisionReasonType: "rule", BlockedPath: "/etc",
			Input: json.RawMessage(`{"command":"x"}`), PermissionSuggestions: json.RawMessage(`[{"type":"addRules"}]`),
			DefaultToNo: true, SuppressAlwaysAllowRule: true, RequiresUserInteraction: true,
			MatchedAskRule:       &claude.AskRule{Source: "userSettings", ToolName: "Bash", RuleContent: "x:*"},
			ClassifierApprovable: new(false), MCPServer: &claude.MCPProvenance{Name: "gh", Source: "project"},
			Raw: json.RawMessage(request),
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// TestMalformedRestrictionsRestrict: a CLI that says it in another shape means it.
func TestMalformedRestrictionsRestrict(t *testing.T) {
	for members, want := range map[string]claude.ToolRequest{
		`"default_to_no":false,"suppress_always_allow_rule":null,"requires_user_interaction":false,"matched_ask_rule":null,"classifier_approvable":null,"mcp_server":null`: {},
		`"x":1`:                         {},
		`"default_to_no":"yes"`:         {DefaultToNo: true},
		`"requires_user_interaction":1`: {RequiresUserInteraction: true},
		`"suppress_always_allow_rule":{"for":"plugin"}`: {SuppressAlwaysAllowRule: true},
		`"matched_ask_rule":"Bash(x)"`:                  {MatchedAskRule: &claude.AskRule{}},
		`"matched_ask_rule":{"tool_name":"Bash","n":1}`: {MatchedAskRule: &claude.AskRule{ToolName: "Bash"}},
		`"classifier_approvable":true`:                  {ClassifierApprovable: new(true)},
		`"classifier_approvable":"perhaps"`:             {ClassifierApprovable: new(false)},
		`"mcp_server":"gh"`:                             {},
	} {
		t.Run(members, func(t *testing.T) {
			var got claude.ToolRequest
			o := claude.Options{CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
				got = claude.ToolRequest{DefaultToNo: r.DefaultToNo, SuppressAlwaysAllowRule: r.SuppressAlwaysAllowRule, RequiresUserInteraction: r.RequiresUserInteraction,
					MatchedAskRule: r.MatchedAskRule, ClassifierApprovable: r.ClassifierApprovable, MCPServer: r.MCPServer}
				return claude.ToolDecision{Message: "no"}, nil
			}}
			converse(t, o, func(c *conversation) {
				c.says(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"tu","input":{},` + members + `}}`)
				c.answer("r1")
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			})
		})
	}
}

// parked is a callback that waits until the test answers.
type parked struct {
	mu      sync.Mutex
	waiting map[string]chan claude.ToolDecision
}

// of is made on first use: a channel must be made inside the bubble.
func (p *parked) of(id string) chan claude.ToolDecision {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[string]chan claude.ToolDecision)
	}
	if p.waiting[id] == nil {
		p.waiting[id] = make(chan claude.ToolDecision)
	}
	return p.waiting[id]
}

func (p *parked) options() claude.Options {
	return claude.Options{CanUseTool: func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		select {
		case d := <-p.of(r.RequestID):
			return d, nil
		case <-ctx.Done():
			return claude.ToolDecision{}, context.Cause(ctx)
		}
	}}
}

func TestTenOpenRequestsAnsweredLastToFirst(t *testing.T) {
	var ids []string
	for i := range 10 {
		ids = append(ids, fmt.Sprint("r", i))
	}
	p := &parked{}
	converse(t, p.options(), func(c *conversation) {
		for _, id := range ids {
			c.asks(id, `{"command":"`+id+`"}`)
		}
		c.hearsNothing()
		for i := len(ids) - 1; i >= 0; i-- {
			p.of(ids[i]) <- claude.ToolDecision{Allow: true}
			a := c.answer(ids[i])
			if input := a["updatedInput"].(map[string]any); input["command"] != ids[i] || a["toolUseID"] != "tool-"+ids[i] {
				t.Errorf("answer to %s: got %v", ids[i], a)
			}
		}
		c.hearsNothing()
	})
}

// A parked approval stops nothing else: other requests, our own requests and
// messages pass it by.
func TestOpenApprovalBlocksNoOtherCallback(t *testing.T) {
	p := &parked{}
	o := p.options()
	o.HookCallback = func(context.Context, claude.HookRequest) (json.RawMessage, error) {
		return json.RawMessage(`{"continue":true}`), nil
	}
	o.MCPMessage = func(_ context.Context, r claude.MCPMessageRequest) (json.RawMessage, error) {
		return json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil
	}
	o.Elicitation = func(context.Context, claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
		return claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{"name":"x"}`)}, nil
	}
	messages := 0
	o.OnMessage = func(claude.Message) { messages++ }
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{}`)
		c.says(`{"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback","callback_id":"cb","input":{}}}`)
		if a := c.answer("h1"); a["continue"] != true {
			t.Errorf("hook: got %v", a)
		}
		c.says(`{"type":"control_request","request_id":"m1","request":{"subtype":"mcp_message","server_name":"s","message":{"jsonrpc":"2.0","id":1,"method":"x"}}}`)
		if a := c.answer("m1"); a["mcp_response"] == nil {
			t.Errorf("mcp: got %v", a)
		}
		c.says(`{"type":"control_request","request_id":"e1","request":{"subtype":"elicitation","mcp_server_name":"s","message":"name?"}}`)
		if a := c.answer("e1"); a["action"] != "accept" || a["content"] == nil {
			t.Errorf("elicitation: got %v", a)
		}
		interrupted := make(chan error, 1)
		go func() { interrupted <- c.client.Interrupt(c.t.Context()) }()
		id, request := c.request()
		if request["subtype"] != "interrupt" {
			t.Errorf("got %v, want an interrupt", request)
		}
		c.succeeds(id, `{}`)
		if err := <-interrupted; err != nil {
			t.Errorf("Interrupt: %v", err)
		}
		c.says(`{"type":"keep_alive"}`)
		synctest.Wait()
		if messages != 1 {
			t.Errorf("got %d messages, want 1", messages)
		}
		p.of("r1") <- claude.ToolDecision{Allow: true}
		c.answer("r1")
	})
}

func TestCancelEndsTheCallbackAndSendsNothing(t *testing.T) {
	var cause, fate error
	returned := make(chan struct{})
	o := claude.Options{
		CanUseTool: func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			defer close(returned)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return claude.ToolDecision{Allow: true, Sent: func(err error) { fate = err }}, nil
		},
		OnCallbackError: func(_, _ string, err error) { t.Errorf("told of %v, want nothing", err) },
	}
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{}`)
		c.says(`{"type":"control_cancel_request","request_id":"unknown"}`)
		c.says(`{"type":"control_cancel_request","request_id":"r1"}`)
		<-returned
		c.hearsNothing()
		if !errors.Is(cause, claude.ErrWithdrawn) {
			t.Errorf("context ended with %v, want ErrWithdrawn", cause)
		}
		if !errors.Is(fate, claude.ErrWithdrawn) {
			t.Errorf("Sent got %v, want ErrWithdrawn", fate)
		}
		c.says(`{"type":"control_cancel_request","request_id":"r1"}`) // again: nothing left to withdraw
		c.hearsNothing()
	})
}

// A cancel after the answer changes nothing: the same request again is still answered.
func TestCancelAfterTheAnswerChangesNothing(t *testing.T) {
	o := decides(claude.ToolDecision{Allow: true}, nil)
	o.OnCallbackError = func(_, _ string, err error) { t.Errorf("told of %v, want nothing", err) }
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{}`)
		c.answer("r1")
		c.says(`{"type":"control_cancel_request","request_id":"r1"}`)
		c.asks("r1", `{}`)
		c.hearsNothing()
	})
}

func TestAnswerRacingACancelHasOneOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds = 200
		fates, release := make(chan error), make(chan bool)
		c := open(t, t.Context(), claude.Options{CanUseTool: func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) {
			<-release
			return claude.ToolDecision{Allow: true, Sent: func(err error) { fates <- err }}, nil
		}})
		delivered := 0
		for i := range rounds {
			id := fmt.Sprint("r", i)
			c.asks(id, `{}`)
			synctest.Wait()
			go func() { release <- true }()
			go func() {
				if err := c.cli.Send([]byte(`{"type":"control_cancel_request","request_id":"` + id + `"}`)); err != nil {
					t.Errorf("cancel: %v", err)
				}
			}()
			switch err := <-fates; {
			case err == nil:
				delivered++
				c.answer(id)
			case !errors.Is(err, claude.ErrWithdrawn):
				t.Errorf("Sent got %v", err)
			}
			c.hearsNothing()
		}
		t.Logf("%d of %d answers came first", delivered, rounds)
		if err := c.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestErrNoAnswerSendsNothing(t *testing.T) {
	o := decides(claude.ToolDecision{Allow: true}, claude.ErrNoAnswer)
	o.OnCallbackError = func(_, _ string, err error) { t.Errorf("told of %v, want nothing", err) }
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{}`)
		c.hearsNothing()
	})
}

func TestSameRequestTwiceIsAskedOnce(t *testing.T) {
	p := &parked{}
	o := p.options()
	asked := 0
	inner := o.CanUseTool
	o.CanUseTool = func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		asked++
		return inner(ctx, r)
	}
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{}`)
		c.asks("r1", `{}`) // while it is open
		p.of("r1") <- claude.ToolDecision{Allow: true}
		c.answer("r1")
		c.asks("r1", `{}`) // after it was answered
		c.hearsNothing()
		if asked != 1 {
			t.Errorf("asked %d times, want once", asked)
		}
	})
}

// Fault F13: what is asked under an id that is open changes nothing about it, is
// answered by nobody, and is told.
func TestReuseOfAnOpenIDIsReported(t *testing.T) {
	p := &parked{}
	o := p.options()
	told := make(chan error, 2)
	o.OnUnreadable = func(_ []byte, err error) { told <- err }
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{"command":"ls"}`)
		c.asks("r1", `{"command":"ls"}`)
		c.asks("r1", `{"command":"rm -rf /"}`)
		if err := <-told; !errors.Is(err, claude.ErrReused) {
			t.Errorf("told %v", err)
		}
		p.of("r1") <- claude.ToolDecision{Allow: true}
		c.answer("r1")
		c.hearsNothing()
		if len(told) > 0 {
			t.Errorf("told of the same request, too: %v", <-told)
		}
	})
}

// Fault F13: what is asked under an id that was answered is told, too. The same
// request again is none: its answer is on the way, also to a CLI that lists it.
func TestReuseOfAnAnsweredIDIsReported(t *testing.T) {
	p := &parked{}
	o := p.options()
	told := make(chan error, 4)
	o.OnUnreadable = func(_ []byte, err error) { told <- err }
	converse(t, o, func(c *conversation) {
		c.asks("r1", `{"command":"ls"}`)
		p.of("r1") <- claude.ToolDecision{Allow: true}
		c.answer("r1")
		c.asks("r1", `{"command":"ls"}`)
		c.initializes(`[{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool"}}]`)
		c.hearsNothing()
		if len(told) > 0 {
			t.Errorf("told of the same request: %v", <-told)
		}
		c.asks("r1", `{"command":"rm -rf /"}`)
		c.hearsNothing()
		if len(told) != 1 {
			t.Fatalf("told %d times", len(told))
		}
		if err := <-told; !errors.Is(err, claude.ErrReusedAnswered) || !errors.Is(err, claude.ErrReused) {
			t.Errorf("told %v", err)
		}
	})
}

// blocked is a transport whose CLI does not read: Send waits for Close.
type blocked struct {
	claude.Transport
	closed chan struct{}
}

func (b *blocked) Send([]byte) error { <-b.closed; return errBoom }
func (b *blocked) Close() error      { close(b.closed); return b.Transport.Close() }

// reluctant is a transport that does not take the first lines, and takes the rest.
type reluctant struct {
	claude.Transport
	refuses int
	tries   int
}

func (r *reluctant) Send(line []byte) error {
	if r.tries++; r.tries <= r.refuses {
		return errBoom
	}
	return r.Transport.Send(line)
}

// The CLI waits for its answer, and nobody else would say it again.
func TestAnswerThatIsNotTakenIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, cli := claudetest.Pipe()
		var fates, told []error
		o := decides(claude.ToolDecision{Allow: true, Sent: func(err error) { fates = append(fates, err) }}, nil)
		o.OnCallbackError = func(_, _ string, err error) { told = append(told, err) }
		client := claude.NewClient(&reluctant{Transport: host, refuses: 3}, o)
		run := make(chan error, 1)
		go func() { run <- client.Run(t.Context()) }()
		if err := cli.Send([]byte(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}}`)); err != nil {
			t.Fatal(err)
		}
		line, err := cli.Recv()
		if err != nil || !strings.Contains(string(line), `"request_id":"r1"`) {
			t.Errorf("the CLI heard %s, %v", line, err)
		}
		synctest.Wait()
		if len(fates) != 1 || fates[0] != nil || len(told) != 1 || !errors.Is(told[0], errBoom) {
			t.Errorf("Sent got %v, want nil once; told of %v, want the failure once", fates, told)
		}
		cli.Close()
		if err := <-run; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// Who goes on with a CLI where another client stopped knows nothing of what that
// one was asked.
func TestEveryWithdrawalIsReported(t *testing.T) {
	var ids []string
	o := claude.Options{
		CanUseTool: func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
			<-ctx.Done()
			return claude.ToolDecision{}, claude.ErrNoAnswer
		},
		OnWithdrawn: func(requestID string) { ids = append(ids, requestID) },
	}
	converse(t, o, func(c *conversation) {
		c.says(`{"type":"control_cancel_request","request_id":"of a former client"}`)
		c.asks("r1", `{}`)
		c.says(`{"type":"control_cancel_request","request_id":"r1"}`)
		c.hearsNothing()
		if want := []string{"of a former client", "r1"}; !slices.Equal(ids, want) {
			t.Errorf("told of %v, want %v", ids, want)
		}
	})
}
