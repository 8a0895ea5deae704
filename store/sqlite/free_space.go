package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"

	lib "modernc.org/sqlite/lib"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// minFree is the free space, in bytes, below which the store reports that it is read-only. It
// suffices for a large answer and the overhead of SQLite, so people are warned before the first write
// fails.
const minFree = 256 << 10

// diskFullError is the error of a write that the disk refused.
type diskFullError struct{ err error }

// diskRefused reports whether a write failed because the disk accepts none: it is full, over a
// quota, or mounted read-only.
func diskRefused(err error) bool {
	if errors.Is(err, sqlstore.ErrBroken) {
		return false
	}
	switch c := resultCode(err); c {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_TRUNCATE:
		return true
	default:
		return c&0xff == lib.SQLITE_FULL || c&0xff == lib.SQLITE_READONLY
	}
}

// checkFreeSpace fails if the disk accepts no writes. After a refused write it tries another one,
// because space that a quota withholds is reported as free.
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
	s.full.CompareAndSwap(refused, nil) // keeps a write that was refused meanwhile
	return nil
}

// tryToWrite writes and removes a file of [minFree] bytes beside the database.
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
	return f.Sync() // some file systems allocate space only in sync
}

// Size implements store.Store: the database and its log.
func (s *Store) Size(context.Context) (size int64, err error) {
	for _, end := range []string{"", "-wal"} {
		info, err := os.Stat(s.path + end)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("sqlite: size: %w", err)
		}
		size += info.Size()
	}
	return size, nil
}

// freeSpace returns how many bytes this process can still write on the disk of a file.
func freeSpace(path string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	if disk.Blocks == 0 {
		return math.MaxUint64, nil // the file system does not report it
	}
	blocks := disk.Bavail
	if os.Geteuid() == 0 {
		blocks = disk.Bfree // includes the blocks reserved for root
	}
	return uint64(blocks) * uint64(disk.Bsize), nil
}
