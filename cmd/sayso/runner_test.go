package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// cable is a connection to a server that can be cut: while it is, nobody gets through.
type cable struct {
	net.Listener
	to string

	mu      sync.Mutex
	cut     bool
	through []net.Conn
}

// newCable lays a cable to the server until the end of the test.
func newCable(t *testing.T, s *server) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cable{Listener: l, to: strings.TrimPrefix(s.URL, "http://")}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			carrying.Go(func() { c.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.set(true)
		carrying.Wait()
	})
	return c
}

func (c *cable) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return
	}
	c.through = append(c.through, near, far)
	c.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far) // until it is cut
		near.Close()
	})
	_, _ = io.Copy(far, near)
	far.Close()
	back.Wait()
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, conn := range c.through {
			conn.Close()
		}
		c.through = nil
	}
}

// far is a harness that stands for another host: its CLIs run there.
type far struct {
	*harness
	id, tokenFile string
}

// newFar makes a runner on another host known to the server.
func newFar(s *server, host *harness) far {
	host.t.Helper()
	f := far{harness: host}
	var made struct {
		RunnerID string `json:"runner_id"`
		Token    string `json:"token"`
	}
	s.do("POST", "/api/runners", map[string]any{"name": "build-02"}, &made)
	f.id, f.tokenFile = made.RunnerID, filepath.Join(f.state, "token")
	must(f.t, os.WriteFile(f.tokenFile, []byte(made.Token+"\n"), 0o600))
	return f
}

// runs starts the program of the runner, and waits until the server can use it.
func (f far) runs(s *server, address string, args ...string) *exec.Cmd {
	f.t.Helper()
	cmd := f.command("runner", append([]string{"--connect", address, "--token-file", f.tokenFile, "--workspace-root", f.work, "--claude", f.claude, "--label", "gpu"}, args...)...)
	said := &words{}
	cmd.Stdout, cmd.Stderr = said, said
	must(f.t, cmd.Start())
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		_ = cmd.Wait()
		if f.t.Failed() {
			f.t.Errorf("the runner said:\n%s", said)
		}
	})
	f.ready(s)
	return cmd
}

// runnerState is what a test needs of a runner in the list.
type runnerState struct {
	RunnerID string   `json:"runner_id"`
	State    string   `json:"state"`
	Epoch    uint64   `json:"epoch"`
	Labels   []string `json:"labels"`
	Roots    []string `json:"roots"`
	CLIs     []struct {
		Version string `json:"version"`
	} `json:"clis"`
	Load *struct {
		Processes int `json:"processes"`
		Waiting   int `json:"waiting"`
	} `json:"load"`
}

func (f far) listed(s *server) runnerState {
	f.t.Helper()
	var list struct {
		Runners []runnerState `json:"runners"`
	}
	s.do("GET", "/api/runners", nil, &list)
	for _, r := range list.Runners {
		if r.RunnerID == f.id {
			return r
		}
	}
	f.t.Fatalf("the runner is not in %+v", list)
	return runnerState{}
}

// ready waits until the server can use the runner.
func (f far) ready(s *server) {
	f.t.Helper()
	eventually(f.t, "the runner is connected", func() bool { return f.listed(s).Load != nil })
}

