package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/storetest"
)

// database returns a database before any migration. If several connections migrate at once, the
// last waits for all steps of the first, which takes seconds on a slow machine. So its wait is not
// limited.
func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	dsn := url.URL{Scheme: "file", Opaque: path, RawQuery: "_txlock=immediate&_pragma=busy_timeout(600000)&_pragma=foreign_keys(1)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func empty(t *testing.T) *sql.DB { return database(t, filepath.Join(t.TempDir(), "test.db")) }

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// contents returns the schema and the applied migrations.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT coalesce(sql, name) FROM sqlite_master ORDER BY name",
		"SELECT number || name || checksum || applied_at FROM migrations ORDER BY number",
	} {
		rows, err := db.QueryContext(ctx, query)
		if err != nil {
			continue // the table of migrations does not exist yet
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			all.WriteString(line + "\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func TestApplyTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	if err := migrations.Apply(ctx, db, migrations.SQLite); err != nil {
		t.Fatal(err)
	}
	first := contents(t, db)
	if !strings.Contains(first, "CREATE TABLE requests") {
		t.Fatalf("the schema is incomplete:\n%s", first)
	}
	if err := migrations.Apply(ctx, db, migrations.SQLite); err != nil {
		t.Fatal(err)
	}
	if second := contents(t, db); second != first {
		t.Fatalf("the second run changed\n%s\nto\n%s", first, second)
	}
}

// TestApplyAtOnce lets several servers start at once: only one of them migrates.
func TestApplyAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	var done sync.WaitGroup
	for range 8 {
		db := database(t, path)
		done.Go(func() {
			if err := migrations.Apply(ctx, db, migrations.SQLite); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

func TestUnknownSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, made, says string }{
		{"Newer", "INSERT INTO migrations VALUES (999, 'future', 'x', 0)", "newer sayso"},
		{"Changed", "UPDATE migrations SET checksum = 'other' WHERE number = 2", "step 2"},
		{"Foreign", "", "another program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := empty(t)
			if c.made == "" {
				execute(t, db, "CREATE TABLE requests (url text)")
			} else {
				if err := migrations.Apply(ctx, db, migrations.SQLite); err != nil {
					t.Fatal(err)
				}
				execute(t, db, c.made)
			}
			before := contents(t, db)
			err := migrations.Apply(ctx, db, migrations.SQLite)
			if !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want ErrNewer that says %q", err, c.says)
			}
			if after := contents(t, db); after != before {
				t.Fatalf("a refused database was changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestAllOrNothing lets a step fail: the steps before it must be rolled back too.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := migrations.Apply(ended, db, migrations.SQLite); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if left := contents(t, db); left != "" {
		t.Fatalf("left behind:\n%s", left)
	}
	if err := migrations.Apply(ctx, db, migrations.SQLite); err != nil {
		t.Fatal(err)
	}
}

// TestLongStepsSayHowFarTheyAre lets a step write 16 MB, for which a trigger of the test cares.
func TestLongStepsSayHowFarTheyAre(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	dsn := url.URL{Scheme: "file", Opaque: path, RawQuery: "_txlock=immediate&_pragma=journal_mode(WAL)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	all, err := migrations.All(migrations.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, migrations.CreateTable)
	const long = "unindexed"
	for _, m := range all {
		if m.Name == long {
			break
		}
		execute(t, db, m.SQL)
		if _, err := db.ExecContext(ctx, "INSERT INTO migrations VALUES (?, ?, ?, 0)", m.Number, m.Name, m.Checksum); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, db, `INSERT INTO processes VALUES ('s', 1, 1, 1, 1, 'dead', 1, 1, '', '', 0, 0, 0, '', '', '', '', '', '', 0)`)
	execute(t, db, `CREATE TABLE numbers AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000) SELECT i FROM n`)
	execute(t, db, `CREATE TABLE written (bytes BLOB)`)
	execute(t, db, `CREATE TRIGGER slow AFTER UPDATE ON processes BEGIN INSERT INTO written SELECT randomblob(4000) FROM numbers; END`)

	var steps, said []migrations.Progress
	watched := migrations.WithProgress(ctx, time.Millisecond, func(p migrations.Progress) {
		if p.Elapsed == 0 {
			steps = append(steps, p)
		} else if strings.HasSuffix(p.Name, long) {
			said = append(said, p)
		}
	})
	if err := migrations.Apply(watched, db, migrations.SQLite); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 2 || steps[0].Step != 1 || steps[len(steps)-1].Step != len(steps) || steps[0].Steps != len(steps) || steps[0].Size == 0 {
		t.Errorf("the steps were %+v", steps)
	}
	if len(said) < 2 || said[len(said)-1].Written < 4<<20 || said[len(said)-1].Written > 64<<20 {
		t.Fatalf("the long step said %+v", said)
	}
	for i, p := range said[1:] {
		if p.Elapsed <= said[i].Elapsed || p.Written < said[i].Written {
			t.Errorf("after %+v it said %+v", said[i], p)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	open(t, path)
	rows, err := outside(t, path).QueryContext(ctx, `SELECT m.name || '.' || c.name, c.type, c."notnull" FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT GLOB 'transcript_index' AND m.name NOT GLOB 'transcript_index_*'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var column, kind string
		var required bool
		if err := rows.Scan(&column, &kind, &required); err != nil {
			t.Fatal(err)
		}
		column += " " + storetest.ColumnType[kind]
		if !required {
			column += " null"
		}
		got = append(got, column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	storetest.Columns(t, got)
}

// TestRowsFromBeforeAdoption upgrades rows of a version that did not store process ids. They must
// be complete afterwards, and no answer may be carried over from them.
func TestRowsFromBeforeAdoption(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := database(t, path)
	all, err := migrations.All(migrations.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, "CREATE TABLE migrations (number bigint NOT NULL PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)")
	for _, m := range all[:3] {
		execute(t, db, m.SQL)
		if _, err := db.ExecContext(ctx, "INSERT INTO migrations VALUES (?, ?, ?, 0)", m.Number, m.Name, m.Checksum); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, db, `INSERT INTO sessions VALUES ('s1', 'p', 'Title', '', '/work', '', '', 'default', NULL, 'u1', 0, 0, 1, 5);
		INSERT INTO processes VALUES ('s1', 7, 5, 0, 0, 'dead', 0, 5, '', 'default', 0, 0, 0, '', '', '', '', '');
		INSERT INTO messages VALUES (1, 'm1', 's1', 'sent', NULL, '', '', '', 5, 6), (2, 'm2', 's1', 'waits', NULL, '', '', '', 6, 0);
		INSERT INTO requests (request_id, session_id, status, delivery, created_at, expires_at, request_type, source, asker_request_id, asker_tool_use_id,
			tool_name, input_hash, agent_id, agent_type, title, description, decision_reason, blocked_path, by_user_id, answer, tool_input)
			VALUES ('r1', 's1', 'answered', 'queued', 5, 0, 'tool_approval', 'claude', 'a', '', 'Bash', 'h', '', '', '', '', '', '', 'u1', '{"decision":"allow"}', '{}')`)

	st := open(t, path)
	list, err := st.UndeliveredRequests(ctx, "s1")
	if err != nil || len(list) != 1 || list[0].ProcessID != "" || list[0].Earlier != nil || list[0].Resolution.Answer == nil || list[0].Resolution.CarriedFrom != "" {
		t.Errorf("requests: %+v, %v", list, err)
	}
	if stored, carried, err := st.CarryAnswer(ctx, pending.Request{RequestID: "r2", SessionID: "s1", ProcessID: "two"}, "r1"); err != nil || carried {
		t.Errorf("carried: %+v, %v, %v", stored, carried, err)
	}
	if m, err := st.Mark(ctx, "s1"); err != nil || m.ProcessID != "" || m.Offset != 0 || m.Memo != nil {
		t.Errorf("mark: %+v, %v", m, err)
	}
	if n, err := st.Requeue(ctx, "s1"); err != nil || n != 1 {
		t.Errorf("put back: %d, %v", n, err)
	}
	if queue, err := st.QueuedMessages(ctx, "s1"); err != nil || len(queue) != 2 || queue[0].Text != "sent" || queue[1].Text != "waits" {
		t.Errorf("queue: %+v, %v", queue, err)
	}
	if l := storetest.TakeLease(t, st, storetest.Runner(t, st)); l.Epoch == 0 {
		t.Error("the first epoch is 0")
	}
}
