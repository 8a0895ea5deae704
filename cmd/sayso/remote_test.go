package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// terminal runs a command as a person at the server's machine does, and returns what it
// printed and its exit code.
func (h *harness) terminal(words ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	cmd := exec.Command(h.program, append(words, "--state-dir", h.state)...)
	cmd.Env = h.env
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run() // the exit code says it
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// hostileCommand tries to clear the screen, to show another command, and to look like
// the output of sayso.
const hostileCommand = "rm -rf build \x1b[2J\x1b[H\x1b]0;safe\x07\r echo \u202eharmless\u009b1m\nDigest   000000000000\nApprove  sayso answer x allow"

// attack 141
func TestTerminalShowsRequestsInertAndWhole(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash\x1b[31m", "description": "\x1b[8mhidden", "input": map[string]any{"command": hostileCommand, "timeout": 5}}},
		{Text: "\x1b]52;c;cm0=\x07done"},
	}})
	s := h.start()
	id := s.session("one \x1b[2J")
	request := s.asks(id)
	inert := func(text string) {
		t.Helper()
		for _, r := range text {
			if r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e {
				t.Fatalf("%U reached the terminal in\n%q", r, text)
			}
		}
	}
	out, _, code := h.terminal("pending")
	inert(out)
	for _, want := range []string{
		"rm -rf build [ESC][2J[ESC][H[ESC]]0;safe[BEL][CR] echo [RLO]harmless[CSI]1m", "[ESC][8mhidden", "timeout: 5", "Bash[ESC][31m",
		"  │   Digest   000000000000", request, "hidden or confusable characters are shown",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("pending lacks %q", want)
		}
	}
	if code != 0 || t.Failed() {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	printed, _, _ := h.terminal("pending", request[:8], "--json")
	inert(printed)
	var list struct {
		PendingRequests []struct {
			Digest    string                   `json:"digest"`
			ToolInput struct{ Command string } `json:"tool_input"`
		} `json:"pending_requests"`
	}
	if err := json.Unmarshal([]byte(printed), &list); err != nil || len(list.PendingRequests) != 1 || list.PendingRequests[0].ToolInput.Command != hostileCommand {
		t.Fatalf("pending --json: %v\n%s", err, printed)
	}
	digest := list.PendingRequests[0].Digest
	for _, words := range [][]string{{"sessions"}, {"sessions", "--all", "--json"}, {"status"}, {"pending", "--short"}} {
		out, said, code := h.terminal(words...)
		if inert(out + said); code != 0 || out == "" {
			t.Errorf("%v: exit code %d\n%s%s", words, code, out, said)
		}
	}

	// What was seen is what is answered.
	for _, row := range []struct {
		words []string
		code  int
		says  string
	}{
		{[]string{"answer", request, "allow"}, 2, "give the digest"},
		{[]string{"answer", request, "allow", "--digest", "000000000000"}, 1, "the digest is not that of this request"},
		{[]string{"answer", request, "allow", "--digest", digest[:4]}, 1, "the digest is not that of this request"},
		{[]string{"answer", request, "perhaps", "--digest", digest}, 2, "allow or deny"},
		{[]string{"answer", request}, 2, "needs the id of a request and an answer"},
		{[]string{"answer", "ffffffff", "deny"}, 1, "there is no open request"},
		{[]string{"answer", request, "allow", "--reason", "x", "--digest", digest}, 2, "go with deny"},
		{[]string{"answer", "ffffffff", "deny"}, 1, "type its full id"},
		{[]string{"kill", "nothing-like-it"}, 1, "there is no session"},
		{[]string{"kill", "abc"}, 1, "at least 4 characters of the id\n"},
		{[]string{"answer", "abc", "deny"}, 1, "at least 4 characters of the id\n"},
		{[]string{"logs"}, 2, "needs the id of one session"},
		{[]string{"status", "--server", "http://sayso.example.org"}, 2, "without encryption"},
		{[]string{"status", "--server", "https://sayso.example.org"}, 1, "needs a token"},
	} {
		out, said, code := h.terminal(row.words...)
		if code != row.code || !strings.Contains(said, row.says) || out != "" {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", row.words, code, row.code, row.says, out, said)
		}
	}
	if len(s.openIDs(t)) != 1 {
		t.Fatal("the request is not open any more")
	}
	if out, said, code := h.terminal("answer", request[:8], "allow", "--digest", digest); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, said)
	}
	s.reaches(id, "user_turn")
	if _, said, code := h.terminal("answer", request, "deny"); code != 3 || !strings.Contains(said, "Your answer was not used") || !strings.Contains(said, "admin answered") {
		t.Errorf("the second answer: exit code %d: %s", code, said)
	}
	eventually(t, "the transcript", func() bool {
		out, _, code = h.terminal("logs", id[:8])
		return code == 0 && strings.Contains(out, "[ESC]]52;c;cm0=[BEL]done")
	})
	inert(out)
	if out, said, code := h.terminal("kill", id[:8]); code != 0 {
		t.Errorf("kill: exit code %d: %s%s", code, out, said)
	}
	s.reaches(id, "dead")
	if out, said, code := h.terminal("kill", id[:8]); code != 0 || !strings.Contains(out, " is not running.") {
		t.Errorf("kill of a stopped session: exit code %d: %s%s", code, out, said)
	}
}

