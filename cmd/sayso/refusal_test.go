package main_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// Two servers would drive the same sessions.
func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	first := h.start()
	id := first.session("one")
	request := first.asks(id)
	holder := fmt.Sprintf("another sayso server (process %d) uses ", first.cmd.Process.Pid)

	h.serve().refused(holder+"the state folder "+h.state, "stop it, or give this one its own with --state-dir")
	other := newHarness(t, claudetest.Script{})
	database := filepath.Join(h.state, "sayso.db")
	other.serve("--database", "sqlite:"+database).refused(holder+"the database "+database, "with --database")
	link := filepath.Join(other.work, "link")
	must(t, os.Symlink(h.state, link))
	other.serve("--database", filepath.Join(link, "sayso.db")).refused(holder)

	if again := first.asks(id); again != request {
		t.Errorf("the open request is %s now, was %s", again, request)
	}
	first.allow(request)
	first.reaches(id, "user_turn")
}

// A server that cannot use its database says what to do and touches no session:
// the next good start takes them up.
func TestRefusedStartLeavesSessionsRunning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		says  []string
	}{
		{"damaged", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			for page := int64(1); page < 20; page++ {
				_, err := f.WriteAt([]byte("this was a page of the database"), page*4096)
				must(t, err)
			}
			must(t, f.Close())
		}, []string{"the database is damaged", "keep a copy of", "restore a backup"}},
		{"no database", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("these are my notes, and no database at all"), 0o600))
		}, []string{"the database is damaged", "restore a backup"}},
		{"of a newer program", func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			must(t, err)
			_, err = db.Exec(`INSERT INTO migrations SELECT number + 1, 'of the future', 'checksum', applied_at FROM migrations ORDER BY number DESC LIMIT 1`)
			must(t, err)
			must(t, db.Close())
		}, []string{"start the newer sayso", "restore a backup"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
			first := h.start()
			id := first.session("one")
			request, pid := first.asks(id), first.pid(id)
			first.stop()

			database := filepath.Join(h.state, "sayso.db")
			good, err := os.ReadFile(database)
			must(t, err)
			c.spoil(t, database)
			h.serve().refused(append(c.says, database)...)
			if !alive(pid) {
				t.Fatal("the refused start has ended Claude")
			}
			for _, name := range []string{database + "-wal", database + "-shm"} {
				if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			must(t, os.WriteFile(database, good, 0o600))

			second := h.start()
			if again := second.asks(id); again != request {
				t.Errorf("the open request is %s now, was %s", again, request)
			}
			if now := second.pid(id); now != pid {
				t.Errorf("Claude is process %d now, was %d", now, pid)
			}
			second.allow(request)
			second.reaches(id, "user_turn")
		})
	}
}
