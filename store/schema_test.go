package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/memdir"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

// onBothEngines runs a test with an empty database of each engine, and a connection to it that does
// not use the store.
func onBothEngines(t *testing.T, test func(t *testing.T, dsn string, outside *sql.DB)) {
	for name, make := range map[string]func(*testing.T) (string, string, string){
		"sqlite": func(t *testing.T) (string, string, string) {
			path := filepath.Join(memdir.New(t), "sayso.db")
			return path, "sqlite", "file:" + path + "?_pragma=busy_timeout(20000)&_pragma=legacy_alter_table(1)"
		},
		"postgres": func(t *testing.T) (string, string, string) {
			dsn := postgrestest.Schema(t)
			return dsn, "pgx", dsn
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, driver, address := make(t)
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			db.SetMaxOpenConns(1)
			t.Cleanup(func() { db.Close() })
			test(t, dsn, db)
		})
	}
}

// opens opens a database and closes it again.
func opens(open func(context.Context, string) (store.Store, error), dsn string) error {
	st, err := open(context.Background(), dsn)
	if err != nil {
		return err
	}
	return st.Close()
}

// TestMissingTablesAreNamed removes each table, and one column of each table, in turn; with
// SAYSO_TEST_ALL, each column.
func TestMissingTablesAreNamed(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, outside *sql.DB) {
		open(t, dsn)
		exec := func(statement string) {
			t.Helper()
			if _, err := outside.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		said := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, migrations.ErrIncomplete) || !strings.Contains(err.Error(), what+" is missing") || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("without %s: %v", what, err)
			}
		}
		dialect := migrations.SQLite
		if strings.HasPrefix(dsn, "postgres") {
			dialect = migrations.Postgres
		}
		tables := []string{"migrations"}
		all := os.Getenv("SAYSO_TEST_ALL") != ""
		columns := 0
		for _, line := range migrations.Columns() {
			name, _, _ := strings.Cut(line, " ")
			table, column, _ := strings.Cut(name, ".")
			if table == "migrations" {
				continue // without this table, the schema is unknown
			}
			isFirst := !slices.Contains(tables, table)
			if isFirst {
				tables = append(tables, table)
			}
			if !isFirst && !all {
				continue
			}
			columns++
			exec(fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO gone", table, column))
			said("the column "+column+" of the table "+table, migrations.Check(t.Context(), outside, dialect))
			if columns%10 == 1 {
				said("the column "+column+" of the table "+table, opens(store.Open, dsn))
			}
			exec(fmt.Sprintf("ALTER TABLE %s RENAME COLUMN gone TO %s", table, column))
		}
		if len(tables) < 20 {
			t.Errorf("only %d tables", len(tables))
		}
		for _, table := range append(tables, "transcript_index") {
			exec("ALTER TABLE " + table + " RENAME TO gone")
			said("the table "+table, opens(store.Open, dsn))
			said("the table "+table, opens(store.OpenReadOnly, dsn))
			exec("ALTER TABLE gone RENAME TO " + table)
		}
		if err := opens(store.Open, dsn); err != nil {
			t.Errorf("with everything in its place again: %v", err)
		}
		// An older database that lacks an earlier table is not repaired.
		exec("DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)")
		exec("ALTER TABLE sessions RENAME TO gone")
		if err := opens(store.Open, dsn); !errors.Is(err, migrations.ErrIncomplete) || !strings.Contains(err.Error(), "sessions") {
			t.Errorf("an older database without its sessions: %v", err)
		}
	})
}

// TestOpenReadOnlyChangesNothing opens databases of every version read-only.
func TestOpenReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, outside *sql.DB) {
		isFile := !strings.HasPrefix(dsn, "postgres")
		err := opens(store.OpenReadOnly, dsn)
		if isFile && !errors.Is(err, fs.ErrNotExist) || !isFile && !errors.Is(err, migrations.ErrEmpty) {
			t.Errorf("where there is nothing: %v", err)
		}
		if isFile {
			if left, _ := os.ReadDir(filepath.Dir(dsn)); len(left) > 0 {
				t.Errorf("looking has made %v", left)
			}
			if err := opens(store.OpenReadOnly, filepath.Join(filepath.Dir(dsn), "none", "x.db")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("where there is no folder: %v", err)
			}
		}
		writing := open(t, dsn) // a server is running
		st, err := store.OpenReadOnly(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Users(t.Context()); err != nil {
			t.Errorf("looking beside a server: %v", err)
		}
		if _, err := st.SaveProcess(t.Context(), session.ProcessState{}); err == nil {
			t.Error("who looks can write")
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if _, err := writing.TakeLease(t.Context(), storetest.Runner(t, writing)); err != nil {
			t.Errorf("after somebody looked: %v", err)
		}
		if err := writing.Close(); err != nil {
			t.Fatal(err)
		}
		count := func() (n int) {
			if err := outside.QueryRow("SELECT count(*) FROM migrations").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		all := count()
		if _, err := outside.Exec("DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)"); err != nil {
			t.Fatal(err)
		}
		if err := opens(store.OpenReadOnly, dsn); !errors.Is(err, migrations.ErrOlder) || !strings.Contains(err.Error(), "sayso serve") {
			t.Errorf("an older database: %v", err)
		}
		if count() != all-1 {
			t.Error("looking has migrated")
		}
		if _, err := outside.Exec("INSERT INTO migrations VALUES (9998, 'x', 'x', 0), (9999, 'y', 'y', 0)"); err != nil {
			t.Fatal(err)
		}
		if err := opens(store.OpenReadOnly, dsn); !errors.Is(err, migrations.ErrNewer) {
			t.Errorf("a newer database: %v", err)
		}
	})
}

// ending is a context that ends after it was asked a number of times whether it has.
type ending struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int64
}

