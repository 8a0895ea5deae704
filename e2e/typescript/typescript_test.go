// Package typescript compares what package claude and the official TypeScript SDK send to a scripted
// CLI.
package typescript_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/claude/tool"
)

const (
	sdk  = "node_modules/@anthropic-ai/claude-agent-sdk"
	page = "../../docs/sdk/typescript.md"
	id   = "11111111-2222-4333-8444-555555555555"
)

// scenario is what both hosts do with a CLI.
type scenario struct {
	start   []claudetest.Step
	turn    []claudetest.Step
	options claude.Options
	run     func(ctx context.Context, o claude.Options) error // one query if nil
}

// request is a step that sends a control request and waits for the answer.
func request(subtype string, fields map[string]any) claudetest.Step {
	all := map[string]any{"subtype": subtype}
	maps.Copy(all, fields)
	return claudetest.Step{Request: all}
}

func ask(toolUseID string) claudetest.Step {
	return claudetest.Step{Ask: map[string]any{
		"tool_name": "Bash", "input": map[string]any{"command": "ls"}, "tool_use_id": toolUseID,
		"permission_suggestions": []any{map[string]any{"type": "addRules", "behavior": "allow", "destination": "session", "rules": []any{map[string]any{"toolName": "Bash", "ruleContent": "ls"}}}},
	}}
}

func decide(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
	switch r.ToolUseID {
	case "toolu_same":
		return claude.Allow(), nil
	case "toolu_changed":
		return claude.ToolDecision{Allow: true, UpdatedInput: json.RawMessage(`{"command":"ls -l"}`)}, nil
	case "toolu_granted":
		return claude.ToolDecision{Allow: true, Grant: r.Suggestions(), Classification: "user_permanent"}, nil
	case "toolu_denied":
		return claude.Deny("not today"), nil
	case "toolu_failed":
		return claude.ToolDecision{}, errors.New("out of order")
	}
	return claude.ToolDecision{Message: "stop", Interrupt: true}, nil
}

