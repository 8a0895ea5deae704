package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// realOptions returns options for a real CLI on a scripted model, and its home folder.
func realOptions(t *testing.T, path string) (o claude.Options, home string) {
	t.Helper()
	model := scriptedmodel.Start(t, scriptedmodel.Options{})
	home = t.TempDir()
	return claude.Options{Path: path, Dir: t.TempDir(), Environ: model.Environ(home), SettingSources: []string{}}, home
}

func script(text string) string { return "```script\n" + text + "\n```" }

// The flows of a query, each with a CLI of its own.
func TestRealCLIByQuery(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := realCLI(t, variable, version)

			// A PreToolUse hook sees a call that is allowed without a question, a Stop hook makes the
			// turn go on once, and the hooks report the session.
			t.Run("hooks", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				var seen []string
				note := func(_ context.Context, in claude.HookInput) (claude.HookOutput, error) {
					seen = append(seen, string(in.Event)+" "+in.ToolName)
					if in.Event == claude.EventStop && !in.StopHookActive {
						return claude.HookOutput{Block: true, Reason: "say it again"}, nil
					}
					return claude.HookOutput{}, nil
				}
				for _, event := range []claude.HookEvent{claude.EventUserPromptSubmit, claude.EventPreToolUse, claude.EventPostToolUse, claude.EventStop} {
					o.Hooks = append(o.Hooks, claude.Hook{Event: event, Run: note})
				}
				r, err := claude.Ask(t.Context(), script(`[[{"tool":"Bash","input":{"command":"ls"}}],[{"text":"once"}],[{"text":"again"}]]`), o)
				want := []string{"UserPromptSubmit ", "PreToolUse Bash", "PostToolUse Bash", "Stop ", "Stop "}
				if err != nil || r.Text != "again" || !slices.Equal(seen, want) {
					t.Errorf("got %v %v, hooks %q, want %q", r, err, seen, want)
				}
			})

			if os.Getenv("SAYSO_TEST_ALL") == "" {
				return // each of the following starts CLIs of its own
			}

			t.Run("a failing hook refuses", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				o.AllowedTools = []string{"Bash"}
				o.Hooks = []claude.Hook{{Event: claude.EventPreToolUse, Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) { panic("boom") }}}
				r, err := claude.Ask(t.Context(), script(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"{{last_tool_result}}"}]]`), o)
				if err != nil || !strings.Contains(r.Text, "failed for a technical reason") {
					t.Errorf("got %v %v", r, err)
				}
				if _, err := os.Stat(filepath.Join(o.Dir, "made")); err == nil {
					t.Error("the tool ran")
				}
			})

			t.Run("structured output", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				o.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
				r, err := claude.Ask(t.Context(), script(`[[{"tool":"StructuredOutput","input":{"n":42}}],[{"text":"done"}]]`), o)
				if err != nil || string(r.StructuredOutput) != `{"n":42}` {
					t.Errorf("got %+v %v", r, err)
				}
			})

			t.Run("turns and sessions", func(t *testing.T) {
				t.Parallel()
				o, home := realOptions(t, path)
				o.SessionID = someUUID
				client, err := claude.Start(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				run := make(chan error, 1)
				go func() { run <- client.Run(t.Context()) }()
				for _, want := range []string{"first", "second"} {
					var got string
					for m, err := range client.Turn(t.Context(), claude.UserMessage{Text: script(`[[{"text":"` + want + `"}]]`)}) {
						if err != nil {
							t.Fatal(err)
						}
						if r, ok := m.(*claude.Result); ok {
							got = r.Text
						}
					}
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				}
				if err := errors.Join(client.Close(), <-run); err != nil {
					t.Error(err)
				}

				folder := claude.NewSavedFolder(filepath.Join(home, ".claude"))
				s := find(t, folder, someUUID)
				if err := errors.Join(folder.Rename(s, "renamed"), folder.Tag(s, "red")); err != nil {
					t.Fatal(err)
				}
				var first string
				for m, err := range folder.Messages(s) {
					if err != nil {
						t.Fatal(err)
					}
					if a, ok := m.Message.(*claude.Assistant); ok && first == "" {
						first = a.UUID
					}
				}
				copied, err := folder.Fork(s, first, "")
				if err != nil {
					t.Fatal(err)
				}
				// The CLI resumes the copy, which knows the first turn alone, and its own.
				for id, fork := range map[string]bool{copied: false, someUUID: true} {
					again := o
					again.SessionID, again.Resume, again.Fork = "", id, fork
					r, err := claude.Ask(t.Context(), script(`[[{"text":"third"}]]`), again)
					if err != nil || r.Text != "third" || (r.SessionID == id) == fork {
						t.Errorf("resume of %s: got %+v %v", id, r, err)
					}
				}
				if got := prompts(t, folder, find(t, folder, copied)); !strings.Contains(got, "first") || strings.Contains(got, `"second"`) {
					t.Errorf("the copy has %s", got)
				}
				if s := find(t, folder, someUUID); s.Title != "renamed" || s.Tag != "red" {
					t.Errorf("got %+v", s)
				}
			})

			t.Run("limits", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				o.MaxTurns = 1
				_, err := claude.Ask(t.Context(), script(`[[{"tool":"Bash","input":{"command":"ls"}}],[{"text":"done"}]]`), o)
				var failed *claude.ResultError
				if !errors.Is(err, claude.ErrLimit) || !errors.As(err, &failed) || failed.Result.Subtype != "error_max_turns" {
					t.Errorf("got %v, want ErrLimit", err)
				}
			})

			// A newer CLI reads them from its input, an older one from its arguments.
			t.Run("MCP servers and plugins", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				plugin := t.TempDir()
				if err := os.MkdirAll(filepath.Join(plugin, ".claude-plugin"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(plugin, ".claude-plugin", "plugin.json"), []byte(`{"name":"tools-of-a-plugin","version":"1.0.0"}`), 0o600); err != nil {
					t.Fatal(err)
				}
				o.MCPServers = map[string]claude.MCPServerConfig{"elicitor": claude.StdioServer{Command: exe, Args: []string{mcpServer}}}
				o.Plugins, o.StrictMCPConfig, o.AllowedTools = []claude.Plugin{{Path: plugin}}, true, []string{"mcp__elicitor__elicit"}
				o.Elicitation = func(context.Context, claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
					return claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
				}
				loaded, text := false, ""
				for m, err := range claude.Query(t.Context(), script(`[[{"tool":"mcp__elicitor__elicit","input":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}],[{"text":"{{last_tool_result}}"}]]`), o) {
					if err != nil {
						t.Fatal(err)
					}
					switch m := m.(type) {
					case *claude.SystemInit:
						loaded = slices.ContainsFunc(m.Plugins, func(p claude.PluginInfo) bool { return p.Name == "tools-of-a-plugin" })
					case *claude.Result:
						text = m.Text
					}
				}
				if !strings.Contains(text, "Ada") || !loaded {
					t.Errorf("got %q, the plugin is loaded: %v", text, loaded)
				}
			})

			t.Run("appended system prompt", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				model := scriptedmodel.Start(t, scriptedmodel.Options{})
				o.Environ, o.AppendSystemPrompt = model.Environ(t.TempDir()), "Speak like a sailor."
				if _, err := claude.Ask(t.Context(), script(`[[{"text":"ahoy"}]]`), o); err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(model.Model().Requests(), func(r scriptedmodel.Request) bool {
					return len(r.Tools) > 0 && strings.Contains(string(r.Body), "Speak like a sailor.")
				}) {
					t.Error("the model did not get it")
				}
			})

			t.Run("end of the session", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				client, err := claude.Start(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				run := make(chan error, 1)
				go func() { run <- client.Run(t.Context()) }()
				if _, err := client.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := client.EndSession(t.Context(), "done"); err != nil {
					t.Error(err)
				}
				if err := <-run; err != nil {
					t.Error(err)
				}
			})

			// The agent still works when the time is over.
			t.Run("background agent over its time", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				o.BackgroundWait, o.AllowedTools = time.Second, []string{"Bash"}
				_, err := claude.Ask(t.Context(), script(`[[{"tool":"Agent","input":{"description":"d","subagent_type":"general-purpose","prompt":"go","run_in_background":true},"script":[[{"tool":"Bash","input":{"command":"tail -f /dev/null"}}],[{"text":"agent done"}]]}],[{"text":"started"}],[{"text":"woken"}]]`), o)
				var background *claude.BackgroundError
				if !errors.As(err, &background) || len(background.Tasks) == 0 {
					t.Errorf("got %v, want a BackgroundError", err)
				}
			})

			// The turn ends at once, the agent asks afterwards, and its end wakes the CLI.
			t.Run("background agent", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				var tasks claude.Tasks
				var afterResult bool
				results := 0
				agents := make(chan string, 10)
				o.CanUseTool = func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
					agents <- r.AgentID
					return claude.Allow(), nil
				}
				for m, err := range claude.Query(t.Context(), script(`[[{"tool":"Agent","input":{"description":"d","subagent_type":"general-purpose","prompt":"go","run_in_background":true},"script":[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"agent done"}]]}],[{"text":"{{tool_results}}"}],[{"text":"woken"}]]`), o) {
					if err != nil {
						t.Fatal(err)
					}
					tasks.Apply(m)
					if _, ok := m.(*claude.Result); ok {
						results++
						afterResult = afterResult || len(tasks.Running()) > 0
					}
				}
				if _, err := os.Stat(filepath.Join(o.Dir, "made")); err != nil || len(agents) != 1 || <-agents == "" {
					t.Errorf("the agent has not run: %v, asked %d times", err, len(agents))
				}
				if results < 2 || !afterResult {
					t.Errorf("%d results, an agent ran after one: %v", results, afterResult)
				}
			})

			// The turn ends without running the tool. When the session is resumed, the hook is
			// asked again.
			t.Run("deferred tool", func(t *testing.T) {
				t.Parallel()
				o, _ := realOptions(t, path)
				permission := claude.HookDefer
				o.Hooks = []claude.Hook{{Event: claude.EventPreToolUse, Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) {
					return claude.HookOutput{Permission: permission}, nil
				}}}
				r, err := claude.Ask(t.Context(), script(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"done"}]]`), o)
				if err != nil {
					t.Fatal(err)
				}
				if d, ok := r.Deferred(); !ok || d.Name != "Bash" {
					t.Fatalf("got %+v", r)
				}
				permission, o.Resume = claude.HookAllow, r.SessionID
				var last *claude.Result
				for m, err := range claude.Continue(t.Context(), o) {
					if errors.Is(err, claude.ErrTooOld) && version == "2.1.197" {
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if r, ok := m.(*claude.Result); ok {
						last = r
					}
				}
				if _, err := os.Stat(filepath.Join(o.Dir, "made")); err != nil || last == nil || last.Text != "done" {
					t.Errorf("the tool has not run: %v, %+v", err, last)
				}
			})
		})
	}
}

func TestRealCLIIsNotSignedIn(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, _ := realOptions(t, realCLI(t, variable, version))
			o.Environ = slices.DeleteFunc(o.Environ, func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_") })
			if _, err := claude.Ask(t.Context(), "hello", o); !errors.Is(err, claude.ErrNotSignedIn) {
				t.Errorf("got %v, want ErrNotSignedIn", err)
			}
		})
	}
}
