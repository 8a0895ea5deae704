package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
)

const (
	diskPath  = "SAYSO_SQLITE_DISK"
	umaskPath = "SAYSO_SQLITE_UMASK"
)

// child runs tests that change their process, in a process of their own.
func child() {
	run := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(diskPath); path != "" {
		run(fillDisk(path))
	}
	if path := os.Getenv(everyWritePath); path != "" {
		run(everyWrite(path))
	}
	if path := os.Getenv(readOnlyPath); path != "" {
		run(readOnly(path))
	}
	if path := os.Getenv(umaskPath); path != "" {
		syscall.Umask(0)
		run(leaveFiles(path))
	}
}

func runChild(t *testing.T, variable, path string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fillDisk lets each file reach its size limit in the middle of a transaction. Nothing of the
// transaction may remain, and writes must succeed once there is space.
func fillDisk(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	st, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := st.CreateSession(ctx, session.Session{SessionID: "s1"}); err != nil {
		return err
	}
	wal, err := os.Stat(path + "-wal")
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	room := limit
	limit.Cur = uint64(wal.Size()) + 64<<10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	many := make([]session.Item, 100)
	for i := range many {
		many[i] = session.Item{Key: fmt.Sprint(i), Kind: session.ItemText, Body: []byte(`"` + strings.Repeat("x", 10<<10) + `"`)}
	}
	if err := st.Ping(ctx); err != nil {
		return fmt.Errorf("before the first write fails: %w", err)
	}
	if err := st.PutItems(ctx, "s1", many); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("on a full disk: %w", err)
	}
	none := syscall.Rlimit{Cur: 1, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		return err
	}
	for range 2 {
		if err := st.Ping(ctx); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrReadOnly) {
			return fmt.Errorf("the full disk is not told: %w", err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if page, err := st.Transcript(ctx, "s1", 0, 10); err != nil || page.Total != 0 || len(page.Items) != 0 {
		return fmt.Errorf("half of it stayed: %+v, %w", page, err)
	}
	if err := st.PutItems(ctx, "s1", many[:1]); err != nil {
		return fmt.Errorf("a small write that has room: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := st.Ping(ctx); err != nil {
		return fmt.Errorf("that there is room again is not seen: %w", err)
	}
	if left, err := filepath.Glob(path + "-probe*"); err != nil || len(left) > 0 {
		return fmt.Errorf("left behind: %s, %w", left, err)
	}
	if err := st.PutItems(ctx, "s1", many); err != nil {
		return fmt.Errorf("after there is room again: %w", err)
	}
	if page, err := st.Transcript(ctx, "s1", 0, 10); err != nil || page.Total != 100 {
		return fmt.Errorf("after there is room again: %+v, %w", page, err)
	}
	if err := st.Close(); err != nil {
		return err
	}
	again, err := sqlite.Open(ctx, path) // the database is undamaged
	if err != nil {
		return err
	}
	return again.Close()
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	runChild(t, diskPath, filepath.Join(t.TempDir(), "sayso.db"))
}

// leaveFiles leaves the files of an open database behind.
func leaveFiles(path string) error {
	st, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	return st.CreateSession(ctx, session.Session{SessionID: "s1"})
}

// TestModesUnderAnyUmask checks that only the owner can read the files, whatever the umask.
func TestModesUnderAnyUmask(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "state")
	path := filepath.Join(dir, "sayso.db")
	runChild(t, umaskPath, path)
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if got := mode(t, file); got != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(file), got)
		}
	}
	if got := mode(t, dir); got != 0o700 {
		t.Errorf("the folder has mode %o", got)
	}
}
