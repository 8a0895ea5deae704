package postgres_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

func TestPoolerInStatementModeIsRefused(t *testing.T) {
	t.Parallel()
	direct := postgrestest.Database(t)
	pooled := postgrestest.NewPooler(t, direct, "statement")
	_, opened := postgres.Open(t.Context(), pooled)
	_, excluded := postgres.Exclude(t.Context(), pooled, 0)
	_, read := postgres.OpenReadOnly(t.Context(), pooled)
	for what, err := range map[string]error{"open": opened, "exclude": excluded, "open for reading": read} {
		if !errors.Is(err, store.ErrDSN) || !strings.Contains(err.Error(), "pool_mode = session") {
			t.Errorf("%s: %v", what, err)
		}
	}
	checkFree(t, direct)
}

// checkFree fails if somebody holds the lock of a database: the connections that a pooler keeps must not.
func checkFree(t *testing.T, direct string) {
	t.Helper()
	e, err := postgres.Exclude(t.Context(), direct, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestLockThroughPoolerInTransactionMode: servers behind the pooler and beside it keep a restore away, and
// each other while one has the database alone. Who waits with the lock keeps no old rows alive.
func TestLockThroughPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	direct := postgrestest.Database(t, "idle_in_transaction_session_timeout=1000")
	pooled := postgrestest.NewPooler(t, direct, "transaction")
	db := outside(t, direct)
	for _, ways := range [][2]string{{pooled, direct}, {direct, pooled}, {pooled, pooled}} {
		first, err := postgres.Share(t.Context(), ways[0], 10*time.Second) // a direct connection may still end
		must(t, err)
		second, err := postgres.Share(t.Context(), ways[1], 0)
		must(t, err)
		if _, err := postgres.Exclude(t.Context(), ways[1], 0); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "sayso serve") {
			t.Errorf("a restore beside servers: %v", err)
		}
		var snapshots int
		must(t, db.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sayso serve %'
			AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)`).Scan(&snapshots))
		if snapshots > 0 {
			t.Errorf("%d locks keep old rows alive", snapshots)
		}
		must(t, errors.Join(first.Close(), second.Close()))
		alone, err := postgres.Exclude(t.Context(), ways[0], 10*time.Second)
		must(t, err)
		if _, err := postgres.Share(t.Context(), ways[1], 0); !errors.Is(err, store.ErrInUse) {
			t.Errorf("a server beside a restore: %v", err)
		}
		must(t, alone.Close())
	}
	checkFree(t, direct)
}

// TestStoreThroughPoolerInTransactionMode: what the store does needs no connection of its own.
func TestStoreThroughPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	direct := postgrestest.Database(t)
	pooled := postgrestest.NewPooler(t, direct, "transaction")
	st := openPatient(t, pooled)
	h := storetest.Runner(t, st)
	former := storetest.TakeLease(t, st, h)
	lease := storetest.TakeLease(t, st, h)
	var writing sync.WaitGroup
	for range 8 { // more than one connection of each side
		writing.Go(func() {
			for range 20 {
				id := uuid.NewString()
				if err := st.WithLease(lease).CreateSession(ctx, session.Session{SessionID: id, ProjectID: "p", CWD: "/w", PermissionMode: "default", OwnerID: "u", RunnerID: h.RunnerID, CreatedAt: time.Now(), UpdatedAt: time.Now()}); err != nil {
					t.Error(err)
				}
				if found, err := st.Session(ctx, id); err != nil || found.RunnerID != h.RunnerID {
					t.Errorf("%+v, %v", found, err)
				}
			}
		})
	}
	writing.Wait()
	if err := st.WithLease(former).SetLifecycle(ctx, uuid.NewString(), session.Lifecycle{EventType: "x"}); !errors.Is(err, session.ErrLeaseLost) {
		t.Errorf("a write with a former lease: %v", err)
	}
	reader, err := postgres.OpenReadOnly(t.Context(), pooled)
	must(t, err)
	if err := reader.CreateSession(ctx, session.Session{SessionID: uuid.NewString()}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a write to what was opened for reading: %v", err)
	}
	must(t, reader.Close())
	var left string // by nobody in a connection that others get
	must(t, outside(t, pooled).QueryRow(t.Context(), "SELECT count(*) || current_setting('default_transaction_read_only') FROM sessions", pgx.QueryExecModeSimpleProtocol).Scan(&left))
	if left != "160off" {
		t.Errorf("the sessions and the setting of a connection are %q", left)
	}

	weak := postgrestest.NewPooler(t, postgrestest.Database(t, "default_transaction_isolation=serializable"), "transaction")
	if _, err := postgres.Open(t.Context(), weak); !errors.Is(err, store.ErrDSN) || !strings.Contains(err.Error(), "default_transaction_isolation") {
		t.Errorf("another isolation: %v", err)
	}
}

// TestContractThroughPoolerInTransactionMode is the contract of the store.
func TestContractThroughPoolerInTransactionMode(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // TestStoreThroughPoolerInTransactionMode is the part that a pooler could change
	}
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) store.Store {
		return openPatient(t, postgrestest.NewPooler(t, postgrestest.Database(t), "transaction"))
	})
}

func TestPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	direct := postgrestest.Database(t, "default_transaction_isolation=serializable")
	pooled := postgrestest.NewPooler(t, direct, "session")
	e, err := postgres.Exclude(t.Context(), pooled, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, dsn := range []string{pooled, direct} {
		if _, err := postgres.Exclude(t.Context(), dsn, 0); !errors.Is(err, store.ErrInUse) {
			t.Errorf("a second server: %v, want ErrInUse", err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	st, err := postgres.Open(t.Context(), pooled)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := st.Setting(t.Context(), "default_transaction_isolation"); err != nil || got != "read committed" {
		t.Errorf("the isolation is %q, %v", got, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if st, err = postgres.OpenReadOnly(t.Context(), pooled); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SaveProcess(t.Context(), session.ProcessState{}); err == nil {
		t.Error("a write to what was opened for reading succeeds")
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