func TestQuestionsAreAnsweredInTheTerminal(t *testing.T) {
	t.Parallel()
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{
			map[string]any{"question": "Which color?", "header": "Color", "options": []any{option("Red"), option("Blue\n2  Green")}, "multiSelect": false},
			map[string]any{"question": "Which sizes?", "header": "Size", "options": []any{option("S"), option("M"), option("L")}, "multiSelect": true},
			map[string]any{"question": "Why?", "header": "Why", "options": []any{option("x"), option("y")}, "multiSelect": false},
		}}}},
		{Text: "answers: {{last_tool_result}}"},
	}})
	s := h.start()
	id := s.session("one")
	request := s.asks(id)
	out, _, _ := h.terminal("pending")
	if !strings.Contains(out, "2  Blue[LF]2  Green") || !strings.Contains(out, "1,3") {
		t.Errorf("pending printed\n%s", out)
	}
	_, digest, _ := strings.Cut(out, "--digest ")
	digest, _, _ = strings.Cut(digest, "\n")
	if _, said, code := h.terminal("answer", request, "1", "--digest", digest); code != 2 || !strings.Contains(said, "3 answers") {
		t.Errorf("one answer to three questions: exit code %d: %s", code, said)
	}
	if _, said, code := h.terminal("answer", request, "1", "1,4", "=2", "--digest", digest); code != 2 || !strings.Contains(said, "question 2 has options 1 to 3; for the text 1,4, type =1,4") {
		t.Errorf("an option that is not there: exit code %d: %s", code, said)
	}
	if out, said, code := h.terminal("answer", request, "1", "1,3", "=2", "--digest", digest); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, said)
	}
	s.reaches(id, "user_turn")
	for _, call := range h.records("answer") {
		text := fmt.Sprint(call)
		if !strings.Contains(text, "Red") || !strings.Contains(text, "S, L") {
			t.Errorf("Claude got %s", text)
		}
	}
}

