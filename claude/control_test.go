package claude_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/protocol"
)

// unknownToTheSchema returns what docs/protocol does not know of a control request of a host.
func unknownToTheSchema(t *testing.T, s *protocol.Schema, request string) []string {
	t.Helper()
	return s.Inspect([]protocol.Line{{From: protocol.FromHost, JSON: json.RawMessage(`{"type":"control_request","request_id":"r","request":` + request + `}`)}}).Unknown()
}

func readSchema(t *testing.T) *protocol.Schema {
	t.Helper()
	text, err := os.ReadFile("../docs/protocol/protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := protocol.ParseSchema(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each request with what is sent, what the CLI answers, and what is returned.
func TestControlRequests(t *testing.T) {
	yes, schema := true, readSchema(t)
	for name, test := range map[string]struct {
		call   func(ctx context.Context, c *claude.Client) (any, error)
		sent   string
		answer string
		want   any
	}{
		"interrupt": {func(ctx context.Context, c *claude.Client) (any, error) { return c.InterruptQueue(ctx, true) },
			`{"subtype":"interrupt","cancel_queued":true}`, `{"still_queued":[],"cancelled":["u"]}`, claude.Interrupted{StillQueued: []string{}, Cancelled: []string{"u"}}},
		"cancel message": {func(ctx context.Context, c *claude.Client) (any, error) { return c.CancelMessage(ctx, "u") },
			`{"subtype":"cancel_async_message","message_uuid":"u"}`, `{"cancelled":true}`, true},
		"thinking": {func(ctx context.Context, c *claude.Client) (any, error) {
			return nil, c.SetThinking(ctx, -1, "omitted")
		},
			`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null,"thinking_display":"omitted"}`, `{}`, nil},
		"MCP mode": {func(ctx context.Context, c *claude.Client) (any, error) { return c.SetMCPPermissionMode(ctx, "s", "") },
			`{"subtype":"set_mcp_permission_mode_override","serverName":"s","mode":null}`, `{"warning":"w"}`, "w"},
		"update settings": {func(ctx context.Context, c *claude.Client) (any, error) {
			return nil, c.UpdateSettings(ctx, "userSettings", map[string]any{"a": 1})
		}, `{"subtype":"update_settings","source":"userSettings","settings":{"a":1}}`, `{}`, nil},
		"rename": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.RenameSession(ctx, "t") },
			`{"subtype":"rename_session","title":"t","source":"host"}`, `{}`, nil},
		"color": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.SetColor(ctx, "red") },
			`{"subtype":"set_color","color":"red"}`, `{}`, nil},
		"subscribers": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.SetHasSubscribers(ctx, &yes) },
			`{"subtype":"set_has_subscribers","has_subscribers":true}`, `{}`, nil},
		"stop task": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.StopTask(ctx, "t") },
			`{"subtype":"stop_task","task_id":"t"}`, `{}`, nil},
		"background": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.Background(ctx, "t") },
			`{"subtype":"background_tasks","tool_use_id":"t"}`, `{}`, nil},
		"background all": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.Background(ctx, "") },
			`{"subtype":"background_tasks"}`, `{}`, nil},
		"task output": {func(ctx context.Context, c *claude.Client) (any, error) { return c.TaskOutput(ctx, "t") },
			`{"subtype":"get_task_output","task_id":"t"}`, `{"output":"o","total_bytes":9,"truncated":true}`, claude.TaskOutput{Output: "o", TotalBytes: 9, Truncated: true}},
		"end": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.EndSession(ctx, "done") },
			`{"subtype":"end_session","reason":"done"}`, `{}`, nil},
		"set servers": {func(ctx context.Context, c *claude.Client) (any, error) {
			return c.SetMCPServers(ctx, map[string]claude.MCPServerConfig{"s": claude.HTTPServer{URL: "u"}})
		}, `{"subtype":"mcp_set_servers","servers":{"s":{"type":"http","url":"u"}}}`, `{"added":["s"],"errors":{"x":"no"}}`, claude.MCPChange{Added: []string{"s"}, Errors: map[string]string{"x": "no"}}},
		"call": {func(ctx context.Context, c *claude.Client) (any, error) {
			return c.CallMCP(ctx, "mcp__a__b", map[string]any{"x": 1})
		}, `{"subtype":"mcp_call","tool":"mcp__a__b","arguments":{"x":1},"check_permissions":true}`, `{"content":[]}`, json.RawMessage(`{"content":[]}`)},
		"resource": {func(ctx context.Context, c *claude.Client) (any, error) { return c.ReadMCPResource(ctx, "s", "ui://x") },
			`{"subtype":"mcp_read_resource","serverName":"s","uri":"ui://x"}`, `{"contents":[{"uri":"ui://x","text":"t"}]}`, []claude.MCPResource{{URI: "ui://x", Text: "t"}}},
		"clear sign-in": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.ClearMCPSignIn(ctx, "s") },
			`{"subtype":"mcp_clear_auth","serverName":"s"}`, `{}`, nil},
		"read file": {func(ctx context.Context, c *claude.Client) (any, error) { return c.ReadFile(ctx, "p", 5, "base64") },
			`{"subtype":"read_file","path":"p","max_bytes":5,"encoding":"base64"}`, `{"contents":"eA==","absPath":"/p","encoding":"base64"}`, claude.File{Contents: "eA==", Path: "/p", Encoding: "base64"}},
		"seed": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.SeedReadState(ctx, "p", 5) },
			`{"subtype":"seed_read_state","path":"p","mtime":5}`, `{}`, nil},
		"files": {func(ctx context.Context, c *claude.Client) (any, error) { return c.SuggestFiles(ctx, "q") },
			`{"subtype":"file_suggestions","query":"q"}`, `{"suggestions":[]}`, json.RawMessage(`{"suggestions":[]}`)},
		"root": {func(ctx context.Context, c *claude.Client) (any, error) { return nil, c.RegisterRepoRoot(ctx, "/r") },
			`{"subtype":"register_repo_root","directory":"/r","reload_claude_md":true,"reload_plugins":true,"reload_skills":true}`, `{}`, nil},
		"plugins": {func(ctx context.Context, c *claude.Client) (any, error) {
			return c.ReloadPlugins(ctx, []claude.Plugin{{Path: "/p"}}, true)
		}, `{"subtype":"reload_plugins","hold_on_cache_impact":true,"add_plugins":[{"type":"local","path":"/p"}]}`, `{"plugins":[{"name":"p"}],"held":true}`, claude.Reloaded{Plugins: []claude.PluginInfo{{Name: "p"}}, Held: true}},
		"skills": {func(ctx context.Context, c *claude.Client) (any, error) { return c.ReloadSkills(ctx) },
			`{"subtype":"reload_skills"}`, `{"skills":[{"name":"s"}]}`, []claude.CommandInfo{{Name: "s"}}},
		"styles": {func(ctx context.Context, c *claude.Client) (any, error) { return c.ReloadOutputStyles(ctx) },
			`{"subtype":"reload_output_styles"}`, `{"available_output_styles":["s"]}`, []string{"s"}},
		"models": {func(ctx context.Context, c *claude.Client) (any, error) { return c.ListModels(ctx) },
			`{"subtype":"list_models"}`, `{"models":[{"value":"m"}]}`, []claude.ModelInfo{{Value: "m"}}},
		"version": {func(ctx context.Context, c *claude.Client) (any, error) { return c.BinaryVersion(ctx) },
			`{"subtype":"get_binary_version"}`, `{"version":"2.1.329"}`, "2.1.329"},
		"side question": {func(ctx context.Context, c *claude.Client) (any, error) { return c.SideQuestion(ctx, "q") },
			`{"subtype":"side_question","question":"q"}`, `{"answer":"a"}`, json.RawMessage(`{"answer":"a"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			converse(t, claude.Options{}, func(c *conversation) {
				type outcome struct {
					got any
					err error
				}
				done := make(chan outcome, 1)
				go func() {
					got, err := test.call(c.t.Context(), c.client)
					done <- outcome{got, err}
				}()
				id, sent := c.request()
				var want map[string]any
				if err := json.Unmarshal([]byte(test.sent), &want); err != nil || !reflect.DeepEqual(sent, want) {
					t.Errorf("sent %v, want %v", sent, want)
				}
				if unknown := unknownToTheSchema(t, schema, test.sent); len(unknown) > 0 {
					t.Errorf("not in the schema: %q", unknown)
				}
				c.succeeds(id, test.answer)
				if o := <-done; o.err != nil || fmt.Sprintf("%v", o.got) != fmt.Sprintf("%v", test.want) {
					t.Errorf("got %v %v, want %v", o.got, o.err, test.want)
				}
			})
		})
	}
}

func TestOtherRequestsOfTheCLI(t *testing.T) {
	o := claude.Options{OtherSubtypes: []string{"oauth_token_refresh"}, OtherRequest: func(_ context.Context, r claude.ControlRequest) (json.RawMessage, error) {
		return json.RawMessage(`{"accessToken":"` + r.RequestID + `"}`), nil
	}}
	converse(t, o, func(c *conversation) {
		c.says(`{"type":"control_request","request_id":"r","request":{"subtype":"oauth_token_refresh"}}`)
		if got := c.hears(); !strings.Contains(got, `"response":{"accessToken":"r"}`) {
			t.Errorf("got %s", got)
		}
		c.says(`{"type":"control_request","request_id":"q","request":{"subtype":"brand_new"}}`)
		if got := c.hears(); !strings.Contains(got, "unsupported_request") {
			t.Errorf("got %s, want a refusal", got)
		}
	})
}

func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	r := claude.ToolRequest{ToolName: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which?","header":"H","options":[{"label":"A"},{"label":"B"}],"multiSelect":false}],"metadata":{"source":"x"}}`)}
	questions, ok := r.Questions()
	if !ok || len(questions) != 1 || questions[0].Options[1].Label != "B" {
		t.Fatalf("got %+v %v", questions, ok)
	}
	d, err := r.Answer(map[string]string{"Which?": "B"})
	if err != nil || !d.Allow || !strings.Contains(string(d.UpdatedInput), `"answers":{"Which?":"B"}`) || !strings.Contains(string(d.UpdatedInput), `"metadata":{"source":"x"}`) {
		t.Errorf("got %+v %v", d, err)
	}
	for name, answers := range map[string]map[string]string{"none": nil, "empty": {"Which?": " "}, "unknown": {"Which?": "A", "Who?": "B"}} {
		if d, err := r.Answer(answers); err == nil || d.Allow {
			t.Errorf("%s: got %+v %v, want an error", name, d, err)
		}
	}
	if _, ok := (&claude.ToolRequest{ToolName: "Bash"}).Questions(); ok {
		t.Error("Bash asks questions")
	}
}

func TestGrantIsSent(t *testing.T) {
	converse(t, claude.Options{CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		grant := r.Suggestions()
		for i := range grant {
			grant[i].Destination = claude.ForSession
		}
		return claude.ToolDecision{Allow: true, Grant: grant, Classification: "user_permanent"}, nil
	}}, func(c *conversation) {
		c.says(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"behavior":"allow","destination":"localSettings"}]}}`)
		want := `"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"behavior":"allow","destination":"session"}],"toolUseID":"t","decisionClassification":"user_permanent"}`
		if got := c.hears(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
