package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// Only serve and migrate bring the database of an earlier version up to date: another command may run
// beside a server of that version.
func TestOnlyServeAndMigrateMigrate(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	if said, err := verbOf(h, "migrate"); err == nil || !strings.Contains(said, "another sayso server") {
		t.Errorf("migrated beside a server: %v: %s", err, said)
	}
	s.stop()
	all, err := migrations.All(migrations.SQLite)
	must(t, err)
	last := all[len(all)-1]
	older := func() {
		t.Helper()
		h.loseDisk()
		db := h.openDatabase()
		_, err := db.Exec(migrations.CreateTable)
		must(t, err)
		for _, m := range all[:len(all)-2] {
			_, err := db.Exec(m.SQL)
			must(t, err)
			_, err = db.Exec("INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, 0)", m.Number, m.Name, m.Checksum)
			must(t, err)
		}
		must(t, db.Close())
	}
	older()
	for _, verb := range []string{"user add Ada --role viewer", "token --name x", "user list"} {
		if said, err := verbOf(h, verb); err == nil || !strings.Contains(said, "sayso migrate brings it up to date") {
			t.Errorf("%s: %v: %s", verb, err, said)
		}
	}
	said, err := verbOf(h, "migrate")
	if err != nil || !strings.Contains(said, "Step 1 of 2: ") || !strings.Contains(said, "Step 2 of 2: ") || !strings.Contains(said, last.Name+"\n") || !strings.HasSuffix(said, "The database is up to date.\n") {
		t.Errorf("migrate: %v: %s", err, said)
	}
	if said, err = verbOf(h, "migrate"); err != nil || strings.Contains(said, "Step") {
		t.Errorf("migrate again: %v: %s", err, said)
	}
	older()
	s = h.start()
	if !s.logged("migrating the database")() {
		t.Error("the log does not say so")
	}
	s.stop()
}

// A server moves from SQLite to PostgreSQL and back while its session lives on under its shim. The
// copy is killed on the way, and continues.
func TestMigrateBetweenEngines(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there, in the haystack."}}})
	file, elsewhere := "sqlite:"+filepath.Join(h.state, "sayso.db"), postgrestest.Database(t)
	migrate := func(from, to string, args ...string) (string, error) {
		t.Helper()
		out, err := h.command("migrate", append([]string{"--from", from, "--database", to}, args...)...).CombinedOutput()
		return string(out), err
	}
	s := h.start()
	id := s.session("one")
	request := s.asks(id)
	pid := s.pid(id)
	if said, err := migrate(file, elsewhere, "--state-dir", t.TempDir()); err == nil || !strings.Contains(said, "sayso server") {
		t.Errorf("copied from below a running server: %v: %s", err, said)
	}
	s.stop()
	if said, err := migrate("sqlite:"+filepath.Join(h.state, "none.db"), elsewhere); err == nil || !strings.Contains(said, "no database to copy") {
		t.Errorf("copied from nowhere: %v: %s", err, said)
	}
	if said, err := h.command("migrate", "--start-over").CombinedOutput(); err == nil || !strings.Contains(string(said), "needs --from") {
		t.Errorf("started nothing over: %v: %s", err, said)
	}
	db := h.openDatabase()
	_, err := db.Exec(`INSERT INTO commands (user_id, command_id, ack, created_at)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT 'u', i, '{}', i FROM n`)
	must(t, errors.Join(err, db.Close()))

	killed := h.command("migrate", "--from", file, "--database", elsewhere)
	out, err := killed.StdoutPipe()
	must(t, err)
	must(t, killed.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Copied audit") {
	}
	must(t, killed.Process.Kill())
	if err := killed.Wait(); err == nil {
		t.Fatal("the copy ended before it was killed")
	}
	if out, err := h.command("serve", "--database", elsewhere).CombinedOutput(); err == nil || !strings.Contains(string(out), "run sayso migrate --from again") {
		t.Errorf("a server started with half of a database: %v: %s", err, out)
	}
	said, err := migrate(file, elsewhere)
	if err != nil || !strings.Contains(said, "Copied commands: 50") || !strings.Contains(said, "Verified: 5") || !strings.Contains(said, "The audit log is intact, up to entry ") {
		t.Fatalf("the copy did not continue: %v: %s", err, said)
	}

	s = h.start("--database", elsewhere)
	if said, err := migrate(elsewhere, "sqlite:"+filepath.Join(t.TempDir(), "back.db"), "--state-dir", t.TempDir()); err == nil || !strings.Contains(said, "sayso server") {
		t.Errorf("copied from below a running server: %v: %s", err, said)
	}
	if now := s.asks(id); now != request {
		t.Errorf("asks %s, want %s", now, request)
	}
	eventually(t, "the session is adopted", func() bool { return s.pid(id) == pid })
	s.allow(request)
	s.reaches(id, "user_turn")
	s.stop()

	if said, err := migrate(elsewhere, file); err == nil || !strings.Contains(said, "has data already") {
		t.Errorf("copied over another database: %v: %s", err, said)
	}
	back := "sqlite:" + filepath.Join(h.state, "back.db")
	if said, err := migrate(elsewhere, back); err != nil || !strings.Contains(said, "The audit log is intact, up to entry ") {
		t.Fatalf("the copy back: %v: %s", err, said)
	}
	s = h.start("--database", back)
	eventually(t, "the session is adopted", func() bool { return s.pid(id) == pid })
	eventually(t, "what Claude said is found", func() bool {
		var found struct {
			Results []json.RawMessage `json:"results"`
		}
		return s.Do(t.Context(), "GET", "/api/search?q=haystack", nil, &found) == nil && len(found.Results) == 1
	})
	s.stop()
}
