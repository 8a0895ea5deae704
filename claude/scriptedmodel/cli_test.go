package scriptedmodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// The tests of this file drive the real CLI and pin what
// docs/contributing/claude-cli.md says about it.

type version string

const (
	older version = "2.1.197"
	newer version = "2.1.329"
)

func (v version) path(t *testing.T) string {
	t.Helper()
	path := os.Getenv(map[version]string{older: "SAYSO_TEST_CLAUDE_OLD", newer: "SAYSO_TEST_CLAUDE_NEW"}[v])
	if path == "" {
		path = filepath.Join("..", "..", ".tools", "claude-"+string(v), "node_modules", ".bin", "claude")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("Claude CLI %s is missing; run make setup: %v", v, err)
	}
	return path
}

// onVersions runs a test with the newer CLI, and with the older too in `make test-all`.
func onVersions(t *testing.T, test func(t *testing.T, v version)) {
	t.Helper()
	t.Parallel()
	versions := []version{newer}
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		versions = append(versions, older)
	}
	for _, v := range versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// patience bounds how long a test waits for the CLI.
const patience = 90 * time.Second

func serve(t *testing.T, opts scriptedmodel.Options) (*scriptedmodel.Model, string) {
	t.Helper()
	model := scriptedmodel.New(opts)
	server, err := scriptedmodel.Listen("127.0.0.1:0", model)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return model, server.URL()
}

// frame is what the tests look at in a line of the CLI's output.
type frame struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Parent    string `json:"parent_tool_use_id"`
	Message   struct {
		Model   string              `json:"model"`
		Content content             `json:"content"`
		Usage   scriptedmodel.Usage `json:"usage"`
	} `json:"message"`
	ToolUseResult json.RawMessage `json:"tool_use_result"`
	ModelUsage    map[string]struct {
		ContextWindow int `json:"contextWindow"`
	} `json:"modelUsage"`
	Request struct {
		Subtype   string          `json:"subtype"`
		ToolName  string          `json:"tool_name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		AgentID   string          `json:"agent_id"`
	} `json:"request"`
	Response struct {
		RequestID string          `json:"request_id"`
		Subtype   string          `json:"subtype"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
	Event struct {
		Type  string `json:"type"`
		Delta struct {
			Text        string `json:"text"`
			Thinking    string `json:"thinking"`
			PartialJSON string `json:"partial_json"`
		} `json:"delta"`
	} `json:"event"`
	PermissionMode string `json:"permissionMode"`
	TaskID         string `json:"task_id"`
	ToolUseID      string `json:"tool_use_id"`
	Error          string `json:"error"`
	ErrorStatus    int    `json:"error_status"`
	MaxRetries     int    `json:"max_retries"`
	IsError        bool   `json:"is_error"`
	Result         string `json:"result"`
	APIErrorStatus int    `json:"api_error_status"`
	TerminalReason string `json:"terminal_reason"`
	Origin         struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	Errors []string `json:"errors"`

	size int
}

type content []block

type block struct {
	Type, Text, Name string
	ToolUseID        string `json:"tool_use_id"`
	ID               string
	Input            json.RawMessage
	Content          json.RawMessage
	IsError          bool `json:"is_error"`
}

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(data, &(*c)[0].Text)
	}
	return json.Unmarshal(data, (*[]block)(c))
}

func (f *frame) asks() bool {
	return f.Type == "control_request" && f.Request.Subtype == "can_use_tool"
}

func isResult(f *frame) bool { return f.Type == "result" }

// session is one running CLI.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	frames chan *frame
	seen   []*frame // everything read so far
	cwd    string
	home   string
	ended  chan struct{} // closed when stdout is at its end
	waited sync.Once
	err    error
}

type launch struct {
	mode string
	args []string
	env  []string
	home string
	cwd  string
	id   string // "" for a new one, "-" for none
	key  string // "" for a made-up one, "-" for none
}

func start(t *testing.T, v version, url string, l launch) *session {
	t.Helper()
	s := &session{t: t, home: l.home, cwd: l.cwd, frames: make(chan *frame, 64), ended: make(chan struct{})}
	if s.home == "" {
		s.home = t.TempDir()
	}
	if s.cwd == "" {
		s.cwd = t.TempDir()
	}
	if l.mode == "" {
		l.mode = "default"
	}
	if l.id == "" {
		l.id = uuid.NewString()
	}
	args := []string{
		"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode=" + l.mode, `--settings={"useAutoModeDuringPlan":false}`,
	}
	if l.id != "-" {
		args = append(args, "--session-id="+l.id)
	}
	s.cmd = exec.Command(v.path(t), append(args, l.args...)...)
	s.cmd.Dir = s.cwd
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=1",
	}, l.env...)
	if url != "" {
		s.cmd.Env = append(s.cmd.Env, "ANTHROPIC_BASE_URL="+url)
	}
	if l.key == "" {
		s.cmd.Env = append(s.cmd.Env, "ANTHROPIC_API_KEY=sk-ant-made-up")
	}
	s.cmd.Stderr = &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout)
	t.Cleanup(func() {
		_ = s.stdin.Close()
		// The group: a tool may have left children.
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.wait()
	})
	return s
}

