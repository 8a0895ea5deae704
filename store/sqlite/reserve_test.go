package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// TestReserve extends the WAL while this program and another one write to it. None of their writes
// may be lost, and a database left by a crash must be readable in spite of the zeros.
func TestReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st := open(t, path)
	const count, theirs = 100, 10 // few, because writers that wait for another program are not served in turn
	other := outside(t, path)
	execute(t, other, "PRAGMA busy_timeout=20000")
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range count {
			if err := st.CreateSession(ctx, session.Session{SessionID: fmt.Sprint("s", i)}); err != nil {
				t.Error(err)
			}
		}
	})
	writing.Go(func() {
		for i := range theirs {
			if _, err := other.ExecContext(ctx, "INSERT INTO settings (name, value, changed_by, changed_at) VALUES (?, '1', 'x', 1)", fmt.Sprint("n", i)); err != nil {
				t.Error(err)
			}
		}
	})
	err := st.Reserve(ctx)
	writing.Wait()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() < 16_000_000 {
		t.Fatalf("the log is not filled: %v, %v", info, err)
	}
	create(t, st, "after")
	if now, err := os.Stat(path + "-wal"); err != nil || now.Size() != info.Size() {
		t.Fatalf("a write made the log longer: %v, %v", now, err)
	}

	crashed := filepath.Join(t.TempDir(), "sayso.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err == nil {
			err = os.WriteFile(crashed+end, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, crashed)
	for _, id := range []string{"s0", fmt.Sprint("s", count-1), "after"} {
		if _, err := again.Session(ctx, id); err != nil {
			t.Errorf("session %s: %v", id, err)
		}
	}
	if settings, err := again.Settings(ctx); err != nil || len(settings) != theirs {
		t.Errorf("%d settings of another program, %v", len(settings), err)
	}
	if err := again.Reserve(ctx); err != nil {
		t.Errorf("after a crash: %v", err)
	}
}

// TestReserveBeforeTheFirstWrite extends the WAL of a database before the first write.
func TestReserveBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st := open(t, path)
	other := outside(t, path)
	if _, err := other.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := st.Reserve(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("as the server ends: %v", err)
	}
	if err := st.Reserve(ctx); err != nil {
		t.Fatal(err)
	}
	create(t, st, "s1")
	if _, err := st.Session(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.Stat(path + "-wal"); err != nil || left.Size() != 0 {
		t.Errorf("closing left this of it: %v, %v", left, err)
	}
	if _, err := open(t, path).Session(ctx, "s1"); err != nil {
		t.Error(err)
	}
	if err := st.Reserve(ctx); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
