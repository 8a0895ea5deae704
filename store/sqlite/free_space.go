package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	lib "modernc.org/sqlite/lib"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// minFree is how much the disk must take, in bytes: a large answer, and what SQLite
// adds to it. With less free the store counts as read-only before the first write
// fails.
const minFree = 256 << 10

// diskFullError is a write that the disk refused.
type diskFullError struct{ err error }

// diskRefused reports whether a write failed because the disk takes none: it is
// full, over a quota or a limit, or was mounted read-only.
func diskRefused(err error) bool {
	if errors.Is(err, sqlstore.ErrBroken) {
		return false
	}
	switch c := code(err); c {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_TRUNCATE:
		return true
	default:
		return c&0xff == lib.SQLITE_FULL || c&0xff == lib.SQLITE_READONLY
	}
}

// checkFreeSpace reports whether the disk takes writes. After one that it refused
// only another one tells: space that a quota or a limit does not let us have looks
// free.
func (s *Store) checkFreeSpace() error {
	refused := s.full.Load()
	if refused == nil {
		if free, err := freeSpace(s.path); err == nil && free < minFree {
			return fmt.Errorf("%w: %w: %d KB are free at %s", sqlstore.ErrReadOnly, sqlstore.ErrUnavailable, free>>10, s.path)
		}
		return nil
	}
	if err := s.tryToWrite(); err != nil {
		return fmt.Errorf("%w; and still: %w", refused.err, err)
	}
	s.full.CompareAndSwap(refused, nil) // unless another write was refused meanwhile
	return nil
}

// tryToWrite writes beside the database what a write may need, and takes it away.
func (s *Store) tryToWrite() (err error) {
	path := s.path + "-probe"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	if _, err := f.Write(make([]byte, minFree)); err != nil {
		return err
	}
	return f.Sync() // where space is found only when it is needed
}

// freeSpace is what this process may still write on the disk of a file, in bytes.
func freeSpace(path string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	if disk.Blocks == 0 {
		return math.MaxUint64, nil // a file system that does not count
	}
	blocks := disk.Bavail
	if os.Geteuid() == 0 {
		blocks = disk.Bfree // also what is kept for root
	}
	return uint64(blocks) * uint64(disk.Bsize), nil
}
