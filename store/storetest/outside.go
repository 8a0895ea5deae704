package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// Database is a store and access to its database from outside.
type Database struct {
	store.Store
	// Refuse makes the database refuse every row of a table in which a column has a value, written
	// as in SQL.
	Refuse func(table, column, value string)
	// Exec runs a statement that is the same in both dialects.
	Exec func(statement string)
	// Searching reports whether a search runs in the database. It is nil if a search runs in the
	// goroutine of the caller and so ends with the call.
	Searching func() bool
	// Reopen opens the same database again.
	Reopen func() store.Store
}

// ExerciseFaults tests the part of the contract that cannot be tested through the store alone. open
// returns an empty database.
func ExerciseFaults(t *testing.T, open func(t *testing.T) Database) {
	ctx := context.Background()
	// fails expects that the database refuses a call, which must change nothing.
	fails := func(t *testing.T, db Database, id string, call func() error) {
		t.Helper()
		expectNoVersionBump(t, db, id, func() {
			if err := call(); err == nil || errors.Is(err, session.ErrNotFound) {
				t.Fatalf("the database refused it, and the error is %v", err)
			}
		})
	}

	// An endless search stands for a long one. It is canceled because a person keeps typing, or
	// reaches its time limit. Either way it must stop completely: more searches follow than SQLite
	// has connections for reading.
	for name, limit := range map[string]time.Duration{"TypedOn": time.Hour, "OutOfTime": 50 * time.Millisecond} {
		t.Run("LongSearchStops/"+name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			id := newSession(t, db)
			must(t, db.PutItems(ctx, id, []session.Item{{Key: "a", At: begin, Kind: session.ItemText, Body: []byte(`{"text":"heron"}`)}}))
			for more := true; more; {
				var err error
				more, err = db.IndexTranscripts(ctx, 10)
				must(t, err)
			}
			db.Exec("ALTER TABLE transcript_words RENAME TO other_words")
			db.Exec(`CREATE VIEW transcript_words AS WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
				SELECT CAST(-n AS bigint) AS word_id, CAST('` + id + `' AS text) AS session_id, CAST('none' AS text) AS key FROM numbers`)
			const patience = 30 * time.Second // for a busy machine
			for range 6 {
				searching, cancel := context.WithTimeout(ctx, limit)
				ended := make(chan error, 1)
				go func() {
					_, _, err := db.SearchTranscripts(searching, session.Search{Words: []string{"heron"}, Limit: 5})
					ended <- err
				}()
				if db.Searching != nil {
					expectSoon(t, "the search runs", patience, func() bool { return db.Searching() || searching.Err() != nil })
				}
				want := context.DeadlineExceeded
				if limit == time.Hour {
					want = context.Canceled
					time.AfterFunc(20*time.Millisecond, cancel)
				}
				select {
				case err := <-ended:
					wantError(t, "a search that was stopped", err, want)
				case <-time.After(patience):
					t.Fatal("the search goes on")
				}
				cancel()
				if db.Searching != nil {
					expectSoon(t, "the search has left the database", patience, func() bool { return !db.Searching() })
				}
			}
			_, err := db.Session(ctx, id)
			must(t, err)
		})
	}

	// If any part of the progress fails, no part may be stored, not even those before it. The same
	// progress must succeed once the database accepts it.
	refused := map[string][3]string{
		"AnItem":   {"transcript", "kind", "'todo'"},
		"TheState": {"processes", "model", "'refused'"},
		"TheMark":  {"marks", "journal_offset", "13"},
	}
	for name, rule := range refused {
		t.Run("ProgressIsAtomic/"+name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			id := newSession(t, db)
			first := session.Progress{Items: []session.Item{item("a", "1")}, Process: &session.ProcessState{State: session.Starting, PID: 1},
				Mark: &session.Mark{ProcessID: "p", Offset: 1, Memo: []byte("first")}}
			_, err := db.SaveProgress(ctx, id, first)
			must(t, err)
			before, err := db.ProcessState(ctx, id)
			must(t, err)
			db.Refuse(rule[0], rule[1], rule[2])

			todo := item("c", "1")
			todo.Kind = session.ItemTodo
			second := session.Progress{Items: []session.Item{item("a", "2"), item("b", "1"), todo, item("d", "1")},
				Process: &session.ProcessState{State: session.UserTurn, Model: "refused", PID: 2},
				Mark:    &session.Mark{ProcessID: "q", Offset: 13, Memo: []byte("second")}}
			fails(t, db, id, func() error { _, err := db.SaveProgress(ctx, id, second); return err })

			page, err := db.Transcript(ctx, id, 0, 10)
			must(t, err)
			equal(t, "items", ids(page.Items, func(i session.Item) string { return i.Key + string(i.Body) }), []string{`a{"text":"1"}`})
			equal(t, "total", page.Total, int64(1))
			m, err := db.Mark(ctx, id)
			must(t, err)
			equal(t, "mark", m, *first.Mark)
			state, err := db.ProcessState(ctx, id)
			must(t, err)
			equal(t, "state", state, before)

			second.Items[2].Kind, second.Process.Model, second.Mark.Offset = session.ItemText, "taken", 14
			_, err = db.SaveProgress(ctx, id, second)
			must(t, err)
			page, err = db.Transcript(ctx, id, page.Next, 10)
			must(t, err)
			equal(t, "places after", ids(page.Items, func(i session.Item) string { return fmt.Sprint(i.Seq, i.Key) }), []string{"1a", "2b", "3c", "4d"})
			m, err = db.Mark(ctx, id)
			must(t, err)
			equal(t, "mark after", m, *second.Mark)
		})
	}

	for name, rule := range map[string][3]string{
		"TheNewRequest": {"requests", "tool_name", "'refused'"},
		"TheVersion":    {"processes", "version", "4"},
	} {
		t.Run("CarryingIsAtomic/"+name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			id := newSession(t, db)
			old := undeliveredRequest(t, db, id) // version 3
			db.Refuse(rule[0], rule[1], rule[2])
			r := requestOf(id, "two")
			r.ToolName = "refused"
			fails(t, db, id, func() error { _, _, err := db.CarryAnswer(ctx, r, old.RequestID); return err })
			read, err := db.Request(ctx, old.RequestID)
			must(t, err)
			equal(t, "the answer", read, old)
			_, err = db.Request(ctx, r.RequestID)
			wantError(t, "the new request", err, pending.ErrNotFound)
		})
	}

	t.Run("EpochsGrowAcrossRestarts", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		h := Runner(t, db)
		last := TakeLease(t, db, h)
		again := db.Reopen()
		must(t, again.RenewLease(ctx, last))
		// A clock that was set back has the same effect as an epoch ahead of the clock.
		const ahead = 9_000_000_000_000_000
		db.Exec(fmt.Sprint("UPDATE runners SET lease_epoch = ", ahead))
		for i := range 3 {
			equal(t, "epoch", TakeLease(t, db.Reopen(), h).Epoch, uint64(ahead+i+1))
		}
		db.Exec("UPDATE runners SET lease_epoch = 1") // an old backup was restored
		wantError(t, "renewing what the backup does not know", again.RenewLease(ctx, last), session.ErrLeaseLost)
		if l := TakeLease(t, db.Reopen(), h); l.Epoch <= last.Epoch {
			t.Fatalf("epoch %d comes after %d", l.Epoch, last.Epoch)
		}
	})

	t.Run("RemovedRunnersAreRefused", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		h := Runner(t, db)
		TakeLease(t, db, h)
		db.Exec("UPDATE runners SET removed_at = 1")
		_, err := db.TakeLease(ctx, h)
		wantError(t, "a removed runner", err, session.ErrRunnerRemoved)
	})

	// A database of an earlier release has sessions and an epoch, but no runner.
	t.Run("FirstRunnerTakesOverTheSessions", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		const ahead = 9_000_000_000_000_000
		db.Exec(fmt.Sprint("INSERT INTO runners (runner_id, lease_epoch) VALUES ('', ", ahead, ")"))
		id := newSession(t, db)
		agent := session.Session{SessionID: uuid.NewString(), Kind: session.Agent, CreatedAt: begin}
		must(t, db.CreateSession(ctx, agent))
		none, err := db.Runners(ctx)
		must(t, err)
		equal(t, "runners before the first", len(none), 0)
		h := Runner(t, db)
		second := Runner(t, db)
		equal(t, "epoch of the first", TakeLease(t, db, h).Epoch, uint64(ahead+1))
		equal(t, "epoch of the second is a time", TakeLease(t, db, second).Epoch < ahead, true)
		for sessionID, want := range map[string]string{id: h.RunnerID, agent.SessionID: ""} {
			found, err := db.Session(ctx, sessionID)
			must(t, err)
			equal(t, "runner", found.RunnerID, want)
		}
	})

	t.Run("MarksSurviveRestarts", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		id := newSession(t, db)
		m := session.Mark{ProcessID: uuid.NewString(), Offset: 1 << 40, Memo: []byte("\x00memo\xff")}
		_, err := db.SaveProgress(ctx, id, session.Progress{Mark: &m})
		must(t, err)
		read, err := db.Reopen().Mark(ctx, id)
		must(t, err)
		equal(t, "mark", read, m)
	})
}

// expectSoon waits until isTrue returns true, and fails the test after patience.
func expectSoon(t *testing.T, what string, patience time.Duration, isTrue func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !isTrue(); {
		if time.Now().After(until) {
			t.Fatalf("not true within %s: %s", patience, what)
		}
	}
}
