package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// realWaitLimit is how long a test waits for the real CLI on a busy machine. It
// bounds only failing tests.
const realWaitLimit = 2 * time.Minute

const (
	older = "2.1.197"
	newer = "2.1.329"
)

// onBothCLIs runs a test with both CLIs, in `make test` too. It is for flows in which the
// older one behaves in another way, and for one of each kind of request.
// onCLIs runs a test with the newer CLI, and with the older too in `make test-all`.
func onCLIs(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	versions := []string{newer}
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		versions = append(versions, older)
	}
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// realCLI returns the path of the real CLI of a version.
func realCLI(t *testing.T, version string) string {
	t.Helper()
	path := os.Getenv(map[string]string{older: "SAYSO_TEST_CLAUDE_OLD", newer: "SAYSO_TEST_CLAUDE_NEW"}[version])
	if path == "" {
		path = filepath.Join("..", "..", ".tools", "claude-"+version, "node_modules", "@anthropic-ai", "claude-code", "bin", "claude.exe")
	}
	path, err := filepath.Abs(path)
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("Claude CLI %s is missing; run make setup: %v", version, err)
	}
	return path
}

// realHarness is a harness whose CLI is the real one, on a scripted model.
func realHarness(t *testing.T, version string) (*harness, *scriptedmodel.Model) {
	t.Helper()
	model := scriptedmodel.New(scriptedmodel.Options{})
	api, err := scriptedmodel.Listen("127.0.0.1:0", model)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	h := newHarness(t, claudetest.Script{})
	h.claude = realCLI(t, version)
	h.env = append(h.env, "ANTHROPIC_BASE_URL="+api.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	return h, model
}

// waiting is what a test needs of a request.
type waiting struct {
	RequestID   string `json:"request_id"`
	RequestType string `json:"request_type"`
	Source      string `json:"source"`
	ToolName    string `json:"tool_name"`
	Status      string `json:"status"`
}

func (s *server) open(sessionID string) []waiting {
	s.h.t.Helper()
	var found struct {
		ProcessState struct {
			Requests []waiting `json:"pending_requests"`
		} `json:"process_state"`
	}
	s.do("GET", "/api/sessions/"+sessionID, nil, &found)
	return found.ProcessState.Requests
}

// question waits until exactly one question is open, and fails when anything but a
// question is: nobody is asked for permission to be asked.
func (s *server) question(sessionID, source string) waiting {
	s.h.t.Helper()
	var open []waiting
	within(s.h.t, realWaitLimit, "a question over "+source, func() bool {
		open = s.open(sessionID)
		for _, r := range open {
			if r.RequestType != "ask_user_question" || r.Source != source {
				s.h.t.Fatalf("asked instead: %+v", r)
			}
		}
		return len(open) == 1
	})
	return open[0]
}

func (s *server) answer(requestID string, answers map[string]string) {
	s.h.t.Helper()
	s.do("POST", "/api/pending/"+requestID+"/response", map[string]any{"request_type": "ask_user_question", "answers": answers}, nil)
}

// say sends a message whose script the model follows.
func (s *server) say(sessionID, script string) {
	s.h.t.Helper()
	s.do("POST", "/api/sessions/"+sessionID+"/messages", map[string]any{"text": "```script\n" + script + "\n```"}, nil)
}

// says waits until Claude has said a text that holds the words.
func (s *server) says(sessionID, words string) {
	s.h.t.Helper()
	var last string
	ok := func() bool {
		var page struct {
			Items []struct {
				Kind string `json:"kind"`
				Text string `json:"text"`
			} `json:"items"`
		}
		s.do("GET", "/api/sessions/"+sessionID+"/transcript?limit=500", nil, &page)
		for _, item := range page.Items {
			if item.Kind == "text" {
				if last = item.Text; strings.Contains(last, words) {
					return true
				}
			}
		}
		return false
	}
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > realWaitLimit {
			s.h.t.Fatalf("Claude did not say %q; last it said %q; the session is %+v", words, last, s.process(sessionID))
		}
	}
}

// thenSays is a script that calls a tool and says what came back.
func thenSays(tool, input, words string) string {
	return fmt.Sprintf(`[[{"tool":%q,"input":%s}],[{"text":"%s {{last_tool_result}}"}]]`, tool, input, words)
}

