package postgres_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

func TestMain(m *testing.M) {
	jobChild()
	storetest.CrashChild()
	goleak.VerifyTestMain(postgrestest.Around(m))
}

// open opens the database of a test, and closes it at its end.
func open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(context.Background(), dsn)
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

// openPatient is [open] with a long timeout for calls, for tests in which the database works: many
// run at once, so calls may be slow.
func openPatient(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	st := open(t, dsn)
	st.SetCallTimeout(time.Minute)
	return st
}

func TestContractUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.ExerciseFaults(t, func(t *testing.T) storetest.Database {
		dsn := postgrestest.Schema(t)
		st := openPatient(t, dsn)
		conn := outside(t, dsn)
		return storetest.Database{
			Store: st,
			Exec:  func(statement string) { exec(t, conn, statement) },
			Refuse: func(table, column, value string) {
				exec(t, conn, "ALTER TABLE "+table+" ADD CONSTRAINT refuse CHECK ("+column+" <> "+value+") NOT VALID")
			},
			Searching: func() bool {
				running := false
				must(t, conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity a JOIN pg_locks l USING (pid)
					WHERE a.state = 'active' AND a.query LIKE '%transcript_index%' AND l.relation = to_regclass('transcript_words') AND a.pid <> pg_backend_pid()`).Scan(&running))
				return running
			},
			Reopen: func() store.Store { return openPatient(t, dsn) },
		}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) store.Store { return openPatient(t, postgrestest.Schema(t)) })
}
