// Package sqlitetest gives tests empty SQLite databases. Migrating one takes longer than most
// tests do, so that is done once for each test program, and every test gets a copy.
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

// empty holds the files of a migrated database without rows, by the ends of their names. A
// database without its log would be taken for one that lost it.
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

// New puts an empty database into a fresh folder in memory that is removed when the test ends,
// and returns its path.
func New(t testing.TB) string {
	t.Helper()
	return In(t, memdir.New(t))
}

// In puts an empty database into a folder and returns its path.
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
