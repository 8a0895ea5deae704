package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	lib "modernc.org/sqlite/lib"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// BackupFile is the name of the database in a backup.
const BackupFile = "database/sayso.db"

// Backup passes the database at path to add, as one file of size bytes. It reads one snapshot and
// blocks no write, but the log of the database grows meanwhile. A server may be using the database.
// The schema may be of any version.
func Backup(ctx context.Context, path string, add func(name string, size int64, content io.Reader) error) (err error) {
	if path, err = absolutePath(path); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up %s: %w", path, err)
		}
	}()
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db := newPool(path, modeOfReader(path), 1, readerPragmas...)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return err
	}
	defer func() {
		_, rollbackErr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, rollbackErr)
	}()
	var size, steps int64 // the first read chooses the snapshot
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM migrations").Scan(&steps); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, "SELECT data FROM sqlite_dbpage ORDER BY pgno")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return add(BackupFile, size, &pages{rows: rows})
}

// modeOfReader returns the mode in which to read a whole database. Unlike [untouched], it is correct
// even if a server starts or ends meanwhile.
func modeOfReader(path string) string {
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		return untouched // without a WAL, ro fails: SQLite would have to create it
	}
	return "ro"
}

// pages reads the pages of a database in order.
type pages struct {
	rows *sql.Rows
	rest []byte
}

// Read implements [io.Reader].
func (p *pages) Read(to []byte) (int, error) {
	for len(p.rest) == 0 {
		if !p.rows.Next() {
			return 0, cmp.Or(p.rows.Err(), io.EOF)
		}
		var page sql.RawBytes
		if err := p.rows.Scan(&page); err != nil {
			return 0, err
		}
		p.rest = page // valid until the next call of Next
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Restorer replaces a database with a restored one, completely or not at all. No other program may
// use either of them.
type Restorer struct{ path, staged, aside string }

// NewRestorer prepares to restore the database at path. An existing database is kept, with aside
// appended to its name.
func NewRestorer(path, aside string) (*Restorer, error) {
	path, err := absolutePath(path)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return &Restorer{path: path, staged: path + "-restoring", aside: path + aside}, nil
}

// Put writes the file of the backup to a temporary file beside the database.
func (r *Restorer) Put(_ context.Context, name string, content io.Reader) (err error) {
	if name != BackupFile {
		return fmt.Errorf("restore: the backup is not of an SQLite database: it has %s", name)
	}
	for _, end := range []string{"", "-wal", "-shm"} { // left by an interrupted restore
		if err := os.Remove(r.staged + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restore: %w", err)
		}
	}
	file, err := os.OpenFile(r.staged, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := io.Copy(file, content); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return file.Sync()
}

// Check reads the whole restored database. It fails with [sqlstore.ErrCorrupt] if it is damaged, and
// with an error of migrations.Check if this program cannot use it.
func (r *Restorer) Check(ctx context.Context) (err error) {
	db := newPool(r.staged, untouched, 1, readerPragmas...)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err = checkIntegrity(ctx, db); err == nil {
		err = migrations.Check(ctx, db, migrations.SQLite)
	}
	// Depending on where the damage is, checkIntegrity reports it or fails to read.
	if code := resultCode(err) & 0xff; code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB {
		err = fmt.Errorf("%w: %w", sqlstore.ErrCorrupt, err)
	}
	if err != nil && !errors.Is(err, migrations.ErrOlder) { // a server migrates an older database
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// Commit moves the restored database into place.
func (r *Restorer) Commit(context.Context) error {
	for _, end := range []string{"", "-wal"} {
		if err := os.Rename(r.path+end, r.aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restore: %w", err)
		}
	}
	if err := os.Remove(r.path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore: %w", err)
	}
	// Without a log, CheckLog would report that the database may have lost changes.
	if err := os.WriteFile(r.path+"-wal", nil, 0o600); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(r.staged, r.path); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return syncFolder(filepath.Dir(r.path))
}

// Close removes the restored database if it was not committed.
func (r *Restorer) Close() error {
	if err := os.Remove(r.staged); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// syncFolder makes renames in a folder durable.
func syncFolder(path string) (err error) {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}
