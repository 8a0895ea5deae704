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

// Backup passes the contents of a database to add, as files whose names begin with "database/". The
// files are one snapshot, and taking it blocks no write. Servers may be using the database.
func Backup(ctx context.Context, dsn string, add func(name string, size int64, content io.Reader) error) error {
	path, isFile := sqlitePath(dsn)
	backUp := func() error { return postgres.Backup(ctx, dsn, add) }
	if isFile {
		backUp = func() error { return sqlite.Backup(ctx, path, add) }
	}
	return backUp()
}

// IsEmpty reports whether the database at an address has no tables of sayso. A file counts as empty
// if it does not exist or has no bytes.
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

// A Restorer replaces a database with the contents of a backup.
type Restorer interface {
	// Put restores one of the files that [Backup] passed, in the same order. It does not change the
	// database yet.
	Put(ctx context.Context, name string, content io.Reader) error
	// Check fails if this program cannot use the restored database.
	Check(ctx context.Context) error
	// Commit replaces the database, completely or not at all. Call it after Check.
	Commit(ctx context.Context) error
	// Close discards everything that was not committed.
	Close() error
}

// NewRestorer prepares to restore the database at an address. No server may use the database
// meanwhile: see [Exclude]. If the database is a file, the previous one is kept, with aside appended
// to its name. Other databases keep nothing.
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
