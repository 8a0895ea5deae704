package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/sqlstore"
	"github.com/sayso-dev/sayso/store/transfer"
)

// OpenSource opens the database at path to copy it to another one. It changes no file. No server may
// use the database. The caller must call closeAll.
func OpenSource(path string) (_ transfer.Database, closeAll func() error, err error) {
	path, err = absolutePath(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return transfer.Database{}, nil, fmt.Errorf("database: %w", err)
	}
	db := newPool(path, modeOfReader(path), 1, readerPragmas...)
	return transfer.Database{DB: db, Dialect: migrations.SQLite, Name: path}, db.Close, nil
}

// OpenTarget opens the database at path to copy another one into it, and creates it if necessary. No
// server may use the database.
func OpenTarget(ctx context.Context, path string) (_ transfer.Database, closeAll func() error, err error) {
	if path, err = createFile(path); err != nil {
		return transfer.Database{}, nil, fmt.Errorf("database: %w", err)
	}
	db := newPool(path, "rwc", 1, synchronous[sqlstore.Durable])
	conn, err := db.Conn(ctx)
	if err == nil {
		err = errors.Join(keepLog(conn), conn.Close()) // the pool keeps its one connection open
	}
	if err != nil {
		return transfer.Database{}, nil, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	return transfer.Database{DB: db, Dialect: migrations.SQLite, Name: path}, db.Close, nil
}

// DiscardCopy removes the database at path if a copy into it was interrupted.
func DiscardCopy(ctx context.Context, path string) (err error) {
	if path, err = absolutePath(path); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	db := newPool(path, "rw", 1)
	copying, err := migrations.IsCopying(ctx, db, migrations.SQLite)
	if err = errors.Join(err, db.Close()); err != nil || !copying {
		return err
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}
