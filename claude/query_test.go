package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// scriptedOptions returns options for a scripted CLI, and the path of its record.
func scriptedOptions(t *testing.T, script claudetest.Script) (claude.Options, string) {
	t.Helper()
	path, record := claudetest.Program(t, script)
	return claude.Options{Path: path, Dir: t.TempDir()}, record
}

func collect(t *testing.T, ctx context.Context, prompt string, o claude.Options) (kinds []string, err error) {
	t.Helper()
	for m, e := range claude.Query(ctx, prompt, o) {
		if e != nil {
			err = e
			continue
		}
		switch m := m.(type) {
		case *claude.Assistant:
			if m.Text() != "" {
				kinds = append(kinds, "text: "+m.Text())
			}
		case *claude.Result:
			kinds = append(kinds, "result "+m.Subtype)
		}
	}
	return kinds, err
}

func TestQueryReturnsTheMessagesUpToTheEnd(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{{Text: "one"}, {Text: "two"}}})
	got, err := collect(t, t.Context(), "hello", o)
	if want := []string{"text: one", "text: two", "result success"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q %v, want %q", got, err, want)
	}
	var kinds []string
	for _, r := range claudetest.ReadRecords(t, record) {
		kinds = append(kinds, r.Kind)
	}
	if want := []string{"start", "initialize", "user", "eof", "exit"}; !slices.Equal(kinds, want) {
		t.Errorf("the CLI saw %q, want %q", kinds, want)
	}
}

// Nothing may be allowed without a decision.
func TestQueryDeniesWithoutACallback(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "touch made"}}, Run: true}, {Text: "{{last_tool_result}}"},
	}})
	got, err := collect(t, t.Context(), "hello", o)
	if err != nil || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "Nobody can be asked") }) {
		t.Errorf("got %q %v, want a refusal", got, err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "made")); err == nil {
		t.Error("the tool ran")
	}
}

func TestQueryAsks(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "touch made"}}, Run: true},
	}})
	o.CanUseTool = func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		if r.ToolName != "Bash" {
			return claude.Deny("no"), nil
		}
		return claude.Allow(), nil
	}
	if _, err := collect(t, t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "made")); err != nil {
		t.Error("the allowed tool did not run")
	}
}

func TestQueryEndsWithTheLoop(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{{Text: "one"}, {Silent: true}}})
	for m, err := range claude.Query(t.Context(), "hello", o) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*claude.Assistant); ok {
			break
		}
	}
	records := claudetest.ReadRecords(t, record)
	if last := records[len(records)-1]; last.Kind != "exit" {
		t.Errorf("the CLI still runs: %v", last)
	}
	if slices.ContainsFunc(records, func(r claudetest.Record) bool { return r.Kind == "eof" }) {
		t.Error("its input ended during a turn, so that it would have gone on without questions")
	}
}

func TestQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{}}}}})
	var cause error
	o.CanUseTool = func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
		cancel(errBoom)
		<-ctx.Done()
		cause = context.Cause(ctx)
		return claude.Allow(), nil
	}
	if _, err := collect(t, ctx, "hello", o); !errors.Is(err, errBoom) || !errors.Is(cause, claude.ErrClosed) {
		t.Errorf("got %v, and the callback %v; want the cause and ErrClosed", err, cause)
	}
}

