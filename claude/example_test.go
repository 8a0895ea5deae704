package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// exampleDir is a temporary folder for the CLIs of the examples.
var exampleDir string

// scriptedCLI returns the path of a CLI that plays steps, so that the examples run without an
// account. Programs leave out Options.Path, to use the claude in PATH.
func scriptedCLI(steps ...claudetest.Step) string {
	dir, err := os.MkdirTemp(exampleDir, "cli")
	if err != nil {
		panic(err)
	}
	path, _, err := claudetest.Executable(dir, claudetest.Script{Turn: steps})
	if err != nil {
		panic(err)
	}
	return path
}

// asks is a step in which Claude asks to run a command.
func asks(command string) claudetest.Step {
	return claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": command}}}
}

// says is a step in which Claude writes a text.
func says(text string) claudetest.Step { return claudetest.Step{Text: text} }

// prints is a step in which the CLI prints a line.
func prints(line string) claudetest.Step { return claudetest.Step{Raw: line} }

func ExampleQuery() {
	o := claude.Options{Path: scriptedCLI(says("Two: main.go and go.mod."))}
	for m, err := range claude.Query(context.Background(), "How many files are here?", o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch m := m.(type) {
		case *claude.Assistant:
			fmt.Println(m.Text())
		case *claude.Result:
			fmt.Printf("%d turn, $%.2f\n", m.NumTurns, m.TotalCostUSD)
		}
	}
	// Output:
	// Two: main.go and go.mod.
	// 1 turn, $0.00
}

func ExampleAsk() {
	// Without Path, this uses the claude in PATH.
	o := claude.Options{Path: scriptedCLI(prints(`{"type":"result","subtype":"success","result":"42"}`), claudetest.Step{Exit: new(int)})}
	r, err := claude.Ask(context.Background(), "What is the answer?", o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text)
	// Output: 42
}

func ExampleResultError() {
	o := claude.Options{MaxBudgetUSD: 0.5, Path: scriptedCLI(
		prints(`{"type":"result","subtype":"error_max_budget_usd","is_error":true,"errors":["The budget is used up."]}`),
		claudetest.Step{Exit: new(int)},
	)}
	_, err := claude.Ask(context.Background(), "Rewrite everything.", o)

	var failed *claude.ResultError
	var exited *claude.ExitError
	switch {
	case errors.Is(err, claude.ErrCLIMissing):
		fmt.Println("Install Claude Code first.")
	case errors.Is(err, claude.ErrTooOld):
		fmt.Println("Update Claude Code first.")
	case errors.Is(err, claude.ErrNotSignedIn):
		fmt.Println("Sign in with claude /login.")
	case errors.Is(err, claude.ErrLimit) && errors.As(err, &failed):
		fmt.Printf("A limit is reached: %s\n", failed.Result.Errors[0])
	case errors.As(err, &exited):
		fmt.Printf("claude exited with %d: %s\n", exited.Status, exited.Stderr)
	}
	// Output: A limit is reached: The budget is used up.
}

func ExampleStart() {
	ctx := context.Background()
	client, err := claude.Start(ctx, claude.Options{Path: scriptedCLI()})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(ctx) }()

	for _, prompt := range []string{"Hello!", "Goodbye!"} {
		for m, err := range client.Turn(ctx, claude.UserMessage{Text: prompt}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if a, ok := m.(*claude.Assistant); ok {
				fmt.Println(a.Text())
			}
		}
	}
	client.Close()
	fmt.Println(<-run)
	// Output:
	// You said: Hello!
	// You said: Goodbye!
	// <nil>
}

// A server keeps a CLI warm, so that its first answer does not wait until a CLI has started.
func ExampleWarm() {
	ctx := context.Background()
	o := claude.Options{Path: scriptedCLI()}
	waiting, err := claude.Warm(ctx, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer waiting.Close() // also ends a CLI that nobody needed

	for m, err := range waiting.Query(ctx, "Hello!") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if a, ok := m.(*claude.Assistant); ok {
			fmt.Println(a.Text())
		}
	}
	// Output: You said: Hello!
}

