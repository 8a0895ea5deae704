package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
	"github.com/sayso-dev/sayso/claude/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type city struct {
	City string `json:"city" jsonschema:"name of the city"`
}

type weather struct {
	Celsius float64 `json:"celsius"`
}

// call sends messages to a server as the CLI does and returns the answers.
func call(t *testing.T, server claude.LocalServer, messages ...string) (answers []string) {
	t.Helper()
	host, cli := claudetest.Pipe()
	o := claude.Options{MCPServers: map[string]claude.MCPServerConfig{"local": server}}
	client := claude.NewClient(host, o)
	run := make(chan error, 1)
	go func() { run <- client.Run(t.Context()) }()
	for i, m := range messages {
		line, err := json.Marshal(map[string]any{"type": "control_request", "request_id": string(rune('a' + i)), "request": map[string]any{
			"subtype": "mcp_message", "server_name": "local", "message": json.RawMessage(m),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := cli.Send(line); err != nil {
			t.Fatal(err)
		}
		answer, err := cli.Recv()
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(answer))
	}
	cli.Close()
	if err := <-run; err != nil {
		t.Error(err)
	}
	return answers
}

const (
	hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}`
	isReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func calls(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

func TestToolsOfFunctions(t *testing.T) {
	t.Parallel()
	server := tool.Server("local",
		tool.New("weather", "Returns the weather.", func(_ context.Context, in city) (weather, error) { return weather{21.5}, nil }).ReadOnly(),
		tool.New("greet", "Greets.", func(_ context.Context, in city) (string, error) { return "Hello " + in.City, nil }),
		tool.New("list", "Lists.", func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }),
		tool.New("fail", "Fails.", func(context.Context, city) (string, error) { return "", errors.New("out of order") }),
		tool.New("panic", "Panics.", func(context.Context, city) (weather, error) { panic("boom") }),
	)
	answers := call(t, server, hello, isReady, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		calls("weather", `{"city":"Bonn"}`), calls("greet", `{"city":"Bonn"}`), calls("list", `{}`), calls("fail", `{"city":"x"}`),
		calls("panic", `{"city":"x"}`), calls("weather", `{"city":7}`), calls("none", `{}`))
	for i, want := range []string{
		`"serverInfo":{"name":"local"`, `"mcp_response":{`, `"description":"name of the city"`,
		`"structuredContent":{"celsius":21.5}`, `Hello Bonn`, `"text":"[1,2]"`, `out of order`, `panicked: boom`, `"isError":true`, `"error":{`,
	} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("answer %d: got %s, want %s", i, answers[i], want)
		}
	}
	if !strings.Contains(answers[2], `"readOnlyHint":true`) {
		t.Errorf("the tool is not marked: %s", answers[2])
	}
}

// A server of the MCP SDK accepts initialize once, and the CLI sends it whenever it connects.
func TestCLIConnectsAgain(t *testing.T) {
	t.Parallel()
	server := tool.Server("local", tool.New("greet", "Greets.", func(_ context.Context, in city) (string, error) { return "Hello " + in.City, nil }))
	greet := calls("greet", `{"city":"Bonn"}`)
	answers := call(t, server, hello, isReady, greet, hello, isReady, greet)
	for i, want := range []string{`"serverInfo":{`, ``, `Hello Bonn`, `"serverInfo":{`, ``, `Hello Bonn`} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("answer %d: got %s, want %s", i, answers[i], want)
		}
	}
}

// A tool may take its time; its context ends when the CLI does.
func TestToolEndsWithTheConversation(t *testing.T) {
	t.Parallel()
	host, cli := claudetest.Pipe()
	started, ended := make(chan bool, 1), make(chan error, 1)
	server := tool.Server("local", tool.New("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		started <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}))
	client := claude.NewClient(host, claude.Options{MCPServers: map[string]claude.MCPServerConfig{"local": server}})
	run := make(chan error, 1)
	go func() { run <- client.Run(t.Context()) }()
	send := func(line string) {
		if err := cli.Send([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	send(`{"type":"control_request","request_id":"h","request":{"subtype":"mcp_message","server_name":"local","message":` + hello + `}}`)
	if _, err := cli.Recv(); err != nil {
		t.Fatal(err)
	}
	send(`{"type":"control_request","request_id":"i","request":{"subtype":"mcp_message","server_name":"local","message":` + isReady + `}}`)
	if _, err := cli.Recv(); err != nil {
		t.Fatal(err)
	}
	send(`{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"local","message":` + calls("wait", `{}`) + `}}`)
	<-started
	send(`{"type":"control_cancel_request","request_id":"r"}`)
	if err := <-ended; err == nil {
		t.Error("the tool was not told that its call was withdrawn")
	}
	cli.Close()
	if err := <-run; err != nil {
		t.Error(err)
	}
}

func TestNewPanicsWithoutASchema(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a tool that takes a channel was made")
		}
	}()
	tool.New("x", "", func(context.Context, chan int) (string, error) { return "", nil })
}

func TestAskReturnsAValueOfTheType(t *testing.T) {
	t.Parallel()
	path, record := claudetest.Program(t, claudetest.Script{Turn: []claudetest.Step{{Raw: `{"type":"result","subtype":"success","structured_output":{"celsius":3}}`}, {Exit: new(int)}}})
	got, _, err := tool.Ask[weather](t.Context(), "How warm is it?", claude.Options{Path: path, Dir: t.TempDir()})
	if err != nil || got.Celsius != 3 {
		t.Errorf("got %v %v", got, err)
	}
	if !slices.ContainsFunc(claudetest.ReadRecords(t, record), func(r claudetest.Record) bool {
		return r.Kind == "initialize" && strings.Contains(string(r.Line), `"jsonSchema":{"type":"object"`)
	}) {
		t.Error("the CLI was not told the schema")
	}
}

// The real CLI finds the tools, asks before it calls one, and hooks see the call.
func TestRealCLICallsATool(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := realCLI(t, variable, version)
			var asked, hooked, called, messages []string
			model := scriptedmodel.Start(t, scriptedmodel.Options{})
			plain := mcp.NewServer(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
			mcp.AddTool(plain, &mcp.Tool{Name: "echo", Description: "Echoes."}, func(_ context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo " + in.City}}}, nil, nil
			})
			o := claude.Options{
				Path: path, Dir: t.TempDir(), Environ: model.Environ(t.TempDir()), SettingSources: []string{},
				MCPServers: map[string]claude.MCPServerConfig{
					"local": tool.Server("local", tool.New("weather", "Returns the weather.", func(_ context.Context, in city) (weather, error) {
						called = append(called, in.City)
						return weather{21.5}, nil
					})),
					"plain": tool.Serve(plain),
				},
				CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
					asked = append(asked, r.ToolName)
					return claude.Allow(), nil
				},
				OnRequest: func(_, subtype string, body json.RawMessage) {
					var r struct {
						Message struct{ Method string } `json:"message"`
					}
					if subtype == "mcp_message" && json.Unmarshal(body, &r) == nil {
						messages = append(messages, r.Message.Method)
					}
				},
				Hooks: []claude.Hook{{Event: claude.EventPreToolUse, Matcher: "mcp__.*", Run: func(_ context.Context, in claude.HookInput) (claude.HookOutput, error) {
					hooked = append(hooked, in.ToolName)
					if in.ToolName == "mcp__plain__echo" {
						return claude.HookOutput{Permission: claude.HookAllow, UpdatedInput: json.RawMessage(`{"city":"Köln"}`)}, nil
					}
					return claude.HookOutput{}, nil
				}}},
			}
			r, err := claude.Ask(t.Context(), "```script\n"+`[[{"tool":"mcp__local__weather","input":{"city":"Bonn"}}],[{"tool":"mcp__plain__echo","input":{"city":"Ulm"}}],[{"text":"{{last_tool_result}}"}]]`+"\n```", o)
			if err != nil || !strings.Contains(r.Text, "echo Köln") {
				t.Errorf("got %+v %v", r, err)
			}
			if !slices.Equal(asked, []string{"mcp__local__weather"}) || !slices.Equal(hooked, []string{"mcp__local__weather", "mcp__plain__echo"}) || !slices.Equal(called, []string{"Bonn"}) {
				t.Errorf("asked %q, hooked %q, called %q", asked, hooked, called)
			}
			// The manifests have told a newer CLI the rest.
			if version == "2.1.329" && !slices.Equal(messages, []string{"tools/call", "tools/call"}) {
				t.Errorf("the CLI sent the servers %q", messages)
			}
		})
	}
}

// A real CLI that connects again to a server of this process can use it.
func TestRealCLIConnectsAgain(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // TestCLIConnectsAgain shows the same without a CLI
	}
	// 2.1.197 enables and disables no such servers.
	var connections atomic.Int32 // that the CLI has opened
	model := scriptedmodel.Start(t, scriptedmodel.Options{})
	client, err := claude.Start(t.Context(), claude.Options{
		Path: realCLI(t, "SAYSO_TEST_CLAUDE_NEW", "2.1.329"), Dir: t.TempDir(), Environ: model.Environ(t.TempDir()), SettingSources: []string{}, AllowedTools: []string{"mcp__local__greet"},
		MCPServers: map[string]claude.MCPServerConfig{"local": tool.Server("local", tool.New("greet", "Greets.", func(_ context.Context, in city) (string, error) { return "Hello " + in.City, nil }))},
		OnRequest: func(_, _ string, body json.RawMessage) {
			if strings.Contains(string(body), `"method":"initialize"`) {
				connections.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(t.Context()) }()
	for range 2 {
		said := ""
		for m, err := range client.Turn(t.Context(), claude.UserMessage{Text: "```script\n" + `[[{"tool":"mcp__local__greet","input":{"city":"Bonn"}}],[{"text":"{{last_tool_result}}"}]]` + "\n```"}) {
			if err != nil {
				t.Error(err)
			}
			if r, ok := m.(*claude.Result); ok {
				said = r.Text
			}
		}
		if !strings.Contains(said, "Hello Bonn") {
			t.Errorf("got %q", said)
		}
		for _, enabled := range []bool{false, true} {
			if err := client.ToggleMCP(t.Context(), "local", enabled); err != nil {
				t.Error(err)
			}
		}
	}
	client.Close()
	if err := <-run; err != nil {
		t.Error(err)
	}
	if n := connections.Load(); n == 0 {
		t.Error("the CLI has not connected again")
	}
}

// cliVersions returns the versions that a test runs, by the variable with the path of the CLI: the newer,
// and the older one too in the nightly run.
func cliVersions() map[string]string {
	versions := map[string]string{"SAYSO_TEST_CLAUDE_NEW": "2.1.329"}
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		versions["SAYSO_TEST_CLAUDE_OLD"] = "2.1.197"
	}
	return versions
}

func realCLI(t *testing.T, variable, version string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", "..", ".tools", "claude-"+version, "node_modules", ".bin", "claude")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
