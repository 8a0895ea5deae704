package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
	"github.com/sayso-dev/sayso/store/storetest"
)

var ctx = context.Background()

func create(t testing.TB, st *sqlite.Store, sessionID string) {
	t.Helper()
	if err := st.CreateSession(ctx, session.Session{SessionID: sessionID, Title: "Title", CWD: "/work", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// outside opens the database as another program would.
func outside(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestCrash(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, "sqlite:"+sqlitetest.New(t))
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	first, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	create(t, first, "s1")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// It stays, so that a start with a full disk need not create it. Its content is in the
	// database.
	if left, err := os.Stat(path + "-wal"); err != nil || left.Size() != 0 {
		t.Errorf("closing left this of the WAL: %v, %v", left, err)
	}
	found, err := open(t, path).Session(ctx, "s1")
	if err != nil || found.Title != "Title" {
		t.Fatalf("got %+v, %v", found, err)
	}
}

// TestModesOfExistingFiles checks that an existing file readable by others is restricted, and that an
// existing folder keeps its mode.
func TestModesOfExistingFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shared")
	path := filepath.Join(dir, "sayso.db")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if got := mode(t, path); got != 0o600 {
		t.Errorf("the file has mode %o", got)
	}
	if got := mode(t, dir); got != 0o755 {
		t.Errorf("the folder has mode %o", got)
	}
}

func TestWALIsOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	open(t, path)
	var journal string
	if err := outside(t, path).QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil || journal != "wal" {
		t.Fatalf("journal mode %q, %v", journal, err)
	}
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole.db")
	st, err := sqlite.Open(ctx, whole)
	if err != nil {
		t.Fatal(err)
	}
	create(t, st, "s1")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			copy(b[at:], strings.Repeat("\xa5", 64))
			return b
		}
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"Header":     damage(0),
		"SecondPage": damage(4096),
		"SomePage":   damage(5 * 4096),
		"LastPage":   damage(len(good) - 4096),
		"Truncated":  func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"Another":    func([]byte) []byte { return []byte("this is a diary, not a database\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "sayso.db")
			spoiled := spoil(append([]byte{}, good...))
			if err := os.WriteFile(path, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := sqlite.Open(ctx, path)
			if !errors.Is(err, store.ErrCorrupt) || st != nil || !strings.Contains(err.Error(), "restore a backup") {
				t.Fatalf("got %v and error %v", st, err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(spoiled) {
				t.Fatalf("the evidence was changed: %v", err)
			}
		})
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := outside(t, path).ExecContext(ctx, "INSERT INTO migrations VALUES (999, 'future', 'x', 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(ctx, path); !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "newer sayso") {
		t.Fatalf("got %v", err)
	}
}

func TestOpenWithCancelledContext(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	if _, err := sqlite.Open(ended, path); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	open(t, path)
}

// TestLockedByAnother lets another program hold the lock for long. A write must fail as retryable,
// and reads must not wait.
func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st := open(t, path)
	create(t, st, "s1")
	other := outside(t, path)
	if _, err := other.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	err := st.PutUser(ctx, account.User{UserID: "u1", Name: "Ada"})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if _, err := st.ProcessState(ctx, "s1"); err != nil {
		t.Fatalf("a reader was stopped: %v", err)
	}
	if _, err := other.ExecContext(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := st.PutUser(ctx, account.User{UserID: "u1", Name: "Ada"}); err != nil {
		t.Fatal(err)
	}
}