func TestErrorsOfAQuery(t *testing.T) {
	t.Parallel()
	exit := 3
	// As the real CLI does: its state after the result, then status 1.
	result := func(fields string) []claudetest.Step {
		return []claudetest.Step{{Raw: `{"type":"result","is_error":true,` + fields + `}`}, {Raw: `{"type":"system","subtype":"session_state_changed","state":"idle"}`}, {Exit: new(1)}}
	}
	plain := func(script claudetest.Script) claude.Options {
		o, _ := scriptedOptions(t, script)
		return o
	}
	old := plain(claudetest.Script{})
	old.MinVersion = "99.0.0"
	notSigned := []claudetest.Step{{Raw: `{"type":"assistant","error":"authentication_failed","message":{"content":[]}}`}}
	folder := plain(claudetest.Script{})
	folder.Dir = filepath.Join(folder.Dir, "missing")
	for name, test := range map[string]struct {
		options claude.Options
		want    error
		text    string
	}{
		"not found":       {claude.Options{Path: filepath.Join(t.TempDir(), "claude")}, claude.ErrCLIMissing, "does not exist"},
		"no folder":       {folder, claude.ErrFolderMissing, "folder to work in"},
		"invalid":         {claude.Options{Path: "/bin/true", Model: "--x"}, claude.ErrLaunch, "model"},
		"too old":         {old, claude.ErrTooOld, "99.0.0 or newer"},
		"not signed in":   {plain(claudetest.Script{Turn: append(notSigned, result(`"subtype":"success","result":"Not logged in"`)...)}), claude.ErrNotSignedIn, "Not logged in"},
		"turns used up":   {plain(claudetest.Script{Turn: result(`"subtype":"error_max_turns"`)}), claude.ErrLimit, "error max turns"},
		"budget used up":  {plain(claudetest.Script{Turn: result(`"subtype":"error_max_budget_usd","errors":["over budget"]`)}), claude.ErrLimit, "over budget"},
		"agent goes on":   {plain(claudetest.Script{Turn: append([]claudetest.Step{agentStarts}, result(`"subtype":"error_max_turns"`)...)}), claude.ErrLimit, "error max turns"},
		"throttled":       {plain(claudetest.Script{Turn: result(`"subtype":"success","api_error_status":429,"result":"API Error: 429"`)}), claude.ErrLimit, "429"},
		"exit at start":   {plain(claudetest.Script{Start: []claudetest.Step{{Stderr: "unknown flag"}, {Exit: &exit}}}), nil, "status 3: unknown flag"},
		"exit in a turn":  {plain(claudetest.Script{Turn: []claudetest.Step{{Stderr: "out of memory"}, {Exit: &exit}}}), nil, "out of memory"},
		"exit after one":  {plain(claudetest.Script{Turn: []claudetest.Step{agentStarts, {Raw: `{"type":"result","subtype":"success"}`}, {Stderr: "out of memory"}, {Exit: &exit}}}), nil, "out of memory"},
		"refuses to init": {plain(claudetest.Script{Start: []claudetest.Step{{Reply: &claudetest.Reply{Subtype: "initialize", Error: "no"}}}}), nil, "refused initialize"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := collect(t, t.Context(), "hello", test.options)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v with %q", err, test.want, test.text)
			}
			var exited *claude.ExitError
			if strings.HasPrefix(name, "exit") && (!errors.As(err, &exited) || exited.Status != exit || exited.Stderr == "") {
				t.Errorf("got %#v, want an ExitError", err)
			}
		})
	}
}