func (s *session) read(stdout io.Reader) {
	defer close(s.frames)
	defer close(s.ended)
	r := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		f := &frame{size: len(line)}
		if err := json.Unmarshal(line, f); err != nil {
			f = &frame{Type: "undecodable", Result: err.Error() + ": " + string(line[:min(len(line), 500)])}
		}
		s.frames <- f
	}
}

// wait drains what is left and returns how the process ended.
func (s *session) wait() error {
	for range s.frames {
	}
	<-s.ended
	s.waited.Do(func() { s.err = s.cmd.Wait() })
	return s.err
}

func (s *session) exitCode() int {
	var exit *exec.ExitError
	if err := s.wait(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	return 0
}

// until reads frames until one matches; each, when given, sees all of them.
func (s *session) until(match func(*frame) bool, each func(*frame)) *frame {
	s.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case f, ok := <-s.frames:
			if !ok {
				s.t.Fatalf("the CLI ended: %v, stderr %q", s.wait(), s.stderr.String())
			}
			if f.Type == "undecodable" {
				s.t.Fatalf("not JSON: %s", f.Result)
			}
			s.seen = append(s.seen, f)
			if each != nil {
				each(f)
			}
			if match(f) {
				return f
			}
		case <-limit.C:
			var types []string
			for _, f := range s.seen[max(0, len(s.seen)-20):] {
				types = append(types, f.Type+"/"+f.Subtype)
			}
			s.t.Fatalf("nothing for %v; last frames %v", patience, types)
		}
	}
}

func (s *session) send(v any) {
	s.t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.stdin.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
}

// control sends a request of ours and returns its response.
func (s *session) control(subtype string, each func(*frame)) *frame {
	s.t.Helper()
	id := uuid.NewString()
	s.send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]string{"subtype": subtype}})
	return s.until(func(f *frame) bool { return f.Type == "control_response" && f.Response.RequestID == id }, each)
}

func (s *session) user(text string) {
	s.t.Helper()
	s.send(map[string]any{"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]string{"role": "user", "content": text}})
}

func (s *session) reply(f *frame, answer map[string]any) {
	s.t.Helper()
	answer["toolUseID"] = f.Request.ToolUseID
	s.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": f.RequestID, "response": answer}})
}

func (s *session) allow(f *frame) {
	s.t.Helper()
	s.reply(f, map[string]any{"behavior": "allow", "updatedInput": f.Request.Input})
}

func (s *session) deny(f *frame, why string) {
	s.t.Helper()
	s.reply(f, map[string]any{"behavior": "deny", "message": why})
}

// turn sends a message and returns its result. Requests go to answer.
func (s *session) turn(text string, answer func(*frame)) *frame {
	s.t.Helper()
	s.user(text)
	return s.until(isResult, func(f *frame) {
		if f.asks() {
			answer(f)
		}
	})
}

// requests waits for n open requests.
func (s *session) requests(n int) []*frame {
	s.t.Helper()
	var open []*frame
	s.until(func(f *frame) bool {
		if f.asks() {
			open = append(open, f)
		}
		return len(open) == n
	}, nil)
	return open
}

func (s *session) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.cwd, name))
	return err == nil
}