// asksOverMCP has the only session reach the server through the runner, with its own token.
func (f far) asksOverMCP() {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.state, "shims", "*", "connect.json"))
	if err != nil || len(files) != 1 {
		f.t.Fatalf("how the session reaches the server: %q, %v", files, err)
	}
	var to struct{ URL, Token string }
	text, err := os.ReadFile(files[0])
	must(f.t, errors.Join(err, json.Unmarshal(text, &to)))
	r, err := http.NewRequest("POST", to.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`))
	must(f.t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + to.Token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	answer, err := http.DefaultClient.Do(r)
	must(f.t, err)
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.Contains(string(body), `"serverInfo"`) {
		f.t.Errorf("%s answered %s: %s, %v", to.URL, answer.Status, body, err)
	}
}

// unreachable reports whether tabs are told that a session cannot be reached.
func unreachable(sessionID string, want bool) func(map[string]any) bool {
	return func(f map[string]any) bool {
		is, _ := f["unreachable"].(bool) // left out when false
		return f["type"] == "process_state" && f["session_id"] == sessionID && is == want
	}
}

// TestSessionOnAnotherHost: a session runs on a runner that dials the server. Its form is in a tab,
// and stays answerable while the connection is cut or the runner is killed; each answer reaches the
// CLI once.
func TestSessionOnAnotherHost(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	f := newFar(s, newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}}))
	line := newCable(t, s)
	program := f.runs(s, "http://"+line.Addr().String())
	if r := f.listed(s); r.State != "ready" || fmt.Sprint(r.Labels, r.Roots) != fmt.Sprint([]string{"gpu"}, []string{f.work}) || len(r.CLIs) != 1 || r.Load.Processes != 0 {
		t.Errorf("the runner is %+v", r)
	}

	var made struct {
		SessionID string `json:"session_id"`
	}
	begin := map[string]any{"runner_id": f.id, "cwd": s.h.work, "prompt": "one"}
	if status := s.status("POST", "/api/sessions", begin, nil); status != 400 {
		t.Errorf("a session in a folder of the server: %d", status)
	}
	begin["cwd"] = f.work
	s.do("POST", "/api/sessions", begin, &made)
	id := made.SessionID
	tab := s.tab()
	first := s.asks(id)
	pid := s.pid(id)
	tab.until(t, waitLimit, "the form is in the tab", func(frame map[string]any) bool {
		requests, _ := frame["pending_requests"].([]any)
		return frame["type"] == "process_state" && frame["session_id"] == id && len(requests) == 1 || frame["type"] == "active_processes"
	})

	f.asksOverMCP()

	// The connection is cut while the form is open, and what is answered waits.
	line.set(true)
	tab.until(t, waitLimit, "the tab shows that the runner is gone", unreachable(id, true))
	s.allow(first)
	var refused struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	for _, row := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/kill", map[string]any{}},
		{"POST", "/model", map[string]any{"model": "opus"}},
		{"POST", "/permission_mode", map[string]any{"permission_mode": "plan"}},
		{"DELETE", "", nil},
	} {
		refused.Error.Code = ""
		if status := s.status(row.method, "/api/sessions/"+id+row.path, row.body, &refused); status != 409 || refused.Error.Code != "runner_unreachable" {
			t.Errorf("%s %s: %d %+v", row.method, row.path, status, refused)
		}
	}
	if n := len(f.records("control_response")); n != 0 {
		t.Errorf("%d answers went through a cut connection", n)
	}
	line.set(false)
	tab.until(t, waitLimit, "the tab shows that the runner is back", unreachable(id, false))
	s.reaches(id, "user_turn")

	// The program is killed while a form is open, and another one goes on.
	s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "two"}, nil)
	second := s.asks(id)
	must(t, program.Process.Kill())
	tab.until(t, waitLimit, "the tab shows that the runner is gone again", unreachable(id, true))
	s.allow(second)
	f.runs(s, "http://"+line.Addr().String())
	s.reaches(id, "user_turn")
	if now := s.pid(id); now != pid || !alive(pid) {
		t.Errorf("the CLI is %d, was %d", now, pid)
	}
	f.answeredOnce(2)

	// Its token is revoked: it is sent away, and its processes go on.
	s.do("DELETE", "/api/runners/"+f.id+"/token", nil, nil)
	eventually(t, "the runner is gone", func() bool { return f.listed(s).Load == nil })
	if !alive(pid) {
		t.Error("the CLI is gone")
	}
}

// TestRealSessionOnAnotherHost is the same with the real CLI, which does what was allowed while
// nobody could tell it.
func TestRealSessionOnAnotherHost(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		s := newHarness(t, claudetest.Script{}).start()
		host, _ := realHarness(t, version)
		f := newFar(s, host)
		line := newCable(t, s)
		program := f.runs(s, "http://"+line.Addr().String())
		script := func(file string) string {
			return "```script\n" + `[[{"tool":"Bash","input":{"command":"echo once >> ` + file + `","description":"d"}}],[{"text":"done"}]]` + "\n```"
		}
		var made struct {
			SessionID string `json:"session_id"`
		}
		s.do("POST", "/api/sessions", map[string]any{"runner_id": f.id, "cwd": f.work, "prompt": script("cut")}, &made)
		id := made.SessionID
		tab := s.tab()
		question := s.asks(id)
		pid := s.pid(id)
		line.set(true)
		tab.until(t, waitLimit, "the tab shows that the runner is gone", unreachable(id, true))
		s.allow(question)
		line.set(false)
		s.reaches(id, "user_turn")
		s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": script("killed")}, nil)
		question = s.asks(id)
		must(t, program.Process.Kill())
		tab.until(t, waitLimit, "the tab shows that the runner is gone again", unreachable(id, true))
		s.allow(question)
		f.runs(s, "http://"+line.Addr().String())
		s.reaches(id, "user_turn")
		for _, file := range []string{"cut", "killed"} {
			if text, err := os.ReadFile(filepath.Join(f.work, file)); err != nil || string(text) != "once\n" {
				t.Errorf("%s: %q, %v", file, text, err)
			}
		}
		if now := s.pid(id); now != pid {
			t.Errorf("the CLI is %d, was %d", now, pid)
		}
	})
}
