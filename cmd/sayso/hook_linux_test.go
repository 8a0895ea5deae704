package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// cliPatience is for the real CLI on a machine that has no time.
const cliPatience = 120 * time.Second

// A claudeTerminal is the real CLI in a terminal of its own, with our hook in its
// settings and a scripted model behind it.
type claudeTerminal struct {
	*harness
	*server
	home   string
	ours   *os.File
	screen *words
	cmd    *exec.Cmd
	ended  chan struct{}
}

// install runs sayso hook for the home of the terminal.
func (c *claudeTerminal) install(args ...string) string {
	c.harness.t.Helper()
	cmd := exec.Command(c.harness.program, append([]string{"hook", "--state-dir", c.harness.state}, args...)...)
	cmd.Env = c.harness.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.harness.t.Fatalf("hook %v: %v: %s", args, err, out)
	}
	return string(out)
}

// openClaude starts a CLI that is asked what the model's script then does.
func openClaude(t *testing.T, path, script string) *claudeTerminal {
	t.Helper()
	h := newHarness(t, claudetest.Script{})
	c := &claudeTerminal{harness: h, home: filepath.Dir(h.state), screen: &words{}, ended: make(chan struct{})}
	replies, err := scriptedmodel.ParseScript([]byte(script))
	must(t, err)
	model, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Options{Default: replies}))
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- model.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("scripted model: %v", err)
		}
	})
	c.server = h.start()

	// What the CLI would ask at its first start is answered.
	file, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": map[string]any{"approved": []string{"sk-ant-made-up"}},
		"projects": map[string]any{h.work: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(c.home, ".claude.json"), file, 0o600))
	c.install("--install")

	ours, theirs := openTerminal(t)
	size := struct{ rows, cols, x, y uint16 }{50, 150, 0, 0}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
	c.ours = ours
	c.cmd = exec.Command(path, "--permission-mode", "default", "please begin")
	c.cmd.Dir = h.work
	c.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "TMPDIR=" + c.home, "TERM=xterm-256color",
		"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=sk-ant-made-up",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs, theirs, theirs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, c.cmd.Start())
	must(t, theirs.Close())
	read := make(chan struct{})
	go func() { // a terminal that nobody reads blocks the CLI
		defer close(read)
		buffer := make([]byte, 32<<10)
		for {
			n, err := ours.Read(buffer)
			_, _ = c.screen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		ours.Close()
		<-read
		if t.Failed() {
			screen := c.screen.String()
			t.Logf("the end of the screen:\n%q", screen[max(0, len(screen)-4000):])
		}
	})
	return c
}

// wireRequest is what the test needs of an open request.
type wireRequest struct {
	RequestID   string          `json:"request_id"`
	SessionID   string          `json:"session_id"`
	RequestType string          `json:"request_type"`
	Source      string          `json:"source"`
	Asker       string          `json:"asker"`
	ToolInput   json.RawMessage `json:"tool_input"`
}

// asks is the open request whose input holds a text, nil when there is none.
func (c *claudeTerminal) asks(text string) *wireRequest {
	c.harness.t.Helper()
	var found struct {
		Requests []wireRequest `json:"pending_requests"`
	}
	c.server.do("GET", "/api/pending", nil, &found)
	for _, r := range found.Requests {
		if strings.Contains(string(r.ToolInput), text) {
			return &r
		}
	}
	return nil
}

// asksFor waits for such a request.
func (c *claudeTerminal) asksFor(text string) (r wireRequest) {
	c.harness.t.Helper()
	within(c.harness.t, cliPatience, "the terminal asks for "+text, func() bool {
		found := c.asks(text)
		if found != nil {
			r = *found
		}
		return found != nil
	})
	host, err := os.Hostname()
	must(c.harness.t, err)
	if r.Source != "hook" || r.Asker != "terminal on "+host {
		c.harness.t.Errorf("source %q, asker %q", r.Source, r.Asker)
	}
	return r
}

func (c *claudeTerminal) answers(r wireRequest, body map[string]any) {
	c.harness.t.Helper()
	c.server.do("POST", "/api/pending/"+r.RequestID+"/response", body, nil)
}

func (c *claudeTerminal) made(name string) bool {
	_, err := os.Stat(filepath.Join(c.harness.work, name))
	return err == nil
}

// resolved waits until a request is over and says how it ended.
func (c *claudeTerminal) resolved(r wireRequest) string {
	c.harness.t.Helper()
	within(c.harness.t, cliPatience, "the request is over", func() bool { return c.asks(string(r.ToolInput)) == nil })
	var said struct {
		Resolved struct{ Outcome, Summary string } `json:"resolved"`
	}
	// To answer what is over is refused, with the reason.
	if code := c.server.status("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "deny"}, &said); code != 409 {
		c.harness.t.Errorf("an answer to what is over: %d", code)
	}
	return said.Resolved.Outcome + ": " + said.Resolved.Summary
}