func TestCLIStreamsThinkingTextAndTools(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"thinking":"A thought of several words."},{"text":"I touch a file, ünïcödé."},{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"The tool said: {{last_tool_result}}"}]]`), s.allow)
		if result.IsError || !strings.HasPrefix(result.Result, "The tool said: ") || !s.exists("made") {
			t.Errorf("got %+v, file made: %v", result, s.exists("made"))
		}
		var text, thinking, input string
		for _, f := range s.seen {
			text += f.Event.Delta.Text
			thinking += f.Event.Delta.Thinking
			input += f.Event.Delta.PartialJSON
		}
		if !strings.HasPrefix(text, "I touch a file, ünïcödé.") || thinking != "A thought of several words." || input != `{"command":"touch made"}` {
			t.Errorf("streamed %q, %q, %q", text, thinking, input)
		}
		if result = s.turn("and now?", s.allow); result.Result != "Done." {
			t.Errorf("after the script: %q", result.Result)
		}
		_ = s.stdin.Close()
		if code := s.exitCode(); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
}

// TestCLITellsContextAndChanges: how full the context is can be told from what comes
// anyway, and the result of an edit is what a person made of it.
func TestCLITellsContextAndChanges(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"tool":"Write","input":{"file_path":"{{cwd}}/made","content":"one"}}],
			{"blocks":[{"if":"ok","text":"Done."}],"usage":{"input_tokens":12000,"output_tokens":500,"cache_creation_input_tokens":1000,"cache_read_input_tokens":30000}}]`),
			func(f *frame) {
				s.reply(f, map[string]any{"behavior": "allow", "updatedInput": map[string]string{"file_path": filepath.Join(s.cwd, "made"), "content": "mine\nand more\n"}})
			})
		var answer *frame
		var changed struct {
			Type, FilePath, Content string
			StructuredPatch         []any
		}
		for _, f := range s.seen {
			if f.Type == "assistant" {
				answer = f
			}
			if len(f.ToolUseResult) > 0 {
				if err := json.Unmarshal(f.ToolUseResult, &changed); err != nil {
					t.Fatal(err)
				}
			}
		}
		if changed.Type != "create" || changed.FilePath != filepath.Join(s.cwd, "made") || changed.Content != "mine\nand more\n" || changed.StructuredPatch == nil {
			t.Errorf("the result of the edit: %+v", changed)
		}
		window := 0
		for name, m := range result.ModelUsage {
			if plain, _, _ := strings.Cut(name, "["); plain == answer.Message.Model {
				window = m.ContextWindow
			}
		}
		var told struct {
			TotalTokens, MaxTokens int
		}
		if err := json.Unmarshal(s.control("get_context_usage", nil).Response.Response, &told); err != nil {
			t.Fatal(err)
		}
		u := answer.Message.Usage
		if given := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; given != 43_000 || told.TotalTokens != given || window == 0 || told.MaxTokens != window {
			t.Errorf("given %d of %d, /context says %+v; models: %+v", given, window, told, result.ModelUsage)
		}
	})
}

func TestCLIGivesADenialToTheModel(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"if":"error","text":"I read: {{last_tool_result}}"}]]`),
			func(f *frame) { s.deny(f, "use pnpm, not npm") })
		if result.Result != "I read: use pnpm, not npm" || s.exists("made") {
			t.Errorf("got %q, file made: %v", result.Result, s.exists("made"))
		}
	})
}

func TestCLIAsksSeveralThingsAtOnce(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		s.user(fenced(`[[
			{"tool":"WebFetch","input":{"url":"https://a.example/","prompt":"p"}},
			{"tool":"WebFetch","input":{"url":"https://b.example/","prompt":"p"}},
			{"tool":"WebFetch","input":{"url":"https://c.example/","prompt":"p"}}],
			[{"text":"{{tool_results}}"}]]`))
		open := s.requests(3)
		for i := len(open) - 1; i >= 0; i-- {
			s.deny(open[i], "no "+string(rune('a'+i)))
		}
		if got := s.until(isResult, nil).Result; got != "no a\nno b\nno c" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCLIAsksQuestions(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"tool":"AskUserQuestion","input":{"questions":[
			{"question":"Which?","header":"One","multiSelect":false,"options":[{"label":"A","description":"a","preview":"# A"},{"label":"B","description":"b"}]},
			{"question":"How many?","header":"Many","multiSelect":true,"options":[{"label":"X","description":"x"},{"label":"Y","description":"y"}]}]}}],
			[{"text":"{{answers}}"}]]`),
			func(f *frame) {
				var input map[string]any
				if err := json.Unmarshal(f.Request.Input, &input); err != nil {
					t.Error(err)
				}
				input["answers"] = map[string]string{"Which?": "something else", "How many?": "X, Y"}
				s.reply(f, map[string]any{"behavior": "allow", "updatedInput": input})
			})
		if want := "- Which? **something else**\n- How many? **X, Y**"; result.Result != want {
			t.Errorf("got %q, want %q", result.Result, want)
		}
	})
}

