package postgres_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.CrashChild()
	goleak.VerifyTestMain(postgrestest.Around(m))
}

// open opens the database of a test and closes it after.
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

func TestOutside(t *testing.T) {
	t.Parallel()
	storetest.Outside(t, func(t *testing.T) storetest.Database {
		dsn := postgrestest.Schema(t)
		st := open(t, dsn)
		conn := outside(t, dsn)
		return storetest.Database{
			Store: st,
			Exec:  func(statement string) { exec(t, conn, statement) },
			Refuse: func(table, column, value string) {
				exec(t, conn, "ALTER TABLE "+table+" ADD CONSTRAINT refuse CHECK ("+column+" <> "+value+") NOT VALID")
			},
			Reopen: func() store.Store { return open(t, dsn) },
		}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) store.Store { return open(t, postgrestest.Schema(t)) })
}