// scenarios are those of drive.mjs. hook is the id of a host's hook with a number.
func scenarios(hook func(n int) string) map[string]scenario {
	type city struct {
		City string `json:"city"`
	}
	elicitation := request("elicitation", map[string]any{"mcp_server_name": "s", "message": "Who?", "mode": "form", "requested_schema": map[string]any{"type": "object"}})
	dialog := request("request_user_dialog", map[string]any{"dialog_kind": "k", "payload": map[string]any{}})
	return map[string]scenario{
		"prompt": {},
		"decisions": {
			turn:    []claudetest.Step{ask("toolu_same"), ask("toolu_changed"), ask("toolu_granted"), ask("toolu_denied"), ask("toolu_failed"), ask("toolu_interrupted")},
			options: claude.Options{CanUseTool: decide},
		},
		"nobody": {turn: []claudetest.Step{ask("toolu_nobody")}},
		"model": {options: claude.Options{
			Model: "opus", FallbackModel: "sonnet", Betas: []string{"context-1m-2025-08-07"}, Effort: "high", Thinking: claude.Thinking{Type: "enabled", BudgetTokens: 2000},
			MaxTurns: 3, MaxBudgetUSD: 1.5, TaskBudget: 5000, OutputSchema: json.RawMessage(`{"type":"object"}`),
			SystemPrompt: "Be brief.", PlanModeInstructions: "Plan.", Title: "A title", PromptSuggestions: true, AgentProgressSummaries: true, ForwardSubagentText: true,
			IncludePartialMessages: true, IncludeHookEvents: true,
		}},
		"appended": {options: claude.Options{AppendSystemPrompt: "Be brief.", ExcludeDynamicSections: true, FreshSystemPrompt: true}},
		"tools": {options: claude.Options{
			PermissionMode: "acceptEdits", AllowedTools: []string{"Bash(ls *)", "Read"}, DisallowedTools: []string{"WebFetch"}, Tools: []string{"Bash", "Read"}, ToolAliases: map[string]string{"Bash": "mcp__x__run"},
			AddDirs: []string{"/tmp"}, SettingSources: []string{"project"}, Settings: json.RawMessage(`{"model":"opus"}`), ManagedSettings: json.RawMessage(`{"permissions":{"deny":["WebSearch"]}}`),
			Skills: []string{"review"}, Agents: map[string]claude.Agent{"checker": {Description: "Checks", Prompt: "Check.", Tools: []string{"Read"}, Model: "haiku"}}, PerTaskStop: true,
			FileCheckpoints: true, NoPrompts: true, ExtraArgs: []string{"--workload=x"},
		}},
		"servers": {options: claude.Options{
			MCPServers: map[string]claude.MCPServerConfig{
				"here":  claude.StdioServer{Command: "srv", Args: []string{"-v"}, Env: map[string]string{"TOKEN": "t"}},
				"there": claude.HTTPServer{URL: "https://there.example", Headers: map[string]string{"A": "b"}},
			},
			StrictMCPConfig: true, Plugins: []claude.Plugin{{Path: "/plugins/a"}, {Path: "/plugins/b", SkipMCPDiscovery: true}},
		}},
		"resumed": {options: claude.Options{Resume: id, Fork: true, ResumeAt: id}},
		"named":   {options: claude.Options{SessionID: id, NoPersistence: true}},
		"hooks": {
			turn: []claudetest.Step{
				request("hook_callback", map[string]any{"callback_id": hook(0), "tool_use_id": "toolu_1", "input": map[string]any{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": map[string]any{}}}),
				request("hook_callback", map[string]any{"callback_id": hook(1), "input": map[string]any{"hook_event_name": "Stop"}}),
			},
			options: claude.Options{Hooks: []claude.Hook{
				{Event: claude.EventPreToolUse, Matcher: "Bash", Timeout: 5e9, Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) {
					return claude.HookOutput{Permission: claude.HookDeny, PermissionReason: "no"}, nil
				}},
				{Event: claude.EventStop, Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) {
					return claude.HookOutput{Block: true, Reason: "go on"}, nil
				}},
			}},
		},
		"server": {
			turn: []claudetest.Step{request("mcp_message", map[string]any{"server_name": "local", "message": map[string]any{
				"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{"name": "greet", "arguments": map[string]any{"city": "Bonn"}},
			}})},
			options: claude.Options{MCPServers: map[string]claude.MCPServerConfig{"local": tool.Server("local", tool.New("greet", "Greets.", func(_ context.Context, in city) (string, error) {
				return "Hello " + in.City, nil
			}))}},
		},
		"questions": {
			turn: []claudetest.Step{elicitation, dialog},
			options: claude.Options{
				SupportedDialogKinds: []string{"k"},
				Elicitation: func(context.Context, claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
					return claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
				},
				UserDialog: func(context.Context, claude.UserDialogRequest) (json.RawMessage, error) {
					return json.RawMessage(`{"chosen":1}`), nil
				},
			},
		},
		"unanswered": {turn: []claudetest.Step{
			// Without a handler, the TypeScript SDK does not answer this one.
			{Raw: `{"type":"control_request","request_id":"dialog","request":{"subtype":"request_user_dialog","dialog_kind":"k","payload":{}}}`},
			elicitation, request("hook_callback", map[string]any{"callback_id": "none", "input": map[string]any{}}),
			request("mcp_message", map[string]any{"server_name": "none", "message": map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}), request("brand_new", nil),
		}},
		"controls": {run: controls, start: answers},
	}
}

// answers are steps after which the scripted CLI answers all requests of controls.
var answers = func() (steps []claudetest.Step) {
	none := map[string]any{}
	for subtype, response := range map[string]map[string]any{
		"update_settings": none, "set_mcp_permission_mode_override": none, "get_context_usage": none, "read_file": none, "reload_plugins": none, "reload_skills": none,
		"reload_output_styles": none, "rewind_files": none, "seed_read_state": none, "stop_task": none, "mcp_status": {"mcpServers": []any{}}, "mcp_read_resource": {"contents": []any{}},
		"mcp_set_servers": {"added": []any{}, "removed": []any{}, "errors": none}, "background_tasks": {"backgrounded": true},
	} {
		steps = append(steps, claudetest.Step{Reply: &claudetest.Reply{Subtype: subtype, Response: response}})
	}
	return steps
}()

// controls makes the requests that both SDKs have, between turns.
func controls(ctx context.Context, o claude.Options) error {
	c, err := claude.Start(ctx, o)
	if err != nil {
		return err
	}
	run := make(chan error, 1)
	go func() { run <- c.Run(ctx) }()
	var failed error
	for _, err := range c.Turn(ctx, claude.UserMessage{Text: "hello"}) {
		failed = errors.Join(failed, err)
	}
	no := func(_ any, err error) error { return err }
	for _, err := range []error{
		c.SetPermissionMode(ctx, "plan"), c.SetModel(ctx, "opus"), c.SetModel(ctx, ""), c.SetThinking(ctx, 1000, ""),
		c.ApplySettings(ctx, map[string]any{"model": "opus"}), c.UpdateSettings(ctx, "userSettings", map[string]any{"a": 1}),
		no(c.SetMCPPermissionMode(ctx, "s", "default")), no(c.ContextUsage(ctx)), no(c.ReadFile(ctx, "f", 5, "base64")),
		no(c.ReloadPlugins(ctx, nil, false)), no(c.ReloadSkills(ctx)), no(c.ReloadOutputStyles(ctx)), no(c.RewindFiles(ctx, id, true)),
		c.SeedReadState(ctx, "f", 5), no(c.MCPStatus(ctx)), c.ReconnectMCP(ctx, "s"), c.ToggleMCP(ctx, "s", false), no(c.ReadMCPResource(ctx, "s", "ui://x")),
		no(c.SetMCPServers(ctx, map[string]claude.MCPServerConfig{"s": claude.HTTPServer{URL: "https://s.example"}})),
		c.StopTask(ctx, "t"), c.Background(ctx, "toolu_1"), c.Interrupt(ctx), no(c.Initialize(ctx, o.InitializeRequest())),
	} {
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, c.Close(), <-run)
}

// TestSameAsTypeScript drives scripted CLIs with both. They send the same, but for what the page for
// people who know the TypeScript SDK lists with a reason.
func TestSameAsTypeScript(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // it needs the SDK from npm, and takes seconds
	}
	if _, err := os.Stat(sdk); err != nil {
		t.Fatal("the TypeScript SDK is not installed; type: make setup SAYSO_TEST_ALL=1")
	}
	ours := scenarios(func(n int) string { return "hook-" + strconv.Itoa(n) })
	theirs := scenarios(func(n int) string { return "hook_" + strconv.Itoa(n) })
	found := make(chan map[difference]string, len(ours))
	t.Run("scenarios", func(t *testing.T) {
		for name := range ours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				found <- compare(driveGo(t, ours[name]), driveTypeScript(t, name, theirs[name]), name)
			})
		}
	})
	close(found)
	all := map[difference]string{}
	for f := range found {
		maps.Copy(all, f)
	}
	listed := listedDifferences(t)
	for _, d := range slices.SortedFunc(maps.Keys(all), difference.compare) {
		if !listed[d] {
			t.Errorf("new in %s, list it in docs/sdk/typescript.md or mend it:\n%s", all[d], d.row())
		}
	}
	for _, d := range slices.SortedFunc(maps.Keys(listed), difference.compare) {
		if _, still := all[d]; !still {
			t.Errorf("no difference any more, remove it from docs/sdk/typescript.md:\n%s", d.row())
		}
	}
}