// Without the setting that start gives, plan mode turns into auto mode: the older
// CLI runs the command unasked, the newer refuses it unasked.
func TestCLIAsksInPlanMode(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		var asked []string
		result := s.turn(fenced(`[[{"tool":"EnterPlanMode"}],
			[{"tool":"Bash","input":{"command":"touch early"}}],
			[{"tool":"Write","input":{"file_path":"{{plan_file}}","content":"# The plan"}}],
			[{"tool":"ExitPlanMode"}],
			[{"text":"{{last_tool_result}}"}]]`),
			func(f *frame) {
				asked = append(asked, f.Request.ToolName)
				if f.Request.ToolName == "Bash" {
					s.deny(f, "not yet")
					return
				}
				var input struct{ Plan string }
				if err := json.Unmarshal(f.Request.Input, &input); err != nil || input.Plan != "# The plan" {
					t.Errorf("got plan %q, %v", input.Plan, err)
				}
				s.allow(f)
			})
		if got := strings.Join(asked, " "); got != "Bash ExitPlanMode" {
			t.Errorf("asked %q", got)
		}
		if !strings.Contains(result.Result, "approved") || s.exists("early") {
			t.Errorf("got %q, file made: %v", result.Result, s.exists("early"))
		}
		var modes []string
		for _, f := range s.seen {
			if f.Subtype == "status" && f.PermissionMode != "" {
				modes = append(modes, f.PermissionMode)
			}
		}
		if got := strings.Join(modes, " "); got != "plan default" {
			t.Errorf("modes %q", got)
		}
	})
}

const twoAgents = `[[
	{"tool":"Task","input":{"description":"one","subagent_type":"general-purpose","prompt":"Go."FLAG},"script":[[{"tool":"Bash","input":{"command":"touch one"}}],[{"text":"one is done"}]]},
	{"tool":"Task","input":{"description":"two","subagent_type":"general-purpose","prompt":"Go."FLAG},"script":[[{"tool":"Bash","input":{"command":"touch two"}}],[{"text":"two is done"}]]}],
	[{"text":"{{tool_results}}"}],[{"text":"woken"}]]`

func TestCLISubagentsAskAtOnce(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		s.user(fenced(strings.ReplaceAll(twoAgents, "FLAG", `,"run_in_background":false`)))
		open := s.requests(2)
		call := map[string]string{} // by agent
		for _, f := range s.seen {
			if f.Subtype == "task_started" {
				call[f.TaskID] = f.ToolUseID
			}
		}
		if a, b := open[0].Request.AgentID, open[1].Request.AgentID; a == b || call[a] == "" || call[b] == "" {
			t.Errorf("agents %q and %q, started %v", a, b, call)
		}
		s.allow(open[1])
		s.allow(open[0])
		result := s.until(isResult, nil)
		if !strings.Contains(result.Result, "one is done") || !strings.Contains(result.Result, "two is done") || !s.exists("one") || !s.exists("two") {
			t.Errorf("got %q", result.Result)
		}
		for _, f := range s.seen {
			if f.Type == "stream_event" && f.Parent != "" {
				t.Error("a subagent streams")
			}
			if f.Type == "assistant" && f.Parent != "" && call[open[0].Request.AgentID] != f.Parent && call[open[1].Request.AgentID] != f.Parent {
				t.Errorf("a frame of nobody: parent %q", f.Parent)
			}
		}
	})
}

// The newer CLI runs subagents in the background unless told otherwise: the turn
// ends while they still ask, and the CLI begins turns of its own when they finish.
func TestCLISubagentsInTheBackground(t *testing.T) {
	t.Parallel()
	_, url := serve(t, scriptedmodel.Options{})
	s := start(t, newer, url, launch{})
	s.control("initialize", nil)
	s.user(fenced(strings.ReplaceAll(twoAgents, "FLAG", "")))
	var open []*frame
	ended := false
	s.until(func(f *frame) bool {
		if f.asks() {
			open = append(open, f)
		}
		ended = ended || isResult(f)
		return ended && len(open) == 2
	}, nil)
	for _, f := range open {
		s.allow(f)
	}
	s.until(func(f *frame) bool { return isResult(f) && f.Origin.Kind == "task-notification" && f.Result == "woken" }, nil)
}