// A server starts a CLI before it knows the folder of the next session.
func ExamplePrewarm() {
	ctx := context.Background()
	dir := os.TempDir()
	spare, err := claude.Prewarm(ctx, claude.Options{Path: scriptedCLI(), Dir: exampleDir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer spare.Close() // also ends a CLI that nobody needed

	query, _, err := spare.Claim(ctx, claude.Claim{Dir: dir})
	if err != nil {
		fmt.Println(err) // start with Query instead
		return
	}
	for m, err := range query.Query(ctx, "Hello!") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if a, ok := m.(*claude.Assistant); ok {
			fmt.Println(a.Text())
		}
	}
	// Output: You said: Hello!
}

// Background agents may run forever. A limit ends the query, and the error lists those still running.
func ExampleBackgroundError() {
	o := claude.Options{BackgroundWait: time.Millisecond, Path: scriptedCLI(
		prints(`{"type":"system","subtype":"task_started","task_id":"a1","task_type":"local_agent","is_backgrounded":true,"description":"Watch the logs"}`),
		prints(`{"type":"result","subtype":"success","result":"I watch them."}`), claudetest.Step{Silent: true},
	)}
	r, err := claude.Ask(context.Background(), "Watch the logs.", o)
	var background *claude.BackgroundError
	if errors.As(err, &background) {
		fmt.Printf("%s Ended: %s.\n", r.Text, background.Tasks[0].Description)
	}
	// Output: I watch them. Ended: Watch the logs.
}

// memoryStore is a SessionStore for tests; its zero value is empty.
type memoryStore struct {
	mu      sync.Mutex
	entries map[claude.SessionKey][]json.RawMessage
	seen    map[string]bool // by key and entry uuid
}

func (s *memoryStore) Append(_ context.Context, key claude.SessionKey, entries []json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries, s.seen = map[claude.SessionKey][]json.RawMessage{}, map[string]bool{}
	}
	for _, entry := range entries {
		var e struct{ UUID string }
		if err := json.Unmarshal(entry, &e); err != nil {
			return err
		}
		id := key.String() + " " + e.UUID
		if e.UUID != "" && s.seen[id] {
			continue
		}
		s.seen[id] = true
		s.entries[key] = append(s.entries[key], entry)
	}
	return nil
}

func (s *memoryStore) Load(_ context.Context, key claude.SessionKey) ([]json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries[key]), nil
}

func (s *memoryStore) Subpaths(_ context.Context, project, sessionID string) (subpaths []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.entries {
		if key.Project == project && key.SessionID == sessionID && key.Subpath != "" {
			subpaths = append(subpaths, key.Subpath)
		}
	}
	return subpaths, nil
}

func (s *memoryStore) Sessions(_ context.Context, project string) (sessions []claude.StoredSession, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.entries {
		if key.Project == project && key.Subpath == "" {
			sessions = append(sessions, claude.StoredSession{SessionID: key.SessionID})
		}
	}
	return sessions, nil
}

func (s *memoryStore) Delete(_ context.Context, project, sessionID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.entries, func(key claude.SessionKey, _ []json.RawMessage) bool {
		return key.Project == project && key.SessionID == sessionID
	})
	return nil
}