// difference is a row of the page, without its reason.
type difference struct{ what, ours, theirs string }

func (d difference) compare(other difference) int {
	return cmp.Or(cmp.Compare(d.what, other.what), cmp.Compare(d.ours, other.ours), cmp.Compare(d.theirs, other.theirs))
}

func (d difference) row() string {
	cell := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
	}
	return fmt.Sprintf("| %s | %s | %s | why |", cell(d.what), cell(d.ours), cell(d.theirs))
}

func listedDifferences(t *testing.T) map[difference]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[difference]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]*)`)? ?\\| (?:`([^`]*)`)? ?\\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		if len(strings.TrimSpace(m[4])) < 10 {
			t.Errorf("%s has no reason", m[1])
		}
		listed[difference{unescape(m[1]), unescape(m[2]), unescape(m[3])}] = true
	}
	return listed
}

func unescape(cell string) string { return strings.ReplaceAll(cell, `\|`, "|") }

func compare(ours, theirs map[string]string, name string) map[difference]string {
	all := map[difference]string{}
	for what := range ours {
		if ours[what] != theirs[what] {
			all[difference{what, ours[what], theirs[what]}] = name
		}
	}
	for what := range theirs {
		if _, both := ours[what]; !both {
			all[difference{what, "", theirs[what]}] = name
		}
	}
	return all
}

