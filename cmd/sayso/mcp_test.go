package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
	"github.com/sayso-dev/sayso/mcpapi"
)

// stdio is a running `sayso mcp`, as an agent starts it.
type stdio struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // of stdout; closed at its end
	said  *words
	file  string
}

// agent mints a token and starts a `sayso mcp` that has it.
func (h *harness) agent(t *testing.T, s *server, name string) *stdio {
	t.Helper()
	secret := h.agentToken(t, name)
	c := &stdio{t: t, cmd: exec.Command(h.program), lines: make(chan string, 100), said: &words{}, file: filepath.Join(t.TempDir(), "connect.json")}
	c.connect(s.URL+"/mcp", secret)
	c.cmd.Args = append(c.cmd.Args, "mcp", "--connect", c.file)
	c.cmd.Env = h.env
	c.cmd.Stderr = c.said
	var err error
	c.in, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(c.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		c.in.Close()
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // or it waits for the answers to what it read
		for range c.lines {                       // until its end
		}
		<-done
		if err := c.cmd.Wait(); err != nil || strings.Contains(c.said.String(), "DATA RACE") {
			t.Errorf("sayso mcp ended with %v and said %s", err, c.said)
		}
	})
	return c
}

func (h *harness) agentToken(t *testing.T, name string) string {
	t.Helper()
	out, err := h.command("token", "--agent", name).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// connect writes where the server is.
func (c *stdio) connect(url, secret string) {
	c.t.Helper()
	text, err := json.Marshal(map[string]string{"url": url, "token": secret})
	must(c.t, err)
	next := c.file + ".new"
	must(c.t, os.WriteFile(next, text, 0o600))
	must(c.t, os.Rename(next, c.file))
}

func (c *stdio) send(line string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, line)
	must(c.t, err)
}

// reply reads the next line.
func (c *stdio) reply() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("sayso mcp ended; it said %s", c.said)
		}
		return line
	case <-time.After(waitLimit):
		c.t.Fatalf("no reply within %s", waitLimit)
	}
	return ""
}

// greet goes through the handshake.
func (c *stdio) greet() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if got := c.reply(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) || !strings.Contains(got, `"sayso"`) {
		c.t.Fatalf("initialize: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *stdio) ask(id int, question string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":%q}}}`, id, question))
}

// asked is a question as the REST list shows it.
type asked struct {
	RequestID string `json:"request_id"`
	SessionID string `json:"session_id"`
	Source    string `json:"source"`
	Form      struct {
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	} `json:"form"`
}

// questions waits until this many questions are open.
func (s *server) questions(n int) []asked {
	s.h.t.Helper()
	return s.questionsWithin(waitLimit, n)
}

func (s *server) questionsWithin(limit time.Duration, n int) []asked {
	s.h.t.Helper()
	var list struct {
		PendingRequests []asked `json:"pending_requests"`
	}
	within(s.h.t, limit, fmt.Sprintf("%d questions are open", n), func() bool {
		s.do("GET", "/api/pending", nil, &list)
		return len(list.PendingRequests) == n
	})
	return list.PendingRequests
}

func (s *server) reply(a asked, text string) {
	s.h.t.Helper()
	s.do("POST", "/api/pending/"+a.RequestID+"/response", map[string]any{"session_id": a.SessionID, "request_type": "ask_user_question",
		"answers": map[string]string{a.Form.Questions[0].Question: text}}, nil)
}

// An agent that asks over stdio hears nothing of a server that is killed and comes
// back at another address: its question is answered, once.
func TestMCPQuestionSurvivesTheKillOfTheServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	first := h.start()
	c := h.agent(t, first, "builder")
	c.greet()
	c.ask(1, "Which port?")
	before := first.questions(1)[0]
	if before.Source != "mcp" {
		t.Errorf("source %s", before.Source)
	}

	first.signal(syscall.SIGKILL)
	first.gone(waitLimit)
	c.ask(2, "And which host?") // while there is no server
	second := h.start()
	c.connect(second.URL+"/mcp", c.secret())

	list := second.questions(2)
	if list[0].RequestID != before.RequestID {
		t.Fatalf("the question is %s now, was %s", list[0].RequestID, before.RequestID)
	}
	second.reply(list[0], "8080")
	if got := c.reply(); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "User selected: 8080") {
		t.Fatalf("got %s", got)
	}
	second.reply(list[1], "localhost")
	if got := c.reply(); !strings.Contains(got, `"id":2,`) || !strings.Contains(got, "User selected: localhost") {
		t.Fatalf("got %s", got)
	}
	// Nothing else has come: the next line is of the next request.
	c.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if got := c.reply(); got != `{"jsonrpc":"2.0","id":3,"result":{}}` {
		t.Fatalf("got %s", got)
	}
}

// A server that is stopped in order leaves the question for the next as well.
func TestMCPQuestionSurvivesTheStopOfTheServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	first := h.start()
	c := h.agent(t, first, "builder")
	c.greet()
	c.ask(1, "Which port?")
	before := first.questions(1)[0]
	first.stop()
	second := h.start()
	c.connect(second.URL+"/mcp", c.secret())
	list := second.questions(1)
	if list[0].RequestID != before.RequestID {
		t.Fatalf("the question is %s now, was %s", list[0].RequestID, before.RequestID)
	}
	second.reply(list[0], "8080")
	if got := c.reply(); !strings.Contains(got, "User selected: 8080") {
		t.Fatalf("got %s", got)
	}
}

func (c *stdio) secret() string {
	c.t.Helper()
	var now struct{ Token string }
	text, err := os.ReadFile(c.file)
	must(c.t, err)
	must(c.t, json.Unmarshal(text, &now))
	return now.Token
}

func TestMCPCancelAndTheEndOfStdin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	c := h.agent(t, s, "builder")
	c.greet()
	c.ask(1, "Cancelled?")
	s.questions(1)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no need"}}`)
	s.questions(0)
	// What it has read it asks on, until the answer.
	c.ask(2, "Still there?")
	must(t, c.in.Close())
	s.reply(s.questions(1)[0], "Yes.")
	if got := c.reply(); !strings.Contains(got, "User selected: Yes.") {
		t.Errorf("got %s", got)
	}
	for line := range c.lines {
		t.Errorf("after the last answer: %s", line)
	}
}