// List, read and change stored sessions without the machine on which they ran.
func ExampleStoredSessions() {
	ctx := context.Background()
	var store memoryStore // in a program, a database
	key := claude.SessionKey{Project: "-home-me-app", SessionID: "b7c35d2e-4a4e-4d3a-9d50-0d9f3c1a2b4c"}
	err := store.Append(ctx, key, []json.RawMessage{json.RawMessage(`{"type":"user","uuid":"1","cwd":"/home/me/app","message":{"role":"user","content":"Fix the login."}}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	sessions := claude.StoredSessions{Store: &store, Project: key.Project}
	if err := sessions.Rename(ctx, key.SessionID, "The login"); err != nil {
		fmt.Println(err)
		return
	}
	list, err := sessions.List(ctx, 10)
	for _, s := range list {
		fmt.Printf("%s: %s\n", s.Title, s.FirstPrompt)
	}
	fmt.Println(err)
	// Output:
	// The login: Fix the login.
	// <nil>
}

// Store a conversation while it runs, and restore it on another machine to resume it there.
func ExampleSessionStore() {
	ctx := context.Background()
	var store memoryStore // in a program, a database
	o := claude.Options{SessionStore: &store, Path: scriptedCLI(
		prints(`{"type":"transcript_mirror","filePath":"/home/me/.claude/projects/-home-me-app/b7c35d2e-4a4e-4d3a-9d50-0d9f3c1a2b4c.jsonl",` +
			`"entries":[{"type":"user","uuid":"1","cwd":"/home/me/app","message":{"role":"user","content":"Fix the login."}}]}`),
	)}
	_, err := claude.Ask(ctx, "Fix the login.", o)
	var lost *claude.SessionStoreError
	if errors.As(err, &lost) {
		fmt.Printf("%d entries are only on this machine: %v\n", lost.Entries, lost.Err)
	} else if err != nil {
		fmt.Println(err)
		return
	}

	otherMachine, err := os.MkdirTemp(exampleDir, "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	folder := claude.NewSavedFolder(otherMachine)
	key := claude.SessionKey{Project: "-home-me-app", SessionID: "b7c35d2e-4a4e-4d3a-9d50-0d9f3c1a2b4c"}
	if err := folder.Restore(ctx, &store, key); err != nil {
		fmt.Println(err)
		return
	}
	saved, err := folder.Find(key.SessionID)
	fmt.Println(saved.FirstPrompt, err)
	// Output: Fix the login. <nil>
}

// Each request has its own goroutine, so the callback may wait for a person as long as it takes. Its
// context ends when the CLI withdraws the request.
func ExampleOptions_permissions() {
	o := claude.Options{
		Path: scriptedCLI(asks("go test ./..."), says("The tests pass."), asks("git push"), says("{{last_tool_result}}")),
		CanUseTool: func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			var input struct{ Command string }
			if err := json.Unmarshal(r.Input, &input); err != nil {
				return claude.ToolDecision{}, err // denied; Claude learns of a technical failure
			}
			if input.Command == "go test ./..." {
				return claude.Allow(), nil
			}
			return claude.Deny("Do not push on a Friday."), nil
		},
	}
	for m, err := range claude.Query(context.Background(), "Test and push.", o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if a, ok := m.(*claude.Assistant); ok && a.Text() != "" {
			fmt.Println(a.Text())
		}
	}
	// Output:
	// The tests pass.
	// Do not push on a Friday.
}

// A person allows a tool for the rest of the session. Claude Code suggests a permanent rule in the
// settings of the folder; ForSession limits it to this session.
func ExampleToolRequest_Suggestions() {
	r := claude.ToolRequest{PermissionSuggestions: json.RawMessage(
		`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test"}],"behavior":"allow","destination":"localSettings"}]`)}

	grant := r.Suggestions()
	for i := range grant {
		grant[i].Destination = claude.ForSession
	}
	d := claude.ToolDecision{Allow: true, Grant: grant}
	fmt.Println(d.Grant[0].Rules[0].RuleContent, d.Grant[0].Destination)
	// Output: npm test session
}

func ExampleToolRequest_Questions() {
	o := claude.Options{
		Path: scriptedCLI(
			claudetest.Step{Ask: map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{
				map[string]any{"question": "Which database?", "header": "Database", "options": []any{map[string]any{"label": "SQLite"}, map[string]any{"label": "PostgreSQL"}}},
			}}}},
		),
		CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			questions, ok := r.Questions()
			if !ok {
				return claude.Deny("Only ask."), nil
			}
			answers := map[string]string{}
			for _, q := range questions {
				fmt.Println(q.Question)
				answers[q.Question] = q.Options[0].Label // or any other text
			}
			return r.Answer(answers)
		},
	}
	if _, err := claude.Ask(context.Background(), "Set up the project.", o); err != nil {
		fmt.Println(err)
	}
	// Output: Which database?
}

// A PreToolUse hook sees every call, including those that need no permission.
func ExampleHook() {
	o := claude.Options{Hooks: []claude.Hook{{
		Event:   claude.EventPreToolUse,
		Matcher: "Write|Edit",
		Run: func(_ context.Context, in claude.HookInput) (claude.HookOutput, error) {
			var input struct {
				FilePath string `json:"file_path"`
			}
			if err := json.Unmarshal(in.ToolInput, &input); err != nil {
				return claude.HookOutput{}, err // refused: a hook that guards something fails closed
			}
			if input.FilePath == "go.sum" {
				return claude.HookOutput{Permission: claude.HookDeny, PermissionReason: "Run go mod tidy instead."}, nil
			}
			return claude.HookOutput{}, nil
		},
	}}}
	out, err := o.Hooks[0].Run(context.Background(), claude.HookInput{ToolName: "Write", ToolInput: json.RawMessage(`{"file_path":"go.sum"}`)})
	fmt.Println(out.Permission, out.PermissionReason, err)
	// Output: deny Run go mod tidy instead. <nil>
}