// environ is what both hosts inherit.
func environ() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} }

func driveGo(t *testing.T, s scenario) map[string]string {
	t.Helper()
	path, record := claudetest.Program(t, claudetest.Script{Start: s.start, Turn: s.turn})
	o := s.options
	o.Path, o.Dir, o.Environ = path, t.TempDir(), environ()
	if o.SettingSources == nil {
		o.SettingSources = []string{}
	}
	run := s.run
	if run == nil {
		run = func(ctx context.Context, o claude.Options) error {
			_, err := claude.Ask(ctx, "hello", o)
			return err
		}
	}
	if err := run(t.Context(), o); err != nil {
		t.Logf("the query ended with %v", err)
	}
	return sent(t, record, o.Dir, s.turn)
}

func driveTypeScript(t *testing.T, name string, s scenario) map[string]string {
	t.Helper()
	path, record := claudetest.Program(t, claudetest.Script{Start: s.start, Turn: s.turn})
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "node", "drive.mjs", name, path, dir)
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	} else if len(out) > 0 {
		t.Logf("TypeScript: %s", out)
	}
	return sent(t, record, dir, s.turn)
}

// sent returns what a host sent to its CLI, by what it is, without what differs each time.
func sent(t *testing.T, record, dir string, turn []claudetest.Step) map[string]string {
	t.Helper()
	records := claudetest.ReadRecords(t, record)
	i := slices.IndexFunc(records, func(r claudetest.Record) bool { return r.Kind == "initialize" })
	if i < 0 {
		t.Fatalf("the CLI was not initialized: %+v", records)
	}
	all := map[string]string{}
	users, requests := 0, 0
	asked := map[string]int{}
	var end []string
	var steps []string // what the script asks for, in order
	for _, s := range turn {
		if s.Ask != nil {
			steps = append(steps, s.Ask["tool_use_id"].(string))
		} else if s.Request != nil {
			steps = append(steps, s.Request["subtype"].(string))
		}
	}
	open := map[string]string{}
	for _, r := range records {
		var line struct {
			Request  map[string]json.RawMessage `json:"request"`
			Response map[string]json.RawMessage `json:"response"`
		}
		if r.Line != nil {
			if err := json.Unmarshal(r.Line, &line); err != nil {
				t.Fatal(err)
			}
		}
		switch r.Kind {
		case "start":
			arguments(all, r.Args)
			for _, kv := range r.Env {
				name, value, _ := strings.Cut(kv, "=")
				if (strings.HasPrefix(name, "CLAUDE") || strings.HasPrefix(name, "BUN_") || name == "PWD") && !strings.HasPrefix(name, "CLAUDETEST_") {
					all["variable "+name] = strings.ReplaceAll(value, dir, "DIR")
				}
			}
		case "initialize":
			again := ""
			if asked["initialize"]++; asked["initialize"] > 1 {
				again = "again: "
			}
			for field, value := range line.Request {
				if field == "sdkMcpServerManifests" {
					value = keysOfManifests(t, value)
				}
				if field != "subtype" {
					all[again+"initialize "+field] = plain(t, value)
				}
			}
		case "user":
			users++
			all["message "+strconv.Itoa(users)] = plain(t, r.Line)
		case "control_request", "interrupt":
			requests++
			subtype := strings.Trim(string(line.Request["subtype"]), `"`)
			asked[subtype]++
			delete(line.Request, "subtype")
			body, err := json.Marshal(line.Request)
			if err != nil {
				t.Fatal(err)
			}
			what := "request " + subtype
			if asked[subtype] > 1 {
				what += " " + strconv.Itoa(asked[subtype])
			}
			all[what] = plain(t, body)
		case "asked":
			open[r.RequestID] = steps[len(open)]
		case "control_response":
			of := cmp.Or(open[r.RequestID], r.RequestID)
			if asked["answer "+of]++; asked["answer "+of] > 1 {
				of += " " + strconv.Itoa(asked["answer "+of])
			}
			delete(line.Response, "request_id")
			text, err := json.Marshal(line.Response)
			if err != nil {
				t.Fatal(err)
			}
			all["answer "+of] = plain(t, text)
		case "eof":
			end = append(end, "end of input")
		}
	}
	all["end"] = strings.Join(end, ", ")
	return all
}

