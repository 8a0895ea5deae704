package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// From sayso mcp stream to the answer of a person: the PromptManager's protocol,
// with our programs on both of its ends.
func TestStreamAsksAsThePromptManagerDoes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	address, err := blackbox.FreeAddress() // the configuration file names it for good
	must(t, err)
	s := h.start("--listen", address)
	file := filepath.Join(h.state, "ask-user.json")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(h.program, append([]string{"mcp", "stream", "--state-dir", h.state, "--project", h.work}, args...)...)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, bad := range [][]string{{}, {"--timeout", "29", file}, {"--timeout", "901", file}, {"--expires", "-1s", file}} {
		if out, err := run(bad...); err == nil {
			t.Errorf("%v: %s", bad, out)
		}
	}
	if out, err := run("--timeout", "600", "-p", "5", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(file)
	must(t, err)
	var config struct {
		APIURL      string `json:"apiUrl"`
		StreamToken string `json:"streamToken"`
		ProjectID   int    `json:"projectId"`
		Timeout     int    `json:"timeout"`
	}
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(data, &config))
	if info.Mode().Perm() != 0o600 || config.APIURL != s.URL || config.ProjectID != 5 || config.Timeout != 600 {
		t.Errorf("mode %v, %+v", info.Mode(), config)
	}

	cmd := exec.Command(h.program, "mcp")
	cmd.Env = append(append([]string{}, h.env...), "ASK_USER_CONFIG="+file)
	stderr := &words{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sayso mcp said: %s", stderr)
		}
	})
	lines := bufio.NewReader(stdout)
	say := func(text string) {
		t.Helper()
		_, err := io.WriteString(stdin, text+"\n")
		must(t, err)
	}
	hear := func(want string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		must(t, err)
		if !strings.Contains(line, want) {
			t.Fatalf("heard %s, want %s", line, want)
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`)
	hear(`"ask-user"`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which approach should I use?","options":[{"label":"Option A"},{"label":"Option B"}]}}}`)
	id := s.waiting(t)
	// The server dies while the question is open, and comes back where it was.
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	s = h.start("--listen", address)
	if again := s.waiting(t); again != id {
		t.Errorf("after a restart %s, before %s", again, id)
	}
	s.do("POST", "/claude/submit-answer?p=5", map[string]any{"streamToken": config.StreamToken, "answer": "Option B", "selectedOptions": []int{1}}, nil)
	hear(`User selected: Option B`)
	must(t, stdin.Close())
	must(t, cmd.Wait())
	if code := s.as(config.StreamToken).status("GET", "/api/pending", nil, nil); code != 401 {
		t.Errorf("the stream reads: %d", code)
	}
	if code := s.status("GET", fmt.Sprintf("/claude/poll-answer?p=5&streamToken=%s", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"), nil, nil); code != 403 {
		t.Errorf("an unknown stream: %d", code)
	}
}