func ExampleOptions_IncludePartialMessages() {
	o := claude.Options{IncludePartialMessages: true, Path: scriptedCLI(
		prints(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}}`),
		prints(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"lo\n"}}}`),
	)}
	for m, err := range claude.Query(context.Background(), "Hi!", o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e, ok := m.(*claude.StreamEvent); ok && e.DeltaType == "text_delta" {
			fmt.Print(e.Text)
		}
	}
	// Output: Hello
}

// A result ends a turn, but background agents continue. The query ends after they do.
func ExampleTasks() {
	o := claude.Options{Path: scriptedCLI(
		prints(`{"type":"system","subtype":"task_started","task_id":"a1","task_type":"local_agent","description":"Review the branch","is_backgrounded":true}`),
		prints(`{"type":"result","subtype":"success","result":"I have started a review."}`),
		prints(`{"type":"system","subtype":"task_notification","task_id":"a1","status":"completed","summary":"No problems"}`),
	)}
	var tasks claude.Tasks
	for m, err := range claude.Query(context.Background(), "Review in the background.", o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		tasks.Apply(m)
		switch m := m.(type) {
		case *claude.Result:
			for _, task := range tasks.Running() {
				fmt.Printf("%s Still running: %s.\n", m.Text, task.Description)
			}
		case *claude.TaskNotification:
			fmt.Println(m.Summary)
		}
	}
	// Output:
	// I have started a review. Still running: Review the branch.
	// No problems
}

// A newer CLI breaks nothing: a message without a Go type is a *System or an *Other with the whole line.
func ExampleDecode() {
	m, err := claude.Decode([]byte(`{"type":"weather_report","celsius":21}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	if other, ok := m.(*claude.Other); ok {
		fmt.Println(other.Type, string(other.Raw))
	}
	// Output: weather_report {"type":"weather_report","celsius":21}
}

// A client needs no process: anything that carries lines can be a Transport.
func ExampleNewClient() {
	host, cli := claudetest.Pipe()
	answered := make(chan bool)
	go func() {
		cli.Send([]byte(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}}`))
		line, _ := cli.Recv()
		fmt.Println(string(line))
		cli.Close()
		close(answered)
	}()
	client := claude.NewClient(host, claude.Options{CanUseTool: func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) {
		return claude.Deny("not now"), nil
	}})
	fmt.Println(client.Run(context.Background()))
	<-answered
	// Unordered output:
	// {"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"deny","message":"not now","toolUseID":"t1"}}}
	// <nil>
}