func TestErrProtocolCoversItsKinds(t *testing.T) {
	t.Parallel()
	_, err := claude.Decode([]byte("[1]"))
	if !errors.Is(err, claude.ErrProtocol) || !errors.Is(err, claude.ErrMalformed) || errors.Is(err, claude.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if !errors.Is(claude.ErrReusedAnswered, claude.ErrProtocol) {
		t.Error("ErrReusedAnswered is no ErrProtocol")
	}
}

func TestTurnsOfOneSession(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{})
	var log strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := claude.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(t.Context()) }()
	if hello, err := client.Ready(t.Context()); err != nil || len(hello.Models) == 0 {
		t.Errorf("Ready: got %v %v", hello, err)
	}
	for _, prompt := range []string{"first", "second"} {
		var said string
		for m, err := range client.Turn(t.Context(), claude.UserMessage{Text: prompt}) {
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := m.(*claude.Assistant); ok {
				said += a.Text()
				for _, err := range client.Turn(t.Context(), claude.UserMessage{Text: "at once"}) {
					if !errors.Is(err, claude.ErrBusy) {
						t.Errorf("a second turn: got %v, want ErrBusy", err)
					}
				}
			}
		}
		if said != "You said: "+prompt {
			t.Errorf("got %q", said)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := <-run; err != nil {
		t.Errorf("Run: got %v, want nil after Close", err)
	}
	for _, err := range client.Turn(t.Context(), claude.UserMessage{Text: "late"}) {
		if !errors.Is(err, claude.ErrClosed) {
			t.Errorf("a turn after the end: got %v, want ErrClosed", err)
		}
	}
	if !strings.Contains(log.String(), "started the CLI") || !strings.Contains(log.String(), "the CLI has ended") {
		t.Errorf("log: %s", log.String())
	}
}

// When a background agent ends, the CLI starts a turn that is not that of the prompt.
func TestTurnEndsWithItsOwnResult(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		"":                  {"first"}, // of an older CLI
		"human":             {"first"},
		"task-notification": {"first", "the answer"},
		"peer":              {"first", "the answer"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{
				{Raw: `{"type":"result","subtype":"success","result":"first","origin":{"kind":"` + kind + `"}}`}, {Text: "the answer"},
			}})
			client, err := claude.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			run := make(chan error, 1)
			go func() { run <- client.Run(t.Context()) }()
			var results []string
			for m, err := range client.Turn(t.Context(), claude.UserMessage{Text: "hello"}) {
				if err != nil {
					t.Error(err)
				}
				if r, ok := m.(*claude.Result); ok {
					results = append(results, r.Text)
				}
			}
			if !slices.Equal(results, want) {
				t.Errorf("got the results %q, want %q", results, want)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if err := <-run; err != nil {
				t.Errorf("Run: got %v, want nil after Close", err)
			}
		})
	}
}

func TestCloseBeforeRunEndsTheCLI(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{})
	client, err := claude.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-client.Process().Done():
	default:
		t.Error("the CLI still runs")
	}
}

// agentStarts begins a background agent.
var agentStarts = claudetest.Step{Raw: `{"type":"system","subtype":"task_started","task_id":"a","task_type":"local_agent","is_backgrounded":true}`}