func (e *ending) asked() {
	if e.left.Add(-1) == 0 {
		e.end()
	}
}
func (e *ending) Done() <-chan struct{} { e.asked(); return e.Context.Done() }
func (e *ending) Err() error            { e.asked(); return e.Context.Err() }

// TestOpenCancelledAnywhere ends the context at each moment of opening. Opening must fail, and the
// next attempt must succeed.
func TestOpenCancelledAnywhere(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, _ *sql.DB) {
		for _, from := range []int64{1, 1000} { // an empty database first, then one with tables
			failed := 0
			for n := from; n < from+3000; n += 1 + (n-from)/5 {
				inner, end := context.WithCancel(t.Context())
				ctx := &ending{Context: inner, end: end}
				ctx.left.Store(n - from + 1)
				st, err := store.Open(ctx, dsn)
				end()
				if err == nil {
					if err := st.Close(); err != nil {
						t.Errorf("at %d: %v", n, err)
					}
					continue
				}
				failed++
			}
			if failed < 5 {
				t.Errorf("only %d of the opens ended early", failed)
			}
		}
		if err := opens(store.Open, dsn); err != nil {
			t.Error(err)
		}
	})
}

// TestServersShareADatabase has two servers use a database, which a restore cannot have meanwhile.
// When the connection of one is lost, the restore has it alone, and the server ends.
func TestServersShareADatabase(t *testing.T) {
	t.Parallel()
	t.Run("directly", func(t *testing.T) {
		t.Parallel()
		dsn := postgrestest.Schema(t)
		serversShare(t, dsn, dsn)
	})
	t.Run("through a pooler in transaction mode", func(t *testing.T) {
		t.Parallel()
		dsn := postgrestest.Database(t)
		serversShare(t, dsn, postgrestest.NewPooler(t, dsn, "transaction"))
	})
}

// serversShare is the test for servers at an address, whose database is at direct.
func serversShare(t *testing.T, direct, dsn string) {
	admin := postgrestest.Schema(t)
	first, err := store.Share(t.Context(), dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := store.Share(t.Context(), dsn, 0)
	if err != nil {
		t.Fatalf("a second server: %v", err)
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	if _, err := store.Exclude(t.Context(), dsn, 0); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "a sayso server (") {
		t.Fatalf("a restore beside a server: %v", err)
	}
	other, err := store.Exclude(t.Context(), admin, 0)
	if err != nil {
		t.Fatalf("a restore of another schema: %v", err)
	}
	if _, err := store.Share(t.Context(), admin, 0); !errors.Is(err, store.ErrInUse) {
		t.Fatalf("a server beside a restore: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}

	db, err := sql.Open("pgx", direct)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const ofLock = `locktype = 'advisory' AND objsubid = 2 AND objid = (hashtext(current_schema())::bigint & 4294967295)::oid
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	holder := func() (name string) {
		_ = db.QueryRow(`SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE ` + ofLock).Scan(&name) // "" if nobody holds it
		return name
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- first.Run(ctx) }()
	name := holder()
	cut := func() { // only the connection of the first, not of who has just taken its place
		t.Helper()
		if _, err := db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = $1 AND `+ofLock, name); err != nil {
			t.Fatal(err)
		}
	}
	cut()
	for began := time.Now(); holder() != name; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the lock was not taken again after the connection was lost")
		}
	}

	// A restore waits, and takes the lock while the server has lost its connection.
	waiting := make(chan error, 1)
	var second store.Exclusive
	go func() {
		var err error
		second, err = store.Exclude(t.Context(), dsn, 60*time.Second)
		waiting <- err
	}()
	var came error
	for done := false; !done; {
		select {
		case came = <-waiting:
			done = true
		case err := <-ended:
			t.Fatalf("the first one ended before anybody took its place: %v", err)
		case <-time.After(300 * time.Millisecond):
			cut()
		}
	}
	if came != nil {
		t.Fatal(came)
	}
	defer second.Close()
	if err := <-ended; !errors.Is(err, store.ErrInUse) {
		t.Errorf("whose place was taken ended with %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if exclusive, err := store.Exclude(t.Context(), filepath.Join(t.TempDir(), "x.db"), 0); err != nil || exclusive != nil {
		t.Errorf("a file has its own lock: %v, %v", exclusive, err)
	}
}
