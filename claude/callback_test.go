package claude_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude"
)

// callbacksOf returns options whose callbacks all call misbehave, and would then approve.
func callbacksOf(misbehave func(ctx context.Context)) claude.Options {
	raw := func(ctx context.Context) (json.RawMessage, error) {
		misbehave(ctx)
		return json.RawMessage(`{"approved":true}`), nil
	}
	return claude.Options{
		CanUseTool: func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			if r.RequestID == "another" {
				return claude.Deny("no"), nil
			}
			misbehave(ctx)
			return claude.Allow(), nil
		},
		Hooks: []claude.Hook{{Event: claude.EventPreToolUse, Run: func(ctx context.Context, _ claude.HookInput) (claude.HookOutput, error) {
			misbehave(ctx)
			return claude.HookOutput{Permission: claude.HookAllow}, nil
		}}},
		Elicitation: func(ctx context.Context, _ claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
			misbehave(ctx)
			return claude.ElicitationAnswer{Action: "accept"}, nil
		},
		HookCallback:  func(ctx context.Context, _ claude.HookRequest) (json.RawMessage, error) { return raw(ctx) },
		MCPMessage:    func(ctx context.Context, _ claude.MCPMessageRequest) (json.RawMessage, error) { return raw(ctx) },
		UserDialog:    func(ctx context.Context, _ claude.UserDialogRequest) (json.RawMessage, error) { return raw(ctx) },
		OtherRequest:  func(ctx context.Context, _ claude.ControlRequest) (json.RawMessage, error) { return raw(ctx) },
		OtherSubtypes: []string{"oauth_token_refresh"},
	}
}

// requestsOfCallbacks call each of callbacksOf.
var requestsOfCallbacks = map[string]string{
	"permission":  `{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"x"},"tool_use_id":"t"}`,
	"hook":        `{"subtype":"hook_callback","callback_id":"hook-0","input":{}}`,
	"raw hook":    `{"subtype":"hook_callback","callback_id":"by hand","input":{}}`,
	"elicitation": `{"subtype":"elicitation","mcp_server_name":"s","message":"m"}`,
	"MCP message": `{"subtype":"mcp_message","server_name":"s","message":{"jsonrpc":"2.0","id":1,"method":"x"}}`,
	"dialog":      `{"subtype":"request_user_dialog","dialog_kind":"k"}`,
	"another":     `{"subtype":"oauth_token_refresh"}`,
}

// Whatever a callback does in place of returning, the CLI gets one answer, which approves nothing,
// and the host is told once.
func TestCallbackThatEndsInAPanicIsAnsweredOnce(t *testing.T) {
	for how, end := range map[string]func(context.Context){
		"panic":     func(context.Context) { panic("ouch") },
		"nil panic": func(context.Context) { panic(nil) },
		"goexit":    func(context.Context) { runtime.Goexit() },
	} {
		for name, request := range requestsOfCallbacks {
			t.Run(how+" of "+name, func(t *testing.T) {
				o, told := callbacksOf(end), 0
				o.OnCallbackError = func(_, id string, _ error) {
					if told++; id != "r" {
						t.Errorf("told of %s", id)
					}
				}
				converse(t, o, func(c *conversation) {
					c.says(`{"type":"control_request","request_id":"r","request":` + request + `}`)
					got := c.hears()
					if !strings.Contains(got, `"request_id":"r"`) || strings.Contains(got, "allow") || strings.Contains(got, "accept") || strings.Contains(got, "approved") {
						t.Errorf("got %s", got)
					}
					if strings.Contains(got, "ouch") || told != 1 {
						t.Errorf("told %d times, and the CLI of %s", told, got)
					}
					c.hearsNothing()
				})
			})
		}
	}
}

// A callback that neither returns nor looks at its context holds nothing else up, and what it says
// after the withdrawal is not sent.
func TestCallbackThatNeverReturnsHoldsNothingUp(t *testing.T) {
	for name, request := range requestsOfCallbacks {
		t.Run(name, func(t *testing.T) {
			var release chan bool
			converse(t, callbacksOf(func(context.Context) { <-release }), func(c *conversation) {
				release = make(chan bool) // in the bubble
				c.says(`{"type":"control_request","request_id":"r","request":` + request + `}`)
				c.hearsNothing()
				c.asks("another", `{}`)
				if a := c.answer("another"); a["behavior"] != "deny" {
					t.Errorf("got %v", a)
				}
				c.says(`{"type":"control_cancel_request","request_id":"r"}`)
				synctest.Wait()
				close(release)
				c.hearsNothing()
			})
		})
	}
}