// A background agent goes on after the result of its turn, and wakes the CLI. A command in the
// background may run for ever.
func TestQueryWaitsForBackgroundAgents(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]claudetest.Step{
		"told by tasks": {
			agentStarts,
			{Raw: `{"type":"result","subtype":"success","result":"first"}`},
			{Raw: `{"type":"system","subtype":"task_notification","task_id":"a","status":"completed"}`},
		},
		"a command": {
			{Raw: `{"type":"system","subtype":"task_started","task_id":"s","task_type":"local_bash","is_backgrounded":true}`},
			{Raw: `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"s","task_type":"local_bash"},{"task_id":"m","task_type":"monitor_mcp"}]}`},
		},
		"told by the state": {
			{Raw: `{"type":"system","subtype":"session_state_changed","state":"running"}`},
			{Raw: `{"type":"result","subtype":"success","result":"first"}`},
			{Raw: `{"type":"system","subtype":"session_state_changed","state":"running"}`},
			{Text: "the agent has ended"},
			{Raw: `{"type":"result","subtype":"success","result":"second"}`},
			{Raw: `{"type":"system","subtype":"session_state_changed","state":"idle"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := scriptedOptions(t, claudetest.Script{Turn: steps})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			got, err := collect(t, ctx, "hello", o)
			// The scripted CLI ends each turn with a result of its own.
			results := 0
			for _, k := range got {
				if strings.HasPrefix(k, "result") {
					results++
				}
			}
			if want := map[string]int{"told by tasks": 2, "told by the state": 3, "a command": 1}[name]; err != nil || results != want {
				t.Errorf("got %q %v, want %d results", got, err, want)
			}
		})
	}
}

func TestAskReturnsTheResult(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{{Raw: `{"type":"result","subtype":"success","result":"42","structured_output":{"n":42}}`}, {Exit: new(int)}}})
	r, err := claude.Ask(t.Context(), "hello", o)
	var out struct{ N int }
	if err != nil || r.Text != "42" || json.Unmarshal(r.StructuredOutput, &out) != nil || out.N != 42 {
		t.Errorf("got %+v %v", r, err)
	}
}

func TestStartedCLIGetsTheEnvironment(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("NODE_OPTIONS", "--inspect")
	t.Setenv("OF_THE_PERSON", "kept")
	t.Setenv("CHANGED", "before")
	environ := func(o claude.Options, record string) []string {
		o.Env = map[string]string{"CHANGED": "after"}
		o.FileCheckpoints = true
		if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
			t.Fatal(err)
		}
		return claudetest.ReadRecords(t, record)[0].Env
	}
	o, record := scriptedOptions(t, claudetest.Script{})
	got := environ(o, record)
	for _, want := range []string{"CLAUDE_CODE_ENTRYPOINT=sdk-go", "OF_THE_PERSON=kept", "CHANGED=after", "PWD=" + o.Dir, claude.FileCheckpoints + "=true"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, kv := range got {
		if strings.HasPrefix(kv, "CLAUDECODE=") || strings.HasPrefix(kv, "NODE_OPTIONS=") {
			t.Errorf("%s was inherited", kv)
		}
	}
	o, record = scriptedOptions(t, claudetest.Script{})
	o.Environ = []string{"PATH=" + os.Getenv("PATH")}
	if got := environ(o, record); slices.Contains(got, "OF_THE_PERSON=kept") || !slices.Contains(got, "CHANGED=after") {
		t.Errorf("the environment was not replaced: %q", got)
	}
}

func TestInitializeHasTheOptions(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{})
	o.SystemPrompt, o.FreshSystemPrompt, o.Title, o.Skills = "Be brief.", true, "A title", []string{"review"}
	o.Agents = map[string]claude.Agent{"checker": {Description: "Checks", Prompt: "Check."}}
	o.ForwardSubagentText, o.PromptSuggestions, o.PerTaskStop, o.AgentProgressSummaries = true, true, true, true
	o.ToolAliases, o.PlanModeInstructions, o.SupportedDialogKinds = map[string]string{"Bash": "mcp__x__run"}, "Plan.", []string{"k"}
	o.MCPServers = map[string]claude.MCPServerConfig{"local": claude.LocalServer{Timeout: 5e9, Serve: func(ctx context.Context, _ claude.MCPConn) error {
		<-ctx.Done()
		return nil
	}}}
	if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	for _, r := range claudetest.ReadRecords(t, record) {
		if r.Kind != "initialize" {
			continue
		}
		for _, want := range []string{
			`"systemPrompt":["Be brief."]`, `"systemPromptSnapshot":false`, `"title":"A title"`, `"skills":["review"]`, `"agents":{"checker":{"description":"Checks","prompt":"Check."}}`,
			`"forwardSubagentText":true`, `"promptSuggestions":true`, `"perTaskStopAffordance":true`, `"agentProgressSummaries":true`,
			`"toolAliases":{"Bash":"mcp__x__run"}`, `"planModeInstructions":"Plan."`, `"supportedDialogKinds":["k"]`,
			`"sdkMcpServers":["local"]`, `"sdkMcpServerConfigs":{"local":{"timeout":5000}}`,
		} {
			if !strings.Contains(string(r.Line), want) {
				t.Errorf("%s is missing in %s", want, r.Line)
			}
		}
		var line struct{ Request json.RawMessage }
		if err := json.Unmarshal(r.Line, &line); err != nil {
			t.Fatal(err)
		}
		if unknown := unknownToTheSchema(t, readSchema(t), string(line.Request)); len(unknown) > 0 {
			t.Errorf("not in the schema: %q", unknown)
		}
		return
	}
	t.Error("the CLI was not initialized")
}

// What other users of the host could read in the command line goes over the input of a newer CLI.
func TestMCPServersStayOutOfTheCommandLine(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{})
	o.MCPServers = map[string]claude.MCPServerConfig{
		"here":  claude.StdioServer{Command: "srv", Env: map[string]string{"TOKEN": "t0p"}},
		"there": claude.HTTPServer{URL: "https://y", Headers: map[string]string{"Authorization": "t0p"}},
	}
	o.Plugins = []claude.Plugin{{Path: "/plugins/a"}, {Path: "/plugins/b", SkipMCPDiscovery: true}}
	o.AppendSystemPrompt = "The password is t0p."
	if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	for _, r := range claudetest.ReadRecords(t, record) {
		switch r.Kind {
		case "start":
			if args := strings.Join(r.Args, " "); strings.Contains(args, "t0p") || strings.Contains(args, "--plugin-dir") || !strings.Contains(args, "--await-initialize") {
				t.Errorf("the arguments are %s", args)
			}
		case "initialize":
			for _, want := range []string{
				`"here":{"command":"srv","env":{"TOKEN":"t0p"},"type":"stdio"}`, `"there":{"headers":{"Authorization":"t0p"},"type":"http","url":"https://y"}`,
				`"plugins":[{"type":"local","path":"/plugins/a"},{"type":"local","path":"/plugins/b","skipMcpDiscovery":true}]`, `"appendSystemPrompt":"The password is t0p."`,
			} {
				if !strings.Contains(string(r.Line), want) {
					t.Errorf("%s is missing in %s", want, r.Line)
				}
			}
		}
	}
}

// A CLI that did not take the servers would go on without them.
func TestQueryFailsWithoutItsMCPServers(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]map[string]any{"refused": {"mcp_servers_applied": false}, "unknown": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, record := scriptedOptions(t, claudetest.Script{Start: []claudetest.Step{{Reply: &claudetest.Reply{Subtype: "initialize", Response: response}}}})
			o.MCPServers = map[string]claude.MCPServerConfig{"here": claude.StdioServer{Command: "srv"}}
			if _, err := claude.Ask(t.Context(), "hello", o); err == nil || !strings.Contains(err.Error(), "MCP servers") {
				t.Errorf("got %v", err)
			}
			if got := kinds(t, record); slices.Contains(got, "user") {
				t.Errorf("the CLI got the prompt: %q", got)
			}
		})
	}
}

// A host that is told of stderr badly must not stop the reading of it, which would hold the CLI.
func TestStderrIsPassedOn(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{{Stderr: "one"}, {Text: "x"}, {StderrFlood: 200_000}, {Stderr: "the end"}}})
	var log, got strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Stderr = func(text []byte) {
		got.Write(text)
		panic("ouch")
	}
	if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	if text := got.String(); len(text) < 200_000 || !strings.HasPrefix(text, "one\n") || !strings.HasSuffix(text, "the end\n") {
		t.Errorf("got %d bytes", len(text))
	}
	if !strings.Contains(log.String(), "panicked: ouch") {
		t.Errorf("log: %s", log.String())
	}
}

// TestCLIThatDoesNotObey takes as long as the CLI is given: 10 s to end, and 2 minutes for its
// answer to initialize.
func TestCLIThatDoesNotObey(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // it waits, and runs in make test-all
	}
	t.Parallel()
	t.Run("to end", func(t *testing.T) {
		t.Parallel()
		o, record := scriptedOptions(t, claudetest.Script{Start: []claudetest.Step{{Stubborn: true}}})
		if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
			t.Error(err)
		}
		if records := claudetest.ReadRecords(t, record); records[len(records)-1].Kind == "exit" {
			t.Error("it ended by itself")
		}
	})
	t.Run("to begin", func(t *testing.T) {
		t.Parallel()
		o, _ := scriptedOptions(t, claudetest.Script{Start: []claudetest.Step{{Reply: &claudetest.Reply{Subtype: "initialize", Never: true}}}})
		if _, err := claude.Ask(t.Context(), "hello", o); err == nil || !strings.Contains(err.Error(), "did not answer initialize") {
			t.Errorf("got %v", err)
		}
	})
}