func TestCLITodoList(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{env: scriptedmodel.DemoEnv})
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"if":"tool:TodoWrite","tool":"TodoWrite","input":{"todos":[{"content":"a","status":"in_progress","activeForm":"doing a"}]}},{"if":"tool:TaskCreate","text":"unwanted"}],[{"if":"ok","text":"{{last_tool_result}}"}]]`), s.allow)
		if !strings.Contains(result.Result, "Todos have been modified") {
			t.Errorf("got %q", result.Result)
		}
	})
}

// review says before what is written; that must be what is.
func TestCLILineEnds(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		files := map[string][2]string{
			"written":    {"a\r\nb\r\n", "a\nB\n"},
			"edited":     {"a\r\nb\r\n", "a\r\nB\r\nC\r\n"},
			"mixed":      {"a\r\nb\nc\n", "a\nB\nc\n"},
			"mixed more": {"a\r\nb\r\nc\n", "a\r\nB\r\nc\r\n"},
			"not found":  {"a\r\nb\r\n", "a\r\nb\r\n"},
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(s.cwd, name), []byte(text[0]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.control("initialize", nil)
		read := func(name string) string { return `{"tool":"Read","input":{"file_path":"{{cwd}}/` + name + `"}}` }
		edit := func(name, old, by string) string {
			return `{"tool":"Edit","input":{"file_path":"{{cwd}}/` + name + `","old_string":"` + old + `","new_string":"` + by + `"}}`
		}
		s.turn(fenced(`[[`+read("written")+`,`+read("edited")+`,`+read("mixed")+`,`+read("mixed more")+`,`+read("not found")+`],
			[{"tool":"Write","input":{"file_path":"{{cwd}}/written","content":"a\nB\n"}},
			`+edit("edited", "b", `B\r\nC`)+`,`+edit("mixed", "b", "B")+`,`+edit("mixed more", "b", "B")+`,`+edit("not found", `a\r\nb`, "B")+`],
			[{"text":"done"}]]`), s.allow)
		for name, text := range files {
			if got, err := os.ReadFile(filepath.Join(s.cwd, name)); err != nil || string(got) != text[1] {
				t.Errorf("%s: %q, want %q (%v)", name, got, text[1], err)
			}
		}
	})
}

func TestCLIToolResultOf20MB(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		big := append([]byte("HEAD\n"), bytes.Repeat([]byte("a line of a big file\n"), 20_000_000/21)...)
		if err := os.WriteFile(filepath.Join(s.cwd, "big.txt"), big, 0o600); err != nil {
			t.Fatal(err)
		}
		s.control("initialize", nil)
		result := s.turn(fenced(`[[{"tool":"Read","input":{"file_path":"{{cwd}}/big.txt","limit":3}}],
			[{"tool":"Edit","input":{"file_path":"{{cwd}}/big.txt","old_string":"HEAD","new_string":"TAIL"}}],
			[{"if":"ok","text":"edited"}]]`), s.allow)
		largest := 0
		for _, f := range s.seen {
			if f.Type == "user" {
				largest = max(largest, f.size)
			}
		}
		if result.Result != "edited" || largest < 20_000_000 {
			t.Errorf("got %q, largest frame %d", result.Result, largest)
		}
	})
}

func TestCLIMeetsErrorsOfTheAPI(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		for _, c := range []struct {
			status int
			kind   string
			says   string
		}{
			{401, "authentication_failed", "Invalid API key"},
			{429, "rate_limit", "429"},
			{529, "overloaded", "529"},
		} {
			script, _ := json.Marshal([]map[string]any{{"status": c.status}})
			from := len(s.seen)
			result := s.turn(fenced(string(script)), s.allow)
			if !result.IsError || result.Subtype != "success" || result.APIErrorStatus != c.status || !strings.Contains(result.Result, c.says) {
				t.Errorf("%d: got %+v", c.status, result)
			}
			retries, synthetic := 0, false
			for _, f := range s.seen[from:] {
				if f.Subtype == "api_retry" {
					retries++
					if f.ErrorStatus != c.status || f.Error != c.kind || f.MaxRetries != 1 {
						t.Errorf("%d: got retry %+v", c.status, f)
					}
				}
				synthetic = synthetic || f.Type == "assistant" && f.Message.Model == "<synthetic>" && f.Error != ""
			}
			if retries != 1 || !synthetic {
				t.Errorf("%d: %d retries, synthetic message: %v", c.status, retries, synthetic)
			}
		}
		if result := s.turn(fenced(`[{"status":529,"times":1,"blocks":[{"text":"recovered"}]}]`), s.allow); result.Result != "recovered" || result.IsError {
			t.Errorf("got %+v", result)
		}
	})
}

func TestCLIIsInterruptedWhileTheModelIsSilent(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		model, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		s.user(fenced(`[{"stall":true},{"stall":true,"blocks":[{"text":"half of this text is streamed, then nothing comes"}]},[{"text":"third"}]]`))
		for i, text := range []string{"go on", "go on again"} {
			if _, err := model.AwaitRequest(t.Context(), func(q scriptedmodel.Request) bool { return q.Outcome == "stall" && q.Index == i }); err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				s.until(func(f *frame) bool { return f.Event.Delta.Text != "" }, nil)
			}
			s.control("interrupt", nil)
			if result := s.until(isResult, nil); result.Subtype != "error_during_execution" || result.TerminalReason != "aborted_streaming" {
				t.Errorf("got %+v", result)
			}
			s.user(text)
		}
		if got := s.until(isResult, nil).Result; got != "third" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCLIIsInterruptedWhileItAsks(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{})
		s.control("initialize", nil)
		s.user(fenced(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"second"}]]`))
		open := s.requests(1)[0]
		cancelled := false
		s.control("interrupt", func(f *frame) {
			cancelled = cancelled || f.Type == "control_cancel_request" && f.RequestID == open.RequestID
		})
		if result := s.until(isResult, nil); !cancelled || result.TerminalReason != "aborted_tools" {
			t.Errorf("cancelled: %v, got %+v", cancelled, result)
		}
		s.allow(open) // too late, and harmless
		if got := s.turn("go on", s.allow).Result; got != "second" || s.exists("made") {
			t.Errorf("got %q, file made: %v", got, s.exists("made"))
		}
	})
}