// What is read before the end of stdin is answered, by the forwarder and by the
// PromptManager's MCP server alike.
func TestMCPAnswersWhatWasPipedIntoIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	address, err := blackbox.FreeAddress() // the configuration file names it for good
	must(t, err)
	s := h.start("--listen", address)
	input := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which port?"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/list"}
`
	for name, args := range s.askers(t) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(h.program, args...)
			cmd.Env, cmd.Stdin = h.env, strings.NewReader(input)
			var out, said words
			cmd.Stdout, cmd.Stderr = &out, &said
			must(t, cmd.Start())
			s.reply(s.questions(1)[0], "8080")
			must(t, cmd.Wait())
			for _, want := range []string{`"id":0`, `"id":1`, `"id":2`, `"id":3`, "User selected: 8080"} {
				if strings.Count(out.String(), want) != 1 {
					t.Errorf("%s is not there once: %s %s", want, &out, &said)
				}
			}
		})
	}
}

// askers are the command lines of sayso mcp, by what they speak to the server.
func (s *server) askers(t *testing.T) map[string][]string {
	t.Helper()
	h := s.h
	connect, stream := filepath.Join(t.TempDir(), "connect.json"), filepath.Join(t.TempDir(), "ask-user.json")
	c := &stdio{t: t, file: connect}
	c.connect(s.URL+"/mcp", h.agentToken(t, "builder"))
	made := exec.Command(h.program, "mcp", "stream", "--state-dir", h.state, "--project", h.work, stream)
	made.Env = h.env
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return map[string][]string{"connect": {"mcp", "--connect", connect}, "config": {"mcp", "--config", stream}}
}

// A question goes with the process that asks it: killed without a word, ended by
// SIGTERM, or with nobody who reads what it says.
func TestMCPQuestionGoesWithItsProcess(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	address, err := blackbox.FreeAddress()
	must(t, err)
	s := h.start("--listen", address)
	ends := map[string]func(cmd *exec.Cmd, in io.Closer, out io.Closer) error{
		"killed":     func(cmd *exec.Cmd, _, _ io.Closer) error { return cmd.Process.Kill() },
		"terminated": func(cmd *exec.Cmd, _, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"unheard":    func(_ *exec.Cmd, in, out io.Closer) error { return errors.Join(in.Close(), out.Close()) },
	}
	// All ask before the first one ends: a server notices the end of each as late.
	var endAll []func()
	for name, args := range s.askers(t) {
		for how, end := range ends {
			question := name + " " + how
			cmd := exec.Command(h.program, args...)
			cmd.Env = h.env
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			_, err = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":%q}}}
`, question)
			must(t, err)
			endAll = append(endAll, func() {
				must(t, end(cmd, in, out))
				if err := cmd.Wait(); err != nil && how != "killed" {
					t.Errorf("%s: it ended with %v", question, err)
				}
			})
		}
	}
	open := s.questions(len(endAll))
	for _, end := range endAll {
		end()
	}
	s.questionsWithin(mcpapi.AskerGone+waitLimit, 0)
	for _, r := range open {
		var fate struct {
			Resolved struct{ Outcome, Summary string }
		}
		s.do("GET", "/api/pending/"+r.RequestID, nil, &fate)
		if fate.Resolved.Outcome != "withdrawn" || !strings.Contains(fate.Resolved.Summary, "The asker is gone.") {
			t.Errorf("%s: it ended as %+v", r.Form.Questions[0].Question, fate.Resolved)
		}
	}
}