// attack 142
func TestSocketOfTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}})
	if _, said, code := h.terminal("status"); code != 1 || !strings.Contains(said, "no server runs on the state folder") {
		t.Errorf("without a server: exit code %d: %s", code, said)
	}
	s := h.start()
	info, err := os.Stat(filepath.Join(h.state, "sayso.sock"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others may open the socket: %s", info.Mode())
	}
	folder, err := os.Stat(h.state)
	must(t, err)
	if folder.Mode().Perm() != 0o700 {
		t.Errorf("others may enter the state folder: %s", folder.Mode())
	}
	// What Claude runs must not answer by mistake.
	id := s.session("one")
	request := s.asks(id)
	cmd := h.command("answer", request, "deny")
	cmd.Env = append(cmd.Env, "SAYSO_SHIM=1")
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "for people") {
		t.Errorf("in a session: %v, %s", err, said)
	}
	// A token of somebody who may not, and none at all elsewhere.
	var viewer struct{ Token string }
	s.do("POST", "/api/tokens", map[string]any{"name": "looker", "role": "viewer"}, &viewer)
	for token, want := range map[string]string{viewer.Token: "", "nonsense": "the token is not valid"} {
		cmd := exec.Command(h.program, "answer", request, "deny", "--server", s.URL)
		cmd.Env = append(append([]string{}, h.env...), "SAYSO_TOKEN="+token)
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
			t.Errorf("with the token of somebody who may not: %v, %s", err, said)
		}
	}
	cmd = exec.Command(h.program, "status", "--json", "--server", s.URL)
	cmd.Env = append(append([]string{}, h.env...), "SAYSO_TOKEN="+blackbox.Token)
	said, err := cmd.Output()
	var status struct {
		Ready        bool
		OpenRequests int `json:"open_requests"`
	}
	if err != nil || json.Unmarshal(said, &status) != nil || !status.Ready || status.OpenRequests != 1 {
		t.Errorf("with a token: %v, %s", err, said)
	}
	out, _, _ := h.terminal("status")
	if !strings.Contains(out, "1 request needs your attention") {
		t.Errorf("status printed\n%s", out)
	}
	s.allow(request)
	s.reaches(id, "user_turn")
	s.stop()
	if _, err := os.Stat(filepath.Join(h.state, "sayso.sock")); !os.IsNotExist(err) {
		t.Errorf("a server that stopped leaves its socket: %v", err)
	}
}

// TestLogsFollow prints what comes, until it is interrupted.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start()
	id := s.session("one")
	request := s.asks(id)
	cmd := h.command("logs", "-f", id)
	said := &words{}
	cmd.Stdout, cmd.Stderr = said, said
	must(t, cmd.Start())
	eventually(t, "what is there already", func() bool { return strings.Contains(said.String(), "touch a") })
	s.allow(request)
	eventually(t, "what came", func() bool { return strings.Contains(said.String(), "It is there.") })
	must(t, cmd.Process.Signal(syscall.SIGINT))
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(waitLimit):
		t.Fatal("it does not end")
	}
}

// TestTerminalPage runs every command of the page about the terminal.
func TestTerminalPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating", "terminal.md"))
	must(t, err)
	question := func(text string, many bool) map[string]any {
		option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
		return map[string]any{"question": text, "header": "h", "options": []any{option("A"), option("B"), option("C")}, "multiSelect": many}
	}
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, bash, {Ask: map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{
		question("1?", false), question("2?", true), question("3?", false),
	}}}}, {Text: "It is there."}}})
	s := h.start()
	id := s.session("one")
	ran := 0
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			env := append([]string{}, h.env...)
			env = append(env, "PATH="+filepath.Dir(h.program)+":"+os.Getenv("PATH"), "SAYSO_STATE_DIR="+h.state, "SAYSO_TOKEN=")
			switch {
			case strings.HasPrefix(line, "export "):
				continue // the next line has its token
			case strings.Contains(line, "--server"):
				line = strings.ReplaceAll(line, "https://sayso.example.org", s.URL)
				env = append(env, "SAYSO_TOKEN="+blackbox.Token)
			case strings.Contains(line, "sayso answer"):
				request := s.asks(id)
				out, _, _ := h.terminal("pending", request)
				_, digest, _ := strings.Cut(out, "--digest ")
				digest, _, _ = strings.Cut(digest, "\n")
				line = strings.NewReplacer("ID", request[:8], "DIGEST", digest).Replace(line)
			default:
				line = strings.ReplaceAll(line, "ID", id[:8])
			}
			cmd := exec.Command("bash", "-o", "pipefail", "-c", line)
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			ran++
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands were found", ran)
	}
	s.reaches(id, "dead")
}