func TestCLITakesASecondMessageIntoTheTurn(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		model, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{args: []string{"--replay-user-messages"}})
		s.control("initialize", nil)
		s.user(fenced(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"I was told: {{last_user_text}}"}]]`))
		open := s.requests(1)[0]
		s.user("hurry up")
		s.control("get_settings", nil) // answered in order, so the message is in the queue
		s.allow(open)
		if got := s.until(isResult, nil).Result; got != "I was told: hurry up" {
			t.Errorf("got %q", got)
		}
		all := model.Requests()
		if got := all[len(all)-1]; got.UserText != "hurry up" || got.Index != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCLIAsksAgainAfterItWasKilled(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		id := uuid.NewString()
		s := start(t, v, url, launch{id: id})
		s.control("initialize", nil)
		if got := s.turn("hello", s.allow).Result; !strings.Contains(got, "demo model") {
			t.Errorf("got %q", got)
		}
		s.user(fenced(`[[{"text":"First."},{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"second"}]]`))
		first := s.requests(1)[0]
		s.awaitTranscript(id, first.Request.ToolUseID)
		_ = s.cmd.Process.Kill()
		_ = s.wait()

		again := start(t, v, url, launch{id: "-", home: s.home, cwd: s.cwd,
			args: []string{"--resume=" + id}, env: []string{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1"}})
		second := again.asksAgain()
		if second.Request.ToolName != first.Request.ToolName || !bytes.Equal(second.Request.Input, first.Request.Input) ||
			second.Request.ToolUseID == first.Request.ToolUseID || second.RequestID == first.RequestID {
			t.Errorf("asked %+v, then %+v", first.Request, second.Request)
		}
		again.allow(second)
		if got := again.until(isResult, nil).Result; got != "second" || !again.exists("made") {
			t.Errorf("got %q, file made: %v", got, again.exists("made"))
		}
	})
}

// After SIGTERM it asks again as after a kill. At the end of its input it goes on without an
// answer, so nothing is left to ask.
func TestCLIAfterOtherEnds(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // each way starts CLIs of its own
	}
	onVersions(t, func(t *testing.T, v version) {
		for how, test := range map[string]struct {
			end       func(s *session)
			status    int
			asksAgain bool
			result    string // part of that of the turn
		}{
			"SIGTERM":          {func(s *session) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, 143, true, ""},
			"end of its input": {func(s *session) { _ = s.stdin.Close() }, 0, false, "stream closed before response received"},
		} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				_, url := serve(t, scriptedmodel.Options{})
				id := uuid.NewString()
				s := start(t, v, url, launch{id: id})
				s.control("initialize", nil)
				s.user(fenced(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"{{last_tool_result}}"}]]`))
				first := s.requests(1)[0]
				s.awaitTranscript(id, first.Request.ToolUseID)
				test.end(s)
				if !test.asksAgain {
					if got := s.until(isResult, nil).Result; !strings.Contains(got, test.result) {
						t.Errorf("got %q", got)
					}
				}
				if code := s.exitCode(); code != test.status {
					t.Errorf("exit %d, want %d", code, test.status)
				}

				again := start(t, v, url, launch{id: "-", home: s.home, cwd: s.cwd,
					args: []string{"--resume=" + id}, env: []string{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1"}})
				if test.asksAgain {
					if second := again.asksAgain(); second.RequestID == first.RequestID || second.Request.ToolUseID == first.Request.ToolUseID {
						t.Errorf("asked %+v, then %+v", first.Request, second.Request)
					}
					return
				}
				again.control("initialize", nil)
				if got := again.turn(fenced(`[[{"text":"nothing was asked"}]]`), func(f *frame) { t.Errorf("asked again: %+v", f.Request) }).Result; got != "nothing was asked" {
					t.Errorf("got %q", got)
				}
			})
		}
	})
}

// asksAgain initializes a resumed CLI and returns its request, which may come before the answer.
func (s *session) asksAgain() *frame {
	s.t.Helper()
	var asked *frame
	s.control("initialize", func(f *frame) {
		if f.asks() {
			asked = f
		}
	})
	if asked == nil {
		asked = s.requests(1)[0]
	}
	return asked
}