// arguments adds the arguments by their flag. Both ways to write a value are the same.
func arguments(all map[string]string, args []string) {
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			value = args[i]
		}
		var compact any
		if json.Unmarshal([]byte(value), &compact) == nil {
			if text, err := json.Marshal(compact); err == nil {
				value = string(text)
			}
		}
		if value == "" {
			value = "set"
		}
		if other := all["argument "+flag]; other != "" {
			value = other + " " + value
		}
		all["argument "+flag] = value
	}
}

var (
	random   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hookName = regexp.MustCompile(`hook[-_]\d+`)
)

// plain returns a value with sorted keys and without random ids.
func plain(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := random.ReplaceAllStringFunc(string(text), func(found string) string {
		if found == id {
			return "ID"
		}
		return "UUID"
	})
	return hookName.ReplaceAllString(out, "HOOK")
}

// keysOfManifests returns the keys of manifests: what they say is of the MCP SDKs.
func keysOfManifests(t *testing.T, value json.RawMessage) json.RawMessage {
	t.Helper()
	var manifests map[string]map[string]json.RawMessage
	if err := json.Unmarshal(value, &manifests); err != nil {
		t.Fatal(err)
	}
	keys := map[string][]string{}
	for name, m := range manifests {
		keys[name] = slices.Sorted(maps.Keys(m))
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTypesOfTheSDKAreKnown fails when the types of the SDK name a control request of hosts, or a field
// of initialize, that package claude does not have.
func TestTypesOfTheSDKAreKnown(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // it needs the SDK from npm
	}
	types, err := os.ReadFile(filepath.Join(sdk, "sdk.d.ts"))
	if err != nil {
		t.Fatal("the TypeScript SDK is not installed; type: make setup SAYSO_TEST_ALL=1")
	}
	request := regexp.MustCompile(`(?s)declare type (\w+Request) = \{\n(.*?)\n\};`)
	field := regexp.MustCompile(`(?m)^    (\w+)\??:`)
	subtype := regexp.MustCompile(`(?m)^    subtype: '(\w+)'`)
	known := map[string]bool{"subtype": true, "sdkMcpServerManifestsOrigin": true} // the latter is for CLIs on other hosts
	for f := range reflect.TypeFor[claude.InitializeRequest]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	var sources strings.Builder
	files, err := filepath.Glob("../../claude/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			sources.Write(text)
		}
	}
	requests := 0
	for _, m := range request.FindAllStringSubmatch(strings.ReplaceAll(string(types), "\r\n", "\n"), -1) {
		if of := subtype.FindStringSubmatch(m[2]); of != nil {
			if requests++; !strings.Contains(sources.String(), `"`+of[1]+`"`) {
				t.Errorf("there is no request %s", of[1])
			}
		}
		if m[1] != "SDKControlInitializeRequest" {
			continue
		}
		for _, f := range field.FindAllStringSubmatch(m[2], -1) {
			if !known[f[1]] {
				t.Errorf("initialize has no %s", f[1])
			}
		}
	}
	if requests < 35 {
		t.Errorf("only %d requests were found", requests)
	}
}

// TestScenariosAreTheSame holds that both sides have the same scenarios.
func TestScenariosAreTheSame(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(".", "drive.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "const scenarios = {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(scenarios(strconv.Itoa))); !slices.Equal(names, want) {
		t.Errorf("drive.mjs has %q, want %q", names, want)
	}
}