func TestRealClaudeAsksOverMCP(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, model := realHarness(t, version)
		s := h.start()

		// In its very first turn, too: the tools must be there by then.
		id := s.session("```script\n" + thenSays("mcp__sayso__ask_user", `{"question":"Which one?","options":[{"label":"This"},{"label":"That"}]}`, "first:") + "\n```")
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"Which one?": "That"})
		s.says(id, "first: User selected: That")
		// The model has the tool itself, not only its name to look up.
		if !slices.ContainsFunc(model.Requests(), func(r scriptedmodel.Request) bool { return slices.Contains(r.Tools, "mcp__sayso__ask_user") }) {
			t.Error("the model was not given the tool")
		}

		s.say(id, thenSays("mcp__sayso__ask_user", `{"questions":[{"id":"n","question":"Name?","type":"text"},{"id":"ok","question":"Sure?","type":"confirm"}],"title":"Two"}`, "several:"))
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"Name?": "Ada", "Sure?": "yes"})
		s.says(id, `several: {"answered":true`)

		s.say(id, thenSays("mcp__sayso__AskUser", `{"question":"Quick?"}`, "quick:"))
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"Quick?": "be it so"})
		s.says(id, "quick: be it so")

		s.say(id, thenSays("mcp__sayso__ask_question", `{"question":"How?","options":[{"value":"f","label":"Fast"}]}`, "question:"))
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"How?": "Fast"})
		s.says(id, `question: {"answer":"`)

		s.say(id, thenSays("mcp__sayso__submit_lifecycle_event", `{"event_type":"phase-started","phase_name":"Build","step":1,"total_steps":3}`, "lifecycle:"))
		s.says(id, `lifecycle: {"status":"ok"}`)
		s.say(id, thenSays("mcp__sayso__get_phase_status", `{}`, "status:"))
		s.says(id, `"phase_name":"Build"`)

		// Claude's own tool goes on working beside it.
		s.say(id, thenSays("AskUserQuestion", `{"questions":[{"question":"Which format?","header":"Format","multiSelect":false,"options":[{"label":"Summary","description":"s"},{"label":"Detailed","description":"l"}]}]}`, "own:"))
		s.answer(s.question(id, "claude").RequestID, map[string]string{"Which format?": "Detailed"})
		s.says(id, "own: ")
		s.says(id, "Detailed")

		// Planning, Claude changes nothing, and asking changes nothing.
		s.do("POST", "/api/sessions/"+id+"/permission_mode", map[string]any{"permission_mode": "plan"}, nil)
		s.say(id, thenSays("mcp__sayso__ask_user", `{"question":"Which plan?"}`, "plan:"))
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"Which plan?": "B"})
		s.says(id, "plan: User selected: B")
		s.do("POST", "/api/sessions/"+id+"/permission_mode", map[string]any{"permission_mode": "default"}, nil)

		// Interrupted, the question goes with the turn, and the next one comes.
		s.say(id, thenSays("mcp__sayso__ask_user", `{"question":"Never answered?"}`, "never:"))
		s.question(id, "mcp")
		s.do("POST", "/api/sessions/"+id+"/interrupt", map[string]any{}, nil)
		s.resolved(id, "Never answered?", "interrupted Claude.")
		within(t, realWaitLimit, "the end of the turn", func() bool { return s.process(id).State == "user_turn" })
		s.say(id, `[[{"text":"still here"}]]`)
		s.says(id, "still here")
	})
}

// resolved waits for the record of a question in the transcript that ended for one
// of the reasons, and that it is open no longer.
func (s *server) resolved(sessionID, question string, reasons ...string) {
	s.h.t.Helper()
	var last string
	ok := func() bool {
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		s.do("GET", "/api/sessions/"+sessionID+"/transcript?limit=500", nil, &page)
		for _, raw := range page.Items {
			var item struct {
				Kind      string          `json:"kind"`
				Outcome   string          `json:"outcome"`
				Summary   string          `json:"summary"`
				ToolInput json.RawMessage `json:"tool_input"`
			}
			must(s.h.t, json.Unmarshal(raw, &item))
			if item.Kind == "resolved" && strings.Contains(string(item.ToolInput), question) {
				last = string(raw)
				told := slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(item.Summary, reason) })
				return item.Outcome == "withdrawn" && told && len(s.open(sessionID)) == 0
			}
		}
		return false
	}
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > realWaitLimit {
			s.h.t.Fatalf("%q is not withdrawn because of %q; its record is %s", question, reasons, last)
		}
	}
}

