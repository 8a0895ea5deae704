package sqlite_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/storetest"
)

// filesOf describes every file of a folder: its contents, its times and its mode. locked means
// that a store of this process has the database open.
func filesOf(t *testing.T, dir string, locked bool) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if locked && strings.HasSuffix(e.Name(), "-shm") {
			continue // in one process, all connections share it
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		info, e2 := e.Info()
		if err != nil || e2 != nil {
			t.Fatal(err, e2)
		}
		all = append(all, fmt.Sprintf("%s %x %s %s", e.Name(), sha256.Sum256(data), info.ModTime(), info.Mode()))
	}
	return strings.Join(all, "\n")
}

// TestReadingTouchesNoFile opens a database for reading while a server uses it, after its end,
// after a crash and without the files of the WAL, in a folder that takes no writes, too.
func TestReadingTouchesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	server, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	lease := storetest.TakeLease(t, server, storetest.Runner(t, server))
	look := func(when, dir string) {
		t.Helper()
		before := filesOf(t, dir, when == "beside a server")
		if err := os.Chmod(dir, 0o500); err != nil { // which root may ignore
			t.Fatal(err)
		}
		st, err := sqlite.OpenReadOnly(t.Context(), filepath.Join(dir, "x.db"))
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if err := st.RenewLease(t.Context(), lease); err != nil { // it compares the epoch
			t.Errorf("%s: %v", when, err)
		}
		if err := st.Verify(t.Context()); err != nil {
			t.Errorf("%s: verify: %v", when, err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if after := filesOf(t, dir, when == "beside a server"); after != before {
			t.Errorf("%s: the folder was\n%s\nand is\n%s", when, before, after)
		}
	}
	look("beside a server", dir)
	crashed := t.TempDir()
	for _, end := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(crashed, "x.db"+end), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look("after a crash", crashed)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	look("after its end", dir)
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
	look("without a WAL", dir)
}