// awaitTranscript waits until the CLI has written a call to its transcript, which
// it does some moments after asking. Talking to the CLI passes the time.
func (s *session) awaitTranscript(id, toolUseID string) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	for ctx.Err() == nil {
		files, err := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", id+".jsonl"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(toolUseID)) {
				return
			}
		}
		s.control("get_settings", nil)
	}
	s.t.Fatal("the call never came into the transcript")
}

func TestCLIWithoutAnAccount(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		s := start(t, v, "", launch{key: "-"})
		var initialized struct {
			Account map[string]string `json:"account"`
		}
		if err := json.Unmarshal(s.control("initialize", nil).Response.Response, &initialized); err != nil {
			t.Fatal(err)
		}
		if a := initialized.Account; a["tokenSource"] != "none" || a["apiKeySource"] != "" {
			t.Errorf("account %v", a)
		}
		if result := s.turn("hello", s.allow); !result.IsError || !strings.HasPrefix(result.Result, "Not logged in") {
			t.Errorf("got %+v", result)
		}
		_ = s.stdin.Close()
		if code := s.exitCode(); code != 1 {
			t.Errorf("exit %d", code)
		}

		for key, want := range map[string]bool{"": false, "sk-ant-made-up": true} {
			status := exec.Command(v.path(t), "auth", "status")
			status.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home}
			if key != "" {
				status.Env = append(status.Env, "ANTHROPIC_API_KEY="+key)
			}
			out, err := status.Output()
			var said struct{ LoggedIn bool }
			if jsonErr := json.Unmarshal(out, &said); jsonErr != nil || said.LoggedIn != want || (err == nil) != want {
				t.Errorf("auth status with key %q: %v, %s", key, err, out)
			}
		}
	})
}

func TestCLICannotResumeWhatIsUnknown(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		s := start(t, v, url, launch{id: "-", args: []string{"--resume=" + uuid.NewString()}})
		result := s.until(isResult, nil)
		if !result.IsError || len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], "No conversation found") {
			t.Errorf("got %+v", result)
		}
		if code := s.exitCode(); code != 1 || !strings.HasPrefix(s.stderr.String(), "No conversation found") {
			t.Errorf("exit %d, stderr %q", code, s.stderr.String())
		}
	})
}

