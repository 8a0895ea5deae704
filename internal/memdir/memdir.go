// Package memdir gives tests folders in memory, where syncing a file costs nothing.
// It is for tests that need a file system and not a disk.
package memdir

import (
	"os"
	"syscall"
	"testing"
)

const (
	shared  = "/dev/shm"
	minFree = 2 << 30 // in bytes: a container may have only 64 MB there
)

// Base returns a folder in memory for temporary files, or the system's temporary
// folder if there is none in memory with enough space.
func Base() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shared, &fs); err == nil && uint64(fs.Bavail)*uint64(fs.Bsize) >= minFree && syscall.Access(shared, 2) == nil {
		return shared
	}
	return os.TempDir()
}

// New returns a fresh folder under [Base] that is removed when the test ends.
func New(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(Base(), "sayso-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
