package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// Database is one that can be changed from outside of the store.
type Database struct {
	store.Store
	// Refuse makes it refuse every row of a table with a value, which is written
	// as in SQL, in a column.
	Refuse func(table, column, value string)
	// Exec runs a statement that both dialects have.
	Exec func(statement string)
	// Reopen returns the same database, opened anew.
	Reopen func() store.Store
}

// Outside holds an engine against that part of the contract which cannot be
// shown through the store alone. open returns an empty database.
func Outside(t *testing.T, open func(t *testing.T) Database) {
	ctx := context.Background()
	// fails expects that a call is refused by the database and changes nothing.
	fails := func(t *testing.T, db Database, id string, call func() error) {
		t.Helper()
		stays(t, db, id, func() {
			if err := call(); err == nil || errors.Is(err, session.ErrNotFound) {
				t.Fatalf("the database refused it, and the error is %v", err)
			}
		})
	}

	// Whichever part of the progress fails, and though the others come before it,
	// nothing of it is there, and the same progress goes through when it can.
	refused := map[string][3]string{
		"AnItem":   {"transcript", "kind", "'todo'"},
		"TheState": {"processes", "model", "'refused'"},
		"TheMark":  {"marks", "journal_offset", "13"},
	}
	for name, rule := range refused {
		t.Run("ProgressIsWhole/"+name, func(t *testing.T) {
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
		t.Run("CarryingIsWhole/"+name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			id := newSession(t, db)
			old := unheard(t, db, id) // version 3
			db.Refuse(rule[0], rule[1], rule[2])
			r := askedBy(id, "two")
			r.ToolName = "refused"
			fails(t, db, id, func() error { _, _, err := db.CarryAnswer(ctx, r, old.RequestID); return err })
			read, err := db.Request(ctx, old.RequestID)
			must(t, err)
			equal(t, "the answer", read, old)
			_, err = db.Request(ctx, r.RequestID)
			is(t, "the new request", err, pending.ErrNotFound)
		})
	}

	t.Run("EpochsGrowOverReopening", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		none, err := db.LastEpoch(ctx)
		must(t, err)
		equal(t, "the epoch before the first", none, uint64(0))
		last, err := db.NextEpoch(ctx)
		must(t, err)
		again, err := db.Reopen().LastEpoch(ctx)
		must(t, err)
		equal(t, "the last epoch", again, last)
		// A clock that went back is like an epoch that is ahead of it.
		const ahead = 9_000_000_000_000_000
		db.Exec(fmt.Sprint("UPDATE epochs SET last = ", ahead))
		for i := range 3 {
			e, err := db.Reopen().NextEpoch(ctx)
			must(t, err)
			equal(t, "epoch", e, uint64(ahead+i+1))
		}
		db.Exec("UPDATE epochs SET last = 1") // a backup from long ago
		e, err := db.Reopen().NextEpoch(ctx)
		must(t, err)
		if e <= last {
			t.Fatalf("epoch %d comes after %d", e, last)
		}
	})

	t.Run("MarksSurviveReopening", func(t *testing.T) {
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