func TestCLIPlaysTheDemo(t *testing.T) {
	t.Parallel()
	const asked = "Bash Write Edit ExitPlanMode AskUserQuestion Bash+ Bash+"
	const askedWhenDenied = "Bash Write ExitPlanMode AskUserQuestion Bash+ Bash+" // an Edit of nothing fails unasked
	for name, deny := range map[string]bool{"yes": false, "no": true} {
		t.Run(name, func(t *testing.T) {
			onVersions(t, func(t *testing.T, v version) {
				_, url := serve(t, scriptedmodel.Options{Default: scriptedmodel.Demo().WithPace(0)})
				s := start(t, v, url, launch{env: scriptedmodel.DemoEnv})
				if !deny { // what an earlier demo left
					greeter := filepath.Join(s.cwd, "greetings", "greet.sh")
					if err := errors.Join(os.Mkdir(filepath.Dir(greeter), 0o700), os.WriteFile(greeter, []byte("old\n"), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
				s.control("initialize", nil)
				var got []string
				var agents []*frame
				todo := false
				s.user(scriptedmodel.DemoPrompt)
				result := s.until(isResult, func(f *frame) {
					for _, b := range f.Message.Content {
						todo = todo || b.Name == "TodoWrite"
					}
					if !f.asks() {
						return
					}
					name := f.Request.ToolName
					if f.Request.AgentID != "" {
						name += "+"
						if agents = append(agents, f); len(agents) < 2 {
							got = append(got, name)
							return // both are open at the same time
						}
					} else {
						agents = []*frame{f}
					}
					got = append(got, name)
					for _, g := range agents {
						switch {
						case deny:
							s.deny(g, "I would rather not")
						case name == "AskUserQuestion":
							s.reply(g, map[string]any{"behavior": "allow", "updatedInput": answered(t, g.Request.Input)})
						default:
							s.allow(g)
						}
					}
					agents = nil
				})
				want := asked
				if deny {
					want = askedWhenDenied
				}
				if order := strings.Join(got, " "); order != want {
					t.Errorf("asked %q, want %q", order, want)
				}
				if result.IsError || !strings.Contains(result.Result, "## What happened") || !strings.Contains(result.Result, "| Step |") || !todo {
					t.Errorf("todo list: %v, result %q", todo, result.Result)
				}
				for _, file := range []string{"hello.txt", "greet.sh", "fr.txt", "de.txt"} {
					if s.exists(filepath.Join("greetings", file)) == deny {
						t.Errorf("%s is there: %v", file, !deny)
					}
				}
				if got := s.turn("And now?", s.allow).Result; !strings.Contains(got, "> And now?") {
					t.Errorf("afterwards: %q", got)
				}
			})
		})
	}
}

// answered picks the first option of every question.
func answered(t *testing.T, input json.RawMessage) map[string]any {
	t.Helper()
	var form struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	var out map[string]any
	if err := errors.Join(json.Unmarshal(input, &form), json.Unmarshal(input, &out)); err != nil {
		t.Error(err)
		return out
	}
	answers := map[string]string{}
	for _, q := range form.Questions {
		answers[q.Question] = q.Options[0].Label
	}
	out["answers"] = answers
	return out
}

// TestCLIRewindsFiles pins what restoring files relies on: a dry run changes nothing, checkpoints are
// those of the message's uuid and outlive the process, and a fork ends where it was told to.
func TestCLIRewindsFiles(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		model, url := serve(t, scriptedmodel.Options{})
		id, env := uuid.NewString(), []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true"}
		s := start(t, v, url, launch{id: id, env: env, mode: "acceptEdits"})
		s.control("initialize", nil)
		say := func(s *session, script string) (messageID string) {
			messageID = uuid.NewString()
			s.send(map[string]any{"type": "user", "uuid": messageID, "session_id": "", "parent_tool_use_id": nil,
				"message": map[string]string{"role": "user", "content": fenced(script)}})
			s.until(isResult, nil)
			return messageID
		}
		type outcome struct {
			CanRewind             bool
			Error                 string
			FilesChanged          []string
			Insertions, Deletions int
		}
		rewind := func(s *session, messageID string, dryRun bool) (o outcome) {
			t.Helper()
			requestID := uuid.NewString()
			s.send(map[string]any{"type": "control_request", "request_id": requestID,
				"request": map[string]any{"subtype": "rewind_files", "user_message_id": messageID, "dry_run": dryRun}})
			f := s.until(func(f *frame) bool { return f.Type == "control_response" && f.Response.RequestID == requestID }, nil)
			if err := json.Unmarshal(f.Response.Response, &o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		content := func() string {
			data, err := os.ReadFile(filepath.Join(s.cwd, "a"))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		write := func(text, words string) string {
			return `[[{"tool":"Write","input":{"file_path":"{{cwd}}/a","content":"` + text + `"}}],[{"text":"` + words + `"}]]`
		}
		first := say(s, write("one", "said first"))
		second := say(s, write("two", "said second"))
		if got := rewind(s, second, true); !got.CanRewind || len(got.FilesChanged) != 1 || got.FilesChanged[0] != filepath.Join(s.cwd, "a") || got.Insertions != 1 || got.Deletions != 1 || content() != "two" {
			t.Errorf("the dry run: %+v, and the file has %q", got, content())
		}
		if got := rewind(s, uuid.NewString(), true); got.CanRewind || got.Error == "" {
			t.Errorf("an unknown message: %+v", got)
		}
		if got := rewind(s, second, false); !got.CanRewind || content() != "one" {
			t.Errorf("restored: %+v, and the file has %q", got, content())
		}
		_ = s.stdin.Close()
		s.exitCode()

		again := start(t, v, url, launch{id: "-", home: s.home, cwd: s.cwd, args: []string{"--resume=" + id}, env: env})
		again.control("initialize", nil)
		if got := rewind(again, first, true); !got.CanRewind || len(got.FilesChanged) != 1 {
			t.Errorf("resumed: %+v", got)
		}
		_ = again.stdin.Close()
		again.exitCode()

		// The conversation is saved under the id of the message; what precedes it is where a fork ends.
		folder := claude.NewSavedFolder(filepath.Join(s.home, ".claude"))
		saved, err := folder.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := folder.EntryBefore(saved, second)
		if err != nil || entry == "" {
			t.Fatalf("the entry before the message is %q: %v", entry, err)
		}
		if entry, err := folder.EntryBefore(saved, first); err != nil || entry != "" {
			t.Errorf("the entry before the first message is %q: %v", entry, err)
		}
		forkID := uuid.NewString()
		fork := start(t, v, url, launch{id: forkID, home: s.home, cwd: s.cwd, args: []string{"--resume=" + id, "--fork-session", "--resume-session-at=" + entry}, env: env})
		fork.control("initialize", nil)
		if _, err := folder.Find(forkID); !errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("a fork without a message is saved: %v", err)
		}
		say(fork, `[[{"text":"forked"}]]`)
		all := model.Requests()
		if body := string(all[len(all)-1].Body); !strings.Contains(body, "said first") || strings.Contains(body, "said second") {
			t.Errorf("the fork knows %s", body)
		}
	})
}
