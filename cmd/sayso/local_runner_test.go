package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// reasonGiven is the reason of an error.
type reasonGiven struct {
	Error struct{ Reason, Field string } `json:"error"`
}

// TestNoLocalRunner: a server without a runner inside starts sessions on connected machines only, and
// says so while there is none. It needs no CLI.
func TestNoLocalRunner(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.claude = filepath.Join(h.work, "no-claude")
	s := h.start("--local-runner=false")
	diagnose := func(want string) {
		t.Helper()
		d, _ := h.doctor(nil, "--local-runner=false")
		codes := map[string]string{}
		for _, f := range d.Findings {
			codes[f.Check] = f.Code
		}
		if codes["machines"] != want || codes["Claude CLI"]+codes["workspace roots"] != "" {
			t.Errorf("doctor: %v", codes)
		}
	}
	diagnose("machine_missing")
	tab := s.tab()
	tab.until(t, waitLimit, "no machines", func(f map[string]any) bool {
		all, is := f["machines"].([]any)
		return is && len(all) == 0
	})
	begin := map[string]any{"cwd": h.work, "prompt": "go"}
	expect := func(what string, status int, reason string, body map[string]any) {
		t.Helper()
		var r reasonGiven
		if got := s.status("POST", "/api/sessions", body, &r); got != status || r.Error.Reason != reason {
			t.Errorf("%s: %d %+v", what, got, r)
		}
	}
	expect("a session without a machine", 409, "runner_none_connected", begin)
	expect("a demo", 409, "runner_none_connected", map[string]any{"demo": true})
	var r reasonGiven
	if got := s.status("GET", "/api/folders", nil, &r); got != 400 || r.Error.Reason != "runner_required" || r.Error.Field != "runner_id" {
		t.Errorf("folders of no machine: %d %+v", got, r)
	}
	problem := func() string {
		t.Helper()
		var e struct {
			Claude struct {
				Reasons map[string]struct{ Reason string } `json:"reasons"`
			} `json:"claude"`
		}
		s.do("GET", "/api/environment", nil, &e)
		return e.Claude.Reasons["problem"].Reason
	}
	if got := problem(); got != "runner_none_connected" {
		t.Errorf("the environment without machines: %q", got)
	}

	f := newFar(s, newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}}))
	program := f.runs(s, s.URL)
	if got := problem(); got != "machines_only" {
		t.Errorf("the environment with a machine: %q", got)
	}
	diagnose("ok")
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", map[string]any{"cwd": f.work, "prompt": "go"}, &made)
	s.allow(s.asks(made.SessionID))
	s.reaches(made.SessionID, "user_turn")
	if got := s.process(made.SessionID).NodeID; got != "build-02" {
		t.Errorf("the session started on %q", got)
	}
	var list struct {
		Machines []machine `json:"machines"`
	}
	s.do("GET", "/api/machines", nil, &list)
	if len(list.Machines) != 1 || list.Machines[0].Here {
		t.Errorf("machines: %+v", list)
	}

	// The server is replaced, and the machine stays.
	s.stop()
	s = h.start("--local-runner=false", "--listen", strings.TrimPrefix(s.URL, "http://"))
	f.ready(s)
	s.do("POST", "/api/sessions/"+made.SessionID+"/messages", map[string]any{"text": "again"}, nil)
	s.allow(s.asks(made.SessionID))
	s.reaches(made.SessionID, "user_turn")
	must(t, program.Process.Kill())
	_ = program.Wait() // it was killed
	eventually(t, "the machine is gone", func() bool { return problem() == "runner_none_connected" })
	expect("a session while the machine is gone", 409, "runner_none_connected", begin)
}

// TestLocalRunnerIsLeft: a server whose own sessions run refuses to leave them alone.
func TestLocalRunnerIsLeft(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	s.stop()
	h.serve("--local-runner=false").refused("sayso kill-all")
}

// TestMachineOfServerIsRemoved: the machine of a server that is gone can be removed, and that server
// comes back with another one.
func TestMachineOfServerIsRemoved(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}}).asProcesses()
	a := h.start("--database", dsn, "--node-id", "a")
	b := newHarness(t, claudetest.Script{}).start("--database", dsn, "--node-id", "b", "--local-runner=false")
	id := a.session("one")
	a.reaches(id, "user_turn")
	text, err := os.ReadFile(filepath.Join(h.state, "runner.json"))
	must(t, err)
	var mine struct {
		RunnerID string `json:"runner_id"`
	}
	must(t, json.Unmarshal(text, &mine))
	path := "/api/runners/" + mine.RunnerID
	var r reasonGiven
	if got := b.status("DELETE", path, nil, &r); got != 409 || r.Error.Reason != "runner_in_use" {
		t.Errorf("removing the machine of a running server: %d %+v", got, r)
	}
	a.do("POST", "/api/sessions/"+id+"/kill", map[string]any{}, nil)
	a.reaches(id, "dead")
	a.stop()
	b.do("DELETE", path, nil, nil)
	var list struct {
		Machines []machine `json:"machines"`
	}
	b.do("GET", "/api/machines", nil, &list)
	if len(list.Machines) != 0 {
		t.Errorf("machines: %+v", list)
	}
	again := h.start("--database", dsn, "--node-id", "a")
	second := again.session("two")
	again.reaches(second, "user_turn")
}
