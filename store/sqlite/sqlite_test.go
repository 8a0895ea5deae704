package sqlite_test

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
	"github.com/sayso-dev/sayso/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.CrashChild()
	child()
	goleak.VerifyTestMain(m)
}

// open opens the database of a test, and closes it at its end.
func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestContractUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.ExerciseFaults(t, func(t *testing.T) storetest.Database {
		path := sqlitetest.New(t)
		st := open(t, path)
		db := outside(t, path)
		return storetest.Database{
			Store: st,
			Exec:  func(statement string) { execute(t, db, statement) },
			Refuse: func(table, column, value string) {
				for _, change := range []string{"INSERT", "UPDATE"} {
					execute(t, db, "CREATE TRIGGER refuse_"+change+" BEFORE "+change+" ON "+table+" WHEN new."+column+" = "+value+" BEGIN SELECT raise(ABORT, 'refused'); END")
				}
			},
			Reopen: func() store.Store { return open(t, path) },
		}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) store.Store { return open(t, sqlitetest.New(t)) })
}

// whileRead lets two goroutines call look repeatedly during a change, and once after the change was
// reported.
func whileRead(t *testing.T, look func(after bool), change func() error) {
	t.Helper()
	changed := make(chan struct{})
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for over := false; !over; {
				select {
				case <-changed:
					over = true // look once more
				default:
				}
				look(over)
			}
		})
	}
	err := change()
	close(changed)
	looking.Wait()
	if err != nil {
		t.Fatal(err)
	}
}
