package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

const (
	// reservedBytes is the size of the WAL at which SQLite starts again at its beginning, in bytes: see
	// wal_autocheckpoint. Each page has a header of 24 bytes.
	reservedBytes = 4000 * (4096 + 24)
	// reserveStep is the number of bytes written at a time. An answer may have to wait until they
	// are synced.
	reserveStep = 512 << 10
	// minFreeRatio is the ratio of free space to reserved space below which nothing is reserved.
	minFreeRatio = 8
)

// Reserve implements store.Store. A synced commit that extends the WAL waits until the file system
// has allocated space; one that overwrites existing pages does not. SQLite overwrites its WAL again
// and again, but must first extend it once after each start. So Reserve extends the WAL with zeros,
// which SQLite does not mistake for pages, wherever its own data ends.
func (s *Store) Reserve(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: reserve: %w", err)
		}
	}()
	if free, err := freeSpace(s.path); err != nil || free < minFreeRatio*reservedBytes {
		return err // leave the remaining space for writes
	}
	wal, err := os.OpenFile(s.path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer wal.Close()
	zeros := make([]byte, reserveStep)
	for filled := false; !filled; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// The transaction keeps out other writers, including those of other programs.
		err := s.write(ctx, sqlstore.Relaxed, "fill the log", func(context.Context, tx) error {
			info, err := wal.Stat()
			if err != nil {
				return err
			}
			if filled = info.Size() >= reservedBytes; filled {
				return errUnchanged
			}
			if _, err := wal.WriteAt(zeros[:min(reserveStep, reservedBytes-info.Size())], info.Size()); err != nil {
				return err
			}
			return errUnchanged
		})
		if err == nil {
			err = wal.Sync()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