// What an agent has a token for is to ask. Nothing else takes it.
func TestMCPTokenOfAnAgentOnlyAsks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	secret := h.agentToken(t, "builder")
	status := func(method, path, token string, header ...string) int {
		t.Helper()
		r, err := http.NewRequest(method, s.URL+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"asks", status("POST", "/mcp", secret), 200},
		{"with another token", status("POST", "/mcp", s.Token), 401},
		{"of a page of another site", status("POST", "/mcp", secret, "Origin", "https://evil.example"), 403},
		{"of a page, without an origin", status("POST", "/mcp", secret, "Sec-Fetch-Site", "cross-site"), 403},
		{"credential in the address", status("POST", "/mcp?token=x", secret), 400},
		{"reads", status("GET", "/mcp", secret), 405},
		{"sees nothing", status("GET", "/api/pending", secret), 401},
		{"answers nothing", status("POST", "/api/pending/x/response", secret), 401},
		{"opens no socket", status("GET", "/ws", secret), 401},
		{"does not sign in", status("POST", "/api/login", secret), 400},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}

	c := h.agent(t, s, "builder")
	c.greet()
	c.connect(s.URL+"/mcp", strings.Repeat("0", 64))
	c.ask(1, "Anybody?")
	if got := c.reply(); !strings.Contains(got, `"error"`) || !strings.Contains(got, "401") {
		t.Fatalf("with a token that is none: %s", got)
	}
	c.send(`{"jsonrpc":`)
	if got := c.reply(); !strings.Contains(got, "-32700") {
		t.Fatalf("what is no JSON: %s", got)
	}
}

// The revision of 2026-07-28 has no handshake and repeats in headers what it says.
func TestMCPNewestRevisionOverStdio(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	c := h.agent(t, s, "builder")
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	c.send(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}`)
	if got := c.reply(); !strings.Contains(got, `"2026-07-28"`) || !strings.Contains(got, `"2025-11-25"`) {
		t.Fatalf("discover: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask_question","arguments":{"question":"Which?"},` + meta + `}}`)
	s.reply(s.questions(1)[0], "this")
	if got := c.reply(); !strings.Contains(got, `{\"answer\":\"this\"}`) {
		t.Fatalf("got %s", got)
	}
}

func TestMCPConnectionFileIsChecked(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	for text, want := range map[string]string{
		`{"url":"http://127.0.0.1:1/mcp"}`:                 "needs a token",
		`{"url":"file:///etc/passwd","token":"x"}`:         "needs a url",
		`{"url":"http://u:p@127.0.0.1:1/mcp","token":"x"}`: "needs a url",
		`the secret is x`:                                  "is not JSON",
	} {
		file := filepath.Join(t.TempDir(), "connect.json")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		cmd := exec.Command(h.program, "mcp", "--connect", file)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "the secret is x") {
			t.Errorf("%s: %v, %s", text, err, out)
		}
	}
}
