// Package sqlitetest gives tests empty SQLite databases. A migration takes longer than most tests,
// so each test program migrates one database and every test gets a copy.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/internal/memdir"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// empty returns the files of a migrated database without rows, by the suffixes of their names. The
// log is included, because a database without one counts as damaged.
var empty = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp(memdir.Base(), "sayso-test")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "sayso.db")
	st, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	for _, end := range []string{"", "-wal"} {
		if files[end], err = os.ReadFile(path + end); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// New creates an empty database in a new folder in memory, which is removed when the test ends, and
// returns its path.
func New(t testing.TB) string {
	t.Helper()
	return In(t, memdir.New(t))
}

// In creates an empty database in a folder and returns its path.
func In(t testing.TB, dir string) string {
	t.Helper()
	files, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sayso.db")
	for end, file := range files {
		if err := os.WriteFile(path+end, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}