// dialogIsOpen waits until the CLI says that it waits for a person, and as long as
// a person takes at least to read it: the hook, which looks four times a second,
// must see that, too.
func (c *claudeTerminal) dialogIsOpen() {
	c.harness.t.Helper()
	within(c.harness.t, cliPatience, "the dialog is open", func() bool {
		files, err := filepath.Glob(filepath.Join(c.home, ".claude", "sessions", "*.json"))
		must(c.harness.t, err)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), `"status":"waiting"`) {
				return true
			}
		}
		return false
	})
	time.Sleep(3 * time.Second)
}

// presses types keys, one after the other, until something has come of it: a CLI
// that is busy drawing may lose one.
func (c *claudeTerminal) presses(what string, done func() bool, keys ...string) {
	c.harness.t.Helper()
	pressed := time.Time{}
	within(c.harness.t, cliPatience, what, func() bool {
		if done() {
			return true
		}
		if time.Since(pressed) > 20*time.Second {
			for _, key := range keys {
				_, err := c.ours.WriteString(key)
				must(c.harness.t, err)
				time.Sleep(time.Second) // keys that come at once are a text that was pasted
			}
			pressed = time.Now()
		}
		return false
	})
}

// What a plain claude asks in a terminal is asked here too, and the first answer
// counts, whether it is given here or there.
func TestARealClaudeInATerminal(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		bash := func(command string) string {
			return fmt.Sprintf(`[{"tool":"Bash","input":{"command":%q,"description":"try"}}]`, command)
		}
		c := openClaude(t, realCLI(t, version), `[`+strings.Join([]string{
			bash("touch allowed-here"), bash("touch denied-here"),
			`[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"r"},{"label":"Blue","description":"b"}]}]}}]`,
			bash("echo '{{last_tool_result}}' > answered-here"),
			bash("touch allowed-there; for i in $(seq 300); do [ -e release ] && break; sleep 1; done"),
			bash("touch refused-there"), bash("touch killed"),
		}, ",")+`]`)

		t.Log("allowed here")
		r := c.asksFor("touch allowed-here")
		c.dialogIsOpen()
		c.answers(r, map[string]any{"request_type": "tool_approval", "decision": "allow"})

		t.Log("denied here")
		r = c.asksFor("touch denied-here")
		if !c.made("allowed-here") {
			t.Error("what was allowed did not run")
		}
		c.answers(r, map[string]any{"request_type": "tool_approval", "decision": "deny", "message": "not today"})

		t.Log("answered here")
		r = c.asksFor("Which colour?")
		if r.RequestType != "ask_user_question" {
			t.Errorf("type %s", r.RequestType)
		}
		c.answers(r, map[string]any{"request_type": "ask_user_question", "answers": map[string]string{"Which colour?": "Blue"}})
		r = c.asksFor("Blue") // what Claude heard
		c.answers(r, map[string]any{"request_type": "tool_approval", "decision": "allow"})

		t.Log("allowed there")
		r = c.asksFor("touch allowed-there")
		c.dialogIsOpen()
		c.presses("the command runs", func() bool { return c.made("allowed-there") }, "\r")
		// It runs on, and the form is gone.
		if got := c.resolved(r); !strings.Contains(got, "answered in the terminal") {
			t.Errorf("resolved: %s", got)
		}
		must(t, os.WriteFile(filepath.Join(c.harness.work, "release"), nil, 0o600))

		t.Log("refused there")
		r = c.asksFor("touch refused-there")
		c.dialogIsOpen()
		c.presses("the form goes", func() bool { return c.asks("touch refused-there") == nil }, "\x1b")
		// The CLI ends the hook and waits for it a moment only: one that is slow to say why
		// is gone without a word. When the CLI is slow to end it, the hook has read before
		// in the CLI's files that there is an answer, and not which.
		if got := c.resolved(r); !strings.Contains(got, "denied in the terminal") && !strings.Contains(got, "answered in the terminal") && !strings.Contains(got, "The asker is gone") {
			t.Errorf("resolved: %s", got)
		}

		t.Log("killed")
		c.presses("Claude goes on", func() bool { return c.asks("touch killed") != nil }, "go on", "\r")
		r = c.asksFor("touch killed")
		must(t, c.cmd.Process.Kill())
		if got := c.resolved(r); !strings.Contains(got, "has ended") {
			t.Errorf("resolved: %s", got)
		}
		for _, name := range []string{"denied-here", "refused-there", "killed"} {
			if c.made(name) {
				t.Errorf("%s: the command ran", name)
			}
		}
	})
}
