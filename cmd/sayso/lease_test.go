package main_test

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/store"
)

// A server whose lease is outdated, as when the database was replaced, lets the sessions go without
// touching them, takes a new lease and continues.
func TestLostLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outdate func(t *testing.T, h *harness, sessionID string)
		says    string
	}{
		"InTheDatabase": {func(t *testing.T, h *harness, _ string) {
			_, err := h.openDatabase().Exec("UPDATE runners SET lease_epoch = lease_epoch + 1000000")
			must(t, err)
		}, "sayso: lease: "},
		"AtTheShim": {func(t *testing.T, h *harness, sessionID string) {
			conn, err := shim.Attach(t.Context(), h.bundleOf(sessionID).Dir, 1<<62, 0)
			must(t, err)
			conn.Detach()
		}, "sayso: processes: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}})
			port, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			must(t, port.Close())
			s := h.start("--listen", port.Addr().String())
			id := s.session("one")
			question := s.asks(id)
			pid := s.pid(id)
			c.outdate(t, h, id)
			eventually(t, "it says so", s.logged(c.says))
			eventually(t, "it has a new lease", func() bool {
				var found struct {
					Processes []process `json:"processes"`
				}
				err := s.Do(t.Context(), "GET", "/api/processes", nil, &found) // fails while no server listens
				return err == nil && len(found.Processes) == 1 && found.Processes[0].PID == pid
			})
			if now := s.asks(id); now != question {
				t.Errorf("asks %s, want %s", now, question)
			}
			s.allow(question)
			s.reaches(id, "user_turn")
			if now := s.pid(id); now != pid || !alive(pid) {
				t.Errorf("the CLI is %d, want %d", now, pid)
			}
		})
	}
}

// What runs on another runner is neither dead nor started here, and an answer waits for it.
func TestProcessesOfAnotherRunner(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	s.stop()
	opened, err := store.Open(t.Context(), filepath.Join(h.state, "sayso.db"))
	must(t, err)
	must(t, opened.RegisterRunner(t.Context(), session.Runner{RunnerID: "far", Name: "build-02"}))
	now := time.Now()
	for _, state := range []session.State{session.AssistantTurn, session.Dead} {
		id := fmt.Sprint(state)
		must(t, opened.CreateSession(t.Context(), session.Session{SessionID: id, RunnerID: "far", CWD: h.work, PermissionMode: "default", CreatedAt: now, Begun: true}))
		_, err = opened.SaveProcess(t.Context(), session.ProcessState{SessionID: id, State: state, ProcessID: "process " + id, StartedAt: now, StateChangedAt: now, PermissionMode: "default"})
		must(t, err)
		_, _, err = opened.OpenRequest(t.Context(), pending.Request{RequestID: "request " + id, SessionID: id, ProcessID: "process " + id, CreatedAt: now,
			RequestType: pending.ToolApproval, Source: pending.SourceClaude, AskerRequestID: "a " + id, ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`)})
		must(t, err)
	}
	must(t, opened.Close())

	s = h.start()
	for _, id := range []string{"assistant_turn", "dead"} {
		s.allow("request " + id)
		var refused struct {
			Error struct {
				Code   string            `json:"code"`
				Params map[string]string `json:"params"`
			} `json:"error"`
		}
		if status := s.status("POST", "/api/sessions/"+id+"/resume", map[string]any{}, &refused); status != 409 || refused.Error.Code != "runner_unreachable" {
			t.Errorf("%s is resumed: %d %+v", id, status, refused)
		}
		var found struct {
			ProcessState struct {
				State       string `json:"state"`
				NodeID      string `json:"node_id"`
				Unreachable bool   `json:"unreachable"`
			} `json:"process_state"`
		}
		s.do("GET", "/api/sessions/"+id, nil, &found)
		if p := found.ProcessState; p.State != id || p.NodeID != "build-02" || !p.Unreachable {
			t.Errorf("%s is %+v", id, p)
		}
	}
	if said := s.troubles()["assistant_turn"]; said != "unreachable: This process belongs to the server build-02, which can't be reached from here. Check there." {
		t.Errorf("the admin area says %q", said)
	}
	s.stop()
	opened, err = store.Open(t.Context(), filepath.Join(h.state, "sayso.db"))
	must(t, err)
	defer opened.Close()
	for _, id := range []string{"assistant_turn", "dead"} {
		waiting, err := opened.UndeliveredRequests(t.Context(), id)
		must(t, err)
		if len(waiting) != 1 || waiting[0].Status != pending.Answered {
			t.Errorf("what waits for %s: %+v", id, waiting)
		}
	}
}

// A paused runner takes no new sessions, and those that it has continue.
func TestPausedRunner(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}})
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	var list struct {
		Runners []struct {
			RunnerID string `json:"runner_id"`
			State    string `json:"state"`
			Paused   bool   `json:"paused"`
		} `json:"runners"`
	}
	s.do("GET", "/api/runners", nil, &list)
	if len(list.Runners) != 1 || list.Runners[0].State != "ready" || list.Runners[0].Paused {
		t.Fatalf("runners: %+v", list)
	}
	s.do("PATCH", "/api/runners/"+list.Runners[0].RunnerID, map[string]any{"paused": true}, nil)
	var refused struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if status := s.status("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "two"}, &refused); status != 409 || refused.Error.Code != "runner_paused" {
		t.Errorf("a new session: %d %+v", status, refused)
	}
	s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "go on"}, nil)
	s.reaches(id, "user_turn")
	s.do("PATCH", "/api/runners/"+list.Runners[0].RunnerID, map[string]any{"paused": false}, nil)
	s.reaches(s.session("two"), "user_turn")
	if n := s.audited("runner_paused") + s.audited("runner_resumed"); n != 2 {
		t.Errorf("%d entries in the audit log", n)
	}
}