func TestRealQuestionOverMCPOutlivesTheServer(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		h.asProcesses()
		s := h.start()
		id := s.session("```script\n" + thenSays("mcp__sayso__ask_user", `{"question":"Still there?"}`, "after:") + "\n```")
		r := s.question(id, "mcp")
		s.signal(syscall.SIGKILL)
		s.gone(waitLimit)

		// At another address, which the session's sayso mcp must come to know.
		s = h.start()
		if again := s.question(id, "mcp"); again.RequestID != r.RequestID {
			t.Errorf("asked again as %s, want %s", again.RequestID, r.RequestID)
		}
		s.answer(r.RequestID, map[string]string{"Still there?": "here I am"})
		s.says(id, "after: User selected: here I am")

		// Answered while no call could take it: the call that is issued again does.
		s.say(id, thenSays("mcp__sayso__ask_user", `{"question":"And now?"}`, "again:"))
		r = s.question(id, "mcp")
		s.answer(r.RequestID, map[string]string{"And now?": "quickly"})
		s.signal(syscall.SIGKILL)
		s.gone(waitLimit)
		s = h.start()
		s.says(id, "again: User selected: quickly")
	})
}

// How long a call may take is said in the files of its session: a question waits for
// as long as its person needs, whatever they set for servers of their own, and goes
// when the CLI cuts the call off.
func TestRealCallThatIsCutTakesItsQuestionAway(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		h.env = append(h.env, "MCP_TOOL_TIMEOUT=5000", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT=5000") // not 2000: a busy machine takes that for the call alone
		// In the folder of this name the CLI waits for two seconds only. Everywhere,
		// the calls go to a program: over HTTP, 2.1.197 would cut them after a minute.
		cut := filepath.Join(h.work, "cut")
		must(t, os.Mkdir(cut, 0o700))
		impatient := filepath.Join(t.TempDir(), "claude")
		script := `#!/bin/sh
for a in "$@"; do
	case "$a" in --mcp-config=*) f=${a#--mcp-config=}
		cp "$f" "` + h.work + `/mcp-config"
		case "$PWD" in */cut) sed 's/2000000000/2000/' "$f" >"$f.cut" && mv "$f.cut" "$f" ;; esac ;;
	esac
done
exec "` + h.claude + `" "$@"
`
		syscall.ForkLock.RLock() // whoever forks while the file is open makes it busy
		err := os.WriteFile(impatient, []byte(script), 0o700)
		syscall.ForkLock.RUnlock()
		must(t, err)
		h.claude = impatient
		s := h.start()
		patient := s.session("```script\n" + thenSays("mcp__sayso__ask_user", `{"question":"Long?"}`, "long:") + "\n```")
		r := s.question(patient, "mcp")
		var config struct {
			MCPServers map[string]struct {
				Command string
				Timeout int
			}
		}
		text, err := os.ReadFile(filepath.Join(h.work, "mcp-config"))
		must(t, err)
		must(t, json.Unmarshal(text, &config))
		if ours := config.MCPServers["sayso"]; ours.Command != h.program || ours.Timeout != 2_000_000_000 {
			t.Errorf("the session was given %s", text)
		}

		var made struct {
			SessionID string `json:"session_id"`
		}
		s.do("POST", "/api/sessions", map[string]any{"cwd": cut, "prompt": "```script\n" + thenSays("mcp__sayso__ask_user", `{"question":"In time?"}`, "cut:") + "\n```"}, &made)
		id := made.SessionID
		s.says(id, "cut: ")
		// The CLI says so to the server, and the result of the call says it, too.
		s.resolved(id, "In time?", "The agent canceled its question.", "Claude stopped waiting for the answer.")
		within(t, realWaitLimit, "the end of the turn", func() bool { return s.process(id).State == "user_turn" })

		if now := s.question(patient, "mcp"); now.RequestID != r.RequestID {
			t.Fatalf("after the other was cut off it is asked as %s, want %s", now.RequestID, r.RequestID)
		}
		s.answer(r.RequestID, map[string]string{"Long?": "long enough"})
		s.says(patient, "long: User selected: long enough")
	})
}

// A person may have registered sayso for their own claude under the same name: a
// session asks over its own all the same.
func TestRealSessionAsksOverItsOwnServer(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		other := `{"mcpServers":{"sayso":{"command":"/bin/false"}}}`
		must(t, os.WriteFile(filepath.Join(filepath.Dir(h.work), ".claude.json"),
			[]byte(`{"mcpServers":{"sayso":{"command":"/bin/false"}},"projects":{"`+h.work+`":`+other+`}}`), 0o600))
		s := h.start()
		id := s.session("```script\n" + thenSays("mcp__sayso__ask_user", `{"question":"Whose?"}`, "own:") + "\n```")
		s.answer(s.question(id, "mcp").RequestID, map[string]string{"Whose?": "mine"})
		s.says(id, "own: User selected: mine")
	})
}
