package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/shim"
)

// database returns the files of the database of a stopped server.
func (h *harness) database() []string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.state, "sayso.db*"))
	must(h.t, err)
	if len(files) == 0 {
		h.t.Fatal("there is no database")
	}
	return files
}

func (h *harness) loseDatabase() {
	h.t.Helper()
	for _, file := range h.database() {
		must(h.t, os.Remove(file))
	}
}

// troubles returns what the admin area says of each running process.
func (s *server) troubles() map[string]string {
	s.h.t.Helper()
	var list struct {
		Processes []struct {
			SessionID string `json:"session_id"`
			Trouble   *struct {
				Kind   string `json:"kind"`
				Reason string `json:"reason"`
			} `json:"trouble"`
		} `json:"processes"`
	}
	s.do("GET", "/api/processes", nil, &list)
	found := map[string]string{}
	for _, p := range list.Processes {
		if p.Trouble != nil {
			found[p.SessionID] = p.Trouble.Kind + ": " + p.Trouble.Reason
		}
	}
	return found
}

func (s *server) onlyRequest(sessionID string) (requestID string) {
	s.h.t.Helper()
	within(s.h.t, realWaitLimit, "the session asks", func() bool {
		open := s.open(sessionID)
		if len(open) != 1 || open[0].Status != "open" {
			return false
		}
		requestID = open[0].RequestID
		return true
	})
	return requestID
}

// A server that starts on an empty database goes on with the sessions that run: their
// CLIs live, their questions are open again, and those that were answered are not.
func TestRealSessionsOutliveTheirDatabase(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		s := h.start()
		id := s.session("Make two files\n```script\n[[{\"tool\":\"Bash\",\"input\":{\"command\":\"touch first\"}}],[{\"tool\":\"Bash\",\"input\":{\"command\":\"touch second\"}}],[{\"text\":\"both are there\"}]]\n```")
		s.allow(s.onlyRequest(id))
		var second string
		within(t, realWaitLimit, "it asks for the second file", func() bool {
			open := s.open(id)
			if len(open) != 1 {
				return false
			}
			_, err := os.Stat(filepath.Join(h.work, "first"))
			second = open[0].RequestID
			return err == nil
		})
		pid := s.pid(id)
		s.stop()
		h.loseDatabase()

		s = h.start()
		within(t, realWaitLimit, "the session is recovered", func() bool { return s.processes()[id].SessionID != "" })
		if got := s.onlyRequest(id); got != second {
			t.Errorf("asks %s, want %s", got, second)
		}
		if now := s.pid(id); now != pid || !alive(pid) {
			t.Errorf("the CLI is %d, want %d", now, pid)
		}
		var found struct {
			Title string `json:"title"`
			CWD   string `json:"cwd"`
		}
		s.do("GET", "/api/sessions/"+id, nil, &found)
		if found.CWD != h.work || !strings.HasPrefix(found.Title, "Make two files") {
			t.Errorf("recovered as %+v", found)
		}
		if said := s.troubles()[id]; !strings.HasPrefix(said, "recovered: ") {
			t.Errorf("the admin area says %q", said)
		}
		if !s.logged("recovering a session")() {
			t.Error("the log does not say so")
		}
		s.allow(second)
		s.says(id, "both are there")
		if _, err := os.Stat(filepath.Join(h.work, "second")); err != nil {
			t.Error(err)
		}
	})
}

// A database from before the last start of a server, of which nothing else tells, is said to
// be older.
func TestDatabaseFromBeforeTheLastStart(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}})
	s := h.start()
	id := s.session("one")
	question := s.asks(id)
	s.stop()
	bundles, err := shim.List(filepath.Join(h.state, "shims"))
	must(t, err)
	for _, b := range bundles { // as a server does whose clock is ahead
		conn, err := shim.Attach(t.Context(), b.Dir, 1<<62, 0)
		must(t, err)
		conn.Detach()
	}
	s = h.start()
	eventually(t, "the admin area says so", func() bool { return strings.HasPrefix(s.troubles()[id], "recovered: The database is older") })
	if !s.logged("a server with a newer database")() {
		t.Error("the log does not say so")
	}
	s.allow(question)
	s.reaches(id, "user_turn")
}

// A database that was restored from before a session's present process, or from before
// its last answers, loses neither.
func TestSessionsOutliveARestoredDatabase(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "touch a"}}},
		{Ask: map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_2", "input": map[string]any{"command": "touch b"}}},
		{Text: "done"},
	}})
	s := h.start()
	goesOn, resumed := s.session("one"), s.session("two")
	s.asks(goesOn)
	s.asks(resumed)
	s.do("POST", "/api/sessions/"+resumed+"/kill", map[string]any{"force": true}, nil)
	s.reaches(resumed, "dead")
	s.stop()
	backup := map[string][]byte{}
	for _, file := range h.database() {
		text, err := os.ReadFile(file)
		must(t, err)
		backup[file] = text
	}

	s = h.start()
	first := s.asks(goesOn)
	s.allow(first)
	s.do("POST", "/api/sessions/"+resumed+"/resume", map[string]any{}, nil)
	s.do("POST", "/api/sessions/"+resumed+"/messages", map[string]any{"text": "again"}, nil)
	s.asks(resumed)
	var second string
	eventually(t, "the next request", func() bool {
		open := s.open(goesOn)
		if len(open) == 1 && open[0].RequestID != first {
			second = open[0].RequestID
		}
		return second != ""
	})
	pids := map[string]int{goesOn: s.pid(goesOn), resumed: s.pid(resumed)}
	s.stop()
	h.loseDatabase()
	if out, _ := h.command("doctor").CombinedOutput(); !strings.Contains(string(out), "2, of which the database does not know 2") {
		t.Errorf("doctor says:\n%s", out) // it may miss a CLI, too
	}
	for file, text := range backup {
		must(t, os.WriteFile(file, text, 0o600))
	}
	// The server that was there after the backup had an epoch that the next one, whose
	// clock is behind, does not reach.
	bundles, err := shim.List(filepath.Join(h.state, "shims"))
	must(t, err)
	for _, b := range bundles {
		conn, err := shim.Attach(t.Context(), b.Dir, 1<<62, 0)
		must(t, err)
		conn.Detach()
	}

	s = h.start()
	for id, pid := range pids {
		eventually(t, "the session is recovered", func() bool { return s.pid(id) == pid && alive(pid) })
	}
	eventually(t, "only what was not answered is open", func() bool {
		open := s.open(goesOn)
		return len(open) == 1 && open[0].RequestID == second
	})
	for _, id := range []string{goesOn, resumed} {
		if said := s.troubles()[id]; !strings.HasPrefix(said, "recovered: ") {
			t.Errorf("the admin area says %q of %s", said, id)
		}
	}
	s.allow(second)
	s.reaches(goesOn, "user_turn")
}

// A backup of the database that is restored is found out by its epoch, once.
func TestOlderDatabaseIsNoticed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}})
	older := func(s *server) bool { return s.logged("the database is older than the sessions of this machine")() }
	start := func() *server {
		s := h.start()
		s.session("one")
		return s
	}
	s := start()
	s.stop()
	s = start()
	s.stop()
	if older(s) {
		t.Error("it says so of the database of the server before")
	}
	_, err := h.openDatabase().Exec("UPDATE runners SET lease_epoch = 1700000000000000")
	must(t, err)
	s = start()
	if !older(s) || !s.logged("database_last_used=2023-11-14T22:13:20Z")() {
		t.Error("it does not say so")
	}
	s.stop()
	s = start()
	if older(s) {
		t.Error("it says so again")
	}
}