func ExampleSavedFolder() {
	folder := claude.NewSavedFolder(claude.ConfigDir(os.Environ()))
	sessions, err := folder.List(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sessions {
		fmt.Println(s.SessionID, s.ChangedAt.Format("2006-01-02"), s.Title)
		for m, err := range folder.Messages(s) {
			if err != nil {
				fmt.Println(err)
				break
			}
			if a, ok := m.Message.(*claude.Assistant); ok {
				fmt.Println(a.Text())
			}
		}
	}
}

// Copy a conversation and continue in the copy.
func ExampleSavedFolder_Fork() {
	folder := claude.NewSavedFolder(claude.ConfigDir(os.Environ()))
	s, err := folder.Find("7f0e8b4e-7f5b-4c52-8a4e-1c8f6f3d2a10")
	if err != nil {
		return
	}
	copied, err := folder.Fork(s, "", "Another approach")
	if err != nil {
		return
	}
	_, _ = claude.Ask(context.Background(), "Try it with a queue instead.", claude.Options{Resume: copied, Dir: s.CWD})
}

// Defer a decision that needs a person. The program may exit, and continues once the person has decided.
func ExampleContinue() {
	permission := claude.HookDefer
	o := claude.Options{Hooks: []claude.Hook{{Event: claude.EventPreToolUse, Matcher: "Bash", Run: func(context.Context, claude.HookInput) (claude.HookOutput, error) {
		return claude.HookOutput{Permission: permission}, nil
	}}}}
	r, err := claude.Ask(context.Background(), "Deploy.", o)
	if err != nil {
		return
	}
	if tool, ok := r.Deferred(); ok {
		fmt.Printf("Allow %s %s?\n", tool.Name, tool.Input)
		permission, o.Resume = claude.HookAllow, r.SessionID
		for range claude.Continue(context.Background(), o) {
		}
	}
}

// Restore files to their contents before a prompt.
func ExampleClient_RewindFiles() {
	ctx := context.Background()
	client, err := claude.Start(ctx, claude.Options{FileCheckpoints: true})
	if err != nil {
		return
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(ctx) }()
	prompt := claude.UserMessage{UUID: "0b0c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e", Text: "Rename the package."}
	for range client.Turn(ctx, prompt) {
	}
	if change, err := client.RewindFiles(ctx, prompt.UUID, true); err == nil && change.CanRewind {
		fmt.Println("would change", change.FilesChanged)
		_, _ = client.RewindFiles(ctx, prompt.UUID, false)
	}
	client.Close()
	<-run
}

// Subagents, plugins, skills, MCP servers, thinking and limits are fields of Options.
func ExampleOptions() {
	o := claude.Options{
		Dir:      "/home/ana/project",
		Model:    "opus",
		Thinking: claude.Thinking{Type: "adaptive"},
		Effort:   "high",
		MaxTurns: 20, MaxBudgetUSD: 2,
		Agents: map[string]claude.Agent{
			"reviewer": {Description: "Reviews changes", Prompt: "You review Go code.", Tools: []string{"Read", "Grep"}},
		},
		Plugins:        []claude.Plugin{{Path: "/home/ana/plugins/release"}},
		Skills:         []string{"changelog"},
		MCPServers:     map[string]claude.MCPServerConfig{"issues": claude.HTTPServer{URL: "https://issues.example.org/mcp"}},
		SettingSources: []string{}, // load no user, project or local settings
		AllowedTools:   []string{"Read", "Bash(go test *)"},
	}
	args, err := o.Args()
	fmt.Println(len(args) > 0, err)
	// Output: true <nil>
}

// An MCP server asks a question while one of its tools runs.
func ExampleOptions_elicitation() {
	o := claude.Options{Elicitation: func(ctx context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
		fmt.Printf("%s asks: %s\n", r.ServerName, r.Message)
		return claude.ElicitationAnswer{Action: "accept", Content: json.RawMessage(`{"city":"Bonn"}`)}, nil
	}}
	a, err := o.Elicitation(context.Background(), claude.ElicitationRequest{ServerName: "weather", Message: "Where are you?"})
	fmt.Println(a.Action, err)
	// Output:
	// weather asks: Where are you?
	// accept <nil>
}

// An interrupt ends the turn. The session stays ready for the next prompt.
func ExampleClient_Interrupt() {
	ctx := context.Background()
	client, err := claude.Start(ctx, claude.Options{Path: scriptedCLI(says("Counting to a million."), claudetest.Step{Silent: true})})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(ctx) }()
	for m, err := range client.Turn(ctx, claude.UserMessage{Text: "Count."}) {
		if err != nil {
			fmt.Println("ended:", err != nil)
			break
		}
		if a, ok := m.(*claude.Assistant); ok {
			fmt.Println(a.Text())
			if err := client.Interrupt(ctx); err != nil {
				fmt.Println(err)
			}
		}
	}
	client.Close()
	<-run
	// Output:
	// Counting to a million.
	// ended: true
}

// A running session reports its configuration, and can be changed from any goroutine.
func ExampleClient_MCPStatus() {
	ctx := context.Background()
	client, err := claude.Start(ctx, claude.Options{Path: scriptedCLI()})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := make(chan error, 1)
	go func() { run <- client.Run(ctx) }()

	hello, err := client.Ready(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hello.Models[1].DisplayName)
	servers, err := client.MCPStatus(ctx)
	fmt.Println(len(servers), err)
	fmt.Println(client.SetModel(ctx, hello.Models[1].Value), client.SetPermissionMode(ctx, "plan"))
	client.Close()
	fmt.Println(<-run)
	// Output:
	// Opus
	// 0 <nil>
	// <nil> <nil>
	// <nil>
}
