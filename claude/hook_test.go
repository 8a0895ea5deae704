package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// calls has the CLI call a hook.
func (c *conversation) calls(requestID, callbackID, input string) {
	c.t.Helper()
	c.says(`{"type":"control_request","request_id":"` + requestID + `","request":{"subtype":"hook_callback","callback_id":"` + callbackID + `","input":` + input + `}}`)
}

func hooked(event claude.HookEvent, run func(context.Context, claude.HookInput) (claude.HookOutput, error)) claude.Options {
	return claude.Options{Hooks: []claude.Hook{{Event: event, Run: run}}}
}

func TestHookIsRegisteredWithItsMatcherAndTimeLimit(t *testing.T) {
	t.Parallel()
	o := claude.Options{Hooks: []claude.Hook{
		{Event: claude.EventPreToolUse, Matcher: "Bash|Write", Timeout: 1500 * time.Millisecond},
		{Event: claude.EventStop},
		{Event: claude.EventPreToolUse, FailOpen: true},
	}}
	got, err := json.Marshal(o.InitializeRequest().Hooks)
	want := `{"PreToolUse":[{"matcher":"Bash|Write","hookCallbackIds":["hook-0"],"timeout":7,"onFailure":"block"},{"hookCallbackIds":["hook-2"],"timeout":604800}],"Stop":[{"hookCallbackIds":["hook-1"],"timeout":604800}]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
}

func TestHookGetsItsInputAndAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		event claude.HookEvent
		input string
		out   claude.HookOutput
		want  string
	}{
		"nothing":    {claude.EventPreToolUse, `{}`, claude.HookOutput{}, `{}`},
		"deny":       {claude.EventPreToolUse, `{"tool_name":"Bash","tool_use_id":"t"}`, claude.HookOutput{Permission: claude.HookDeny, PermissionReason: "no"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		"defer":      {claude.EventPreToolUse, `{}`, claude.HookOutput{Permission: claude.HookDefer}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`},
		"edit":       {claude.EventPreToolUse, `{}`, claude.HookOutput{Permission: claude.HookAllow, UpdatedInput: json.RawMessage(`{"a":1}`)}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}`},
		"grant":      {claude.EventPermissionRequest, `{}`, claude.HookOutput{Permission: claude.HookAllow, UpdatedPermissions: []claude.PermissionUpdate{{Type: "setMode", Mode: "plan", Destination: claude.ForSession}}}, `{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]},"hookEventName":"PermissionRequest"}}`},
		"refuse":     {claude.EventPermissionRequest, `{}`, claude.HookOutput{Permission: claude.HookDeny, PermissionReason: "no", Interrupt: true}, `{"hookSpecificOutput":{"decision":{"behavior":"deny","interrupt":true,"message":"no"},"hookEventName":"PermissionRequest"}}`},
		"go on":      {claude.EventStop, `{"stop_hook_active":true}`, claude.HookOutput{Block: true, Reason: "run the tests"}, `{"decision":"block","reason":"run the tests"}`},
		"stop":       {claude.EventPostToolUse, `{}`, claude.HookOutput{Stop: true, StopReason: "enough", SystemMessage: "m", SuppressOutput: true}, `{"continue":false,"stopReason":"enough","suppressOutput":true,"systemMessage":"m"}`},
		"context":    {claude.EventSessionStart, `{}`, claude.HookOutput{AdditionalContext: "c", SessionTitle: "t"}, `{"hookSpecificOutput":{"additionalContext":"c","hookEventName":"SessionStart","sessionTitle":"t"}}`},
		"answer":     {claude.EventElicitation, `{"mcp_server_name":"m"}`, claude.HookOutput{Action: "accept", Content: json.RawMessage(`{}`)}, `{"hookSpecificOutput":{"action":"accept","content":{},"hookEventName":"Elicitation"}}`},
		"by hand":    {claude.EventStop, `{}`, claude.HookOutput{Raw: json.RawMessage(`{ "async": true }`)}, `{"async":true}`},
		"odd fields": {claude.EventPreToolUse, `{"tool_name":7,"cwd":"/w"}`, claude.HookOutput{}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			var in claude.HookInput
			converse(t, hooked(test.event, func(_ context.Context, got claude.HookInput) (claude.HookOutput, error) {
				in = got
				return test.out, nil
			}), func(c *conversation) {
				c.calls("r", "hook-0", test.input)
				if got, want := c.hears(), `"success","request_id":"r","response":`+test.want+`}}`; !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
				if in.Event != test.event || string(in.Raw) != test.input {
					t.Errorf("got the input %+v", in)
				}
			})
		})
	}
}

// What guards must not open when its guard fails.
func TestHookThatFailsRefuses(t *testing.T) {
	fails := func(context.Context, claude.HookInput) (claude.HookOutput, error) {
		return claude.HookOutput{}, errBoom
	}
	panics := func(context.Context, claude.HookInput) (claude.HookOutput, error) { panic("boom") }
	confused := func(context.Context, claude.HookInput) (claude.HookOutput, error) {
		return claude.HookOutput{Permission: "maybe"}, nil
	}
	open := hooked(claude.EventPreToolUse, fails)
	open.Hooks[0].FailOpen = true
	for name, test := range map[string]struct {
		options claude.Options
		want    string
	}{
		"error":        {hooked(claude.EventPreToolUse, fails), `"permissionDecision":"deny"`},
		"panic":        {hooked(claude.EventPreToolUse, panics), `"permissionDecision":"deny"`},
		"confusion":    {hooked(claude.EventPreToolUse, confused), `"permissionDecision":"deny"`},
		"no function":  {hooked(claude.EventPreSkillShellCommand, nil), `"permissionDecision":"deny"`},
		"prompt":       {hooked(claude.EventUserPromptSubmit, fails), `"decision":"block"`},
		"model switch": {hooked(claude.EventPreModelSwitch, panics), `"permissionDecision":"deny"`},
		"no guard":     {hooked(claude.EventPostToolUse, fails), `"subtype":"error"`},
		"fail open":    {open, `"subtype":"error"`},
	} {
		t.Run(name, func(t *testing.T) {
			converse(t, test.options, func(c *conversation) {
				c.calls("r", "hook-0", `{}`)
				if got := c.hears(); !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}

// A hook that never answers refuses at its time limit, and what it says later is not sent.
func TestHookThatNeverReturnsRefusesInTime(t *testing.T) {
	var release chan bool
	var cause error
	o := hooked(claude.EventPreToolUse, func(ctx context.Context, _ claude.HookInput) (claude.HookOutput, error) {
		<-ctx.Done()
		cause = context.Cause(ctx)
		<-release
		return claude.HookOutput{Permission: claude.HookAllow}, nil
	})
	o.Hooks[0].Timeout = time.Minute
	converse(t, o, func(c *conversation) {
		release = make(chan bool) // in the bubble
		c.calls("r", "hook-0", `{}`)
		time.Sleep(time.Minute + time.Second)
		if got := c.hears(); !strings.Contains(got, `"permissionDecision":"deny"`) {
			t.Errorf("got %s, want a refusal", got)
		}
		synctest.Wait()
		if !errors.Is(cause, claude.ErrHookTimeout) {
			t.Errorf("the cause is %v", cause)
		}
		close(release)
		synctest.Wait()
		select {
		case line := <-c.sent:
			t.Errorf("answered twice: %s", line)
		default:
		}
	})
}

func TestHookEndsWhenItIsWithdrawn(t *testing.T) {
	var cause error
	converse(t, hooked(claude.EventPreToolUse, func(ctx context.Context, _ claude.HookInput) (claude.HookOutput, error) {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return claude.HookOutput{}, nil
	}), func(c *conversation) {
		c.calls("r", "hook-0", `{}`)
		c.says(`{"type":"control_cancel_request","request_id":"r"}`)
		synctest.Wait()
		if !errors.Is(cause, claude.ErrWithdrawn) || len(c.sent) > 0 {
			t.Errorf("the cause is %v, %d lines were sent", cause, len(c.sent))
		}
	})
}

// unsteady is a transport that takes no line until a time.
type unsteady struct {
	claude.Transport
	until time.Time
}

func (u unsteady) Send(line []byte) error {
	if time.Now().Before(u.until) {
		return errors.New("the pipe is full")
	}
	return u.Transport.Send(line)
}

// An answer that a hook gave in time is sent once the CLI takes it, also after the time limit of the hook:
// without an answer, the CLI would go on without the hook.
func TestAnswerOfAHookIsSentAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := hooked(claude.EventPreToolUse, func(context.Context, claude.HookInput) (claude.HookOutput, error) {
			return claude.HookOutput{Permission: claude.HookDeny}, nil
		})
		o.Hooks[0].Timeout = 2 * time.Second
		host, cli := claudetest.Pipe()
		c := &conversation{t: t, cli: cli}
		run := make(chan error)
		go func() { run <- claude.NewClient(unsteady{host, time.Now().Add(5 * time.Second)}, o).Run(t.Context()) }()
		c.calls("r", "hook-0", `{}`)
		heard := make(chan string, 1)
		go func() {
			line, _ := cli.Recv()
			heard <- string(line)
		}()
		select {
		case line := <-heard:
			if !strings.Contains(line, `"permissionDecision":"deny"`) {
				t.Errorf("got %s", line)
			}
		case <-time.After(time.Minute):
			t.Error("the CLI got no answer")
		}
		cli.Close()
		<-run
	})
}
