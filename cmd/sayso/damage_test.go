package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// When the log of SQLite is deleted after a crash, the server says so and what to do, and
// goes on with the sessions that run: what they ask is asked again.
func TestLogIsDeleted(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.asks(id)
	pid := s.pid(id)
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	must(t, os.Remove(filepath.Join(h.state, "sayso.db-wal")))

	s = h.start()
	if !s.logged("sayso.db-wal is missing")() || !s.logged("put it back")() {
		t.Error("the log does not say so")
	}
	eventually(t, "the session is recovered", func() bool { return s.pid(id) == pid && alive(pid) })
	s.allow(s.asks(id))
	s.reaches(id, "user_turn")
	if n := len(h.records("control_response")); n != 1 {
		t.Errorf("Claude heard %d answers, want 1", n)
	}
	s.stop()
	s = h.start()
	if s.logged("is missing")() {
		t.Error("it says so again after an end in order")
	}
}

// When pages of the database are damaged under a server, every tab is told, nothing is
// taken that could not be stored, and Claude waits for the backup.
func TestPagesAreDamaged(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start()
	id := s.session("one")
	question := s.asks(id)
	s.stop() // all is in the database now, and nothing in its log
	path := filepath.Join(h.state, "sayso.db")
	good, err := os.ReadFile(path)
	must(t, err)

	s = h.start()
	s.asks(id)
	tab := s.follow()
	damaged, err := os.ReadFile(path)
	must(t, err)
	for i := 4096; i < len(damaged); i++ {
		damaged[i] ^= 0xff
	}
	must(t, os.WriteFile(path, damaged, 0o600))
	answer := map[string]any{"request_type": "tool_approval", "decision": "allow", "command_id": uuid.NewString()}
	eventually(t, "the tab is told", func() bool {
		if status := s.status("GET", "/api/sessions/"+id+"/transcript", nil, nil); status >= 300 && status != 503 {
			t.Errorf("a page that cannot be read: %d", status)
		}
		return tab.told() == "broken"
	})
	if status := s.status("POST", "/api/pending/"+question+"/response", answer, nil); status != 503 {
		t.Errorf("an answer: %d, want 503", status)
	}
	if !s.logged("the database is damaged")() || !s.logged("restore a backup")() {
		t.Error("the log does not say what to do")
	}
	if n := len(h.records("control_response")); n != 0 {
		t.Errorf("Claude heard %d answers", n)
	}
	s.signal(syscall.SIGTERM)
	s.gone(waitLimit)

	for _, end := range []string{"-wal", "-shm"} {
		must(t, os.RemoveAll(path+end))
	}
	must(t, os.WriteFile(path, good, 0o600))
	s = h.start()
	s.allow(s.asks(id))
	s.reaches(id, "user_turn")
	if n := len(h.records("control_response")); n != 1 {
		t.Errorf("Claude heard %d answers, want 1", n)
	}
}

// A large database is read whole only after a crash, beside the server; every tab is told
// of damage then, and doctor finds it at any time.
func TestDamageIsFoundAfterACrash(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.asks(id)
	s.stop()
	path := filepath.Join(h.state, "sayso.db")
	st, err := sqlite.Open(t.Context(), path)
	must(t, err)
	items := make([]session.Item, 1000)
	for i := range items {
		items[i] = session.Item{Key: fmt.Sprint("large ", i), Kind: session.ItemText, Body: []byte(`"` + strings.Repeat("x", 6000) + `"`)}
	}
	must(t, st.PutItems(t.Context(), id, items))
	must(t, st.Close())
	text, err := os.ReadFile(path)
	must(t, err)
	middle := len(text) / 2 / 4096 * 4096
	for i := middle; i < middle+4096; i++ {
		text[i] ^= 0xff
	}
	must(t, os.WriteFile(path, text, 0o600))

	if out, err := h.command("doctor").CombinedOutput(); err == nil || !strings.Contains(string(out), "the database is damaged") {
		t.Errorf("doctor says (%v):\n%s", err, out)
	}
	s = h.start() // after an end in order, nothing reads the page
	s.asks(id)
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)

	s = h.start()
	eventually(t, "the server is ready", func() bool { return s.status("GET", "/api/sessions", nil, nil) == 200 })
	tab := s.follow()
	eventually(t, "the tab is told", func() bool { return tab.told() == "broken" })
	if !s.logged("the database is damaged")() || !s.logged("restore a backup")() {
		t.Error("the log does not say what to do")
	}
}
