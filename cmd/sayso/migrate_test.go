package main_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/migrations"
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
