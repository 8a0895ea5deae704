package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

const (
	// reserved is how long the WAL is before SQLite begins it anew: see
	// wal_autocheckpoint. Each of its pages has a header of 24 bytes.
	reserved = 4000 * (4096 + 24)
	// reserveStep is how much of it is written at once: no answer that is synced
	// meanwhile waits for more.
	reserveStep = 512 << 10
	// spare is how many times as much must be free for any of it to be taken.
	spare = 8
)

// Reserve implements store.Store. A commit that is synced behind the end of the
// WAL waits until the file system has found room and written down where; one that
// is written over what is there does not. SQLite writes its WAL over and over, but
// has to get to the end of it once after each start. So it is filled with zeros,
// which are no pages of it, wherever it ends.
func (s *Store) Reserve(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: reserve: %w", err)
		}
	}()
	if free, err := freeSpace(s.path); err != nil || free < spare*reserved {
		return err // what is left is for what somebody says
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
		// In a transaction: nobody else writes, also no other program.
		err := s.write(ctx, sqlstore.Relaxed, "fill the log", func(context.Context, tx) error {
			info, err := wal.Stat()
			if err != nil {
				return err
			}
			if filled = info.Size() >= reserved; filled {
				return errNothing
			}
			if _, err := wal.WriteAt(zeros[:min(reserveStep, reserved-info.Size())], info.Size()); err != nil {
				return err
			}
			return errNothing
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
