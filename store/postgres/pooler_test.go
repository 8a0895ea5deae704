package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

func TestPoolerInTransactionModeIsRefused(t *testing.T) {
	t.Parallel()
	direct := postgrestest.Database(t)
	for _, mode := range []string{"transaction", "statement"} {
		pooled := postgrestest.NewPooler(t, direct, mode)
		_, opened := postgres.Open(t.Context(), pooled)
		_, excluded := postgres.Exclude(t.Context(), pooled, 0)
		_, read := postgres.OpenReadOnly(t.Context(), pooled)
		for what, err := range map[string]error{"open": opened, "exclude": excluded, "open for reading": read} {
			if !errors.Is(err, store.ErrDSN) || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("%s in mode %s: %v", what, mode, err)
			}
		}
	}
	// The connections that the pooler keeps must hold no lock.
	e, err := postgres.Exclude(t.Context(), direct, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
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
