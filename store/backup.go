package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// Backup passes a database to add, as files whose names begin with "database/". They are one
// snapshot, which no write waits for. Servers may be using the database.
func Backup(ctx context.Context, dsn string, add func(name string, size int64, content io.Reader) error) error {
	path, isFile := sqlitePath(dsn)
	backUp := func() error { return postgres.Backup(ctx, dsn, add) }
	if isFile {
		backUp = func() error { return sqlite.Backup(ctx, path, add) }
	}
	return backUp()
}

// IsEmpty reports whether there is no database at an address, or one without tables.
func IsEmpty(ctx context.Context, dsn string) (bool, error) {
	path, isFile := sqlitePath(dsn)
	if !isFile {
		return postgres.IsEmpty(ctx, dsn)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && info.Size() == 0, err
}

// Restorer replaces a database by the one of a backup.
type Restorer interface {
	// Put takes one of the files that [Backup] passed, in their order. The database stays as it is.
	Put(ctx context.Context, name string, content io.Reader) error
	// Check reports whether this program can use what was put.
	Check(ctx context.Context) error
	// Commit replaces the database, all of it or nothing. Call it after Check.
	Commit(ctx context.Context) error
	// Close undoes what was not committed.
	Close() error
}

// NewRestorer prepares to restore the database at an address, which no server may use meanwhile: see
// [Exclude]. A file that is replaced is kept, with aside appended to its name; other databases keep
// nothing.
func NewRestorer(ctx context.Context, dsn, aside string) (Restorer, error) {
	if path, isFile := sqlitePath(dsn); isFile {
		return asRestorer(sqlite.NewRestorer(path, aside))
	}
	return asRestorer(postgres.NewRestorer(ctx, dsn))
}

// asRestorer is [asStore] for a Restorer.
func asRestorer[R Restorer](r R, err error) (Restorer, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
