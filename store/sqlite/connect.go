package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// pragma is a setting of a connection and what it must read back as.
type pragma struct{ name, set, want string }

// common settings. busy_timeout comes first, because setting the others may
// already have to wait. It bounds how long a backup tool that holds the lock can
// delay a write before the write is refused as retryable.
var common = []pragma{
	{"busy_timeout", "2000", "2000"}, // milliseconds
	{"journal_mode", "WAL", "wal"},
	{"foreign_keys", "1", "1"},
	{"trusted_schema", "0", "0"},
	// The commit that finds the WAL this long moves it into the database and waits
	// for the disk several times. A request and its answer write nine pages, so this
	// happens to one pair in 440, where the usual 1000 would make it the p99.
	{"wal_autocheckpoint", "4000", "4000"},
	{"journal_size_limit", "67108864", "67108864"}, // bytes of WAL kept after a burst
	// The fsync of macOS leaves the data in the drive's cache; elsewhere this
	// setting does nothing.
	{"fullfsync", "1", "1"},
}

// reading are the settings of a connection that only reads. It forgets its pages whenever the writer has
// written, so a cache of the usual 2 MB for each of them would only fill.
var reading = []pragma{
	{"query_only", "1", "1"},
	{"cache_size", "-256", "-256"}, // KB
}

// synchronous is the setting for a durability.
var synchronous = [...]pragma{
	sqlstore.Relaxed: {"synchronous", "NORMAL", "1"},
	sqlstore.Durable: {"synchronous", "FULL", "2"},
}

// connector opens connections with some settings and refuses one whose settings
// are not as wanted: a driver or a file that ignores a pragma would lose answers
// silently.
type connector struct {
	driver.Connector
	pragmas []pragma
}

// pool is a set of at most size connections with more settings, in a mode of SQLite such as
// ro. It opens none yet.
func pool(path, mode string, size int, more ...pragma) *sql.DB {
	pragmas := slices.Concat(common, more)
	query := url.Values{"_txlock": {"immediate"}, "mode": {mode}}
	for _, p := range pragmas {
		query.Add("_pragma", p.name+"("+p.set+")")
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db := sql.OpenDB(connector{mustConnector(dsn.String()), pragmas})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// mustConnector cannot fail: it refuses only a query that does not parse, and
// ours was encoded above.
func mustConnector(dsn string) driver.Connector {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		panic(err)
	}
	return c
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pragmas {
		if err := p.check(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// check refuses a connection whose setting is not as wanted.
func (p pragma) check(ctx context.Context, conn driver.Conn) error {
	got, err := read(ctx, conn, p.name)
	if err == nil && got != p.want {
		err = fmt.Errorf("PRAGMA %s is %s and must be %s", p.name, got, p.want)
	}
	return err
}

// read returns the value of a pragma.
func read(ctx context.Context, conn driver.Conn, name string) (_ string, err error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return "", fmt.Errorf("PRAGMA %s: %w", name, err)
	}
	return fmt.Sprint(value[0]), nil
}

// prepare makes folder and file, for this user alone whatever the umask, and
// returns the absolute path. A folder that exists keeps its mode: it may be
// somebody else's. The files that SQLite adds take the mode of the database.
func prepare(path string) (string, error) {
	path, err := place(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", err
		}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		return path, errors.Join(file.Chmod(0o600), file.Close())
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is a %s, not a file of our own", sqlstore.ErrDSN, path, kind(info.Mode()))
	case links(info) > 1:
		return "", fmt.Errorf("%w: %s has other names too (hard links), and each name would get a log of its own; copy it to one of its own", sqlstore.ErrDSN, path)
	case info.Mode().Perm() != 0o600:
		return path, os.Chmod(path, 0o600)
	}
	return path, nil
}

// place returns the absolute path of a database.
func place(path string) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("%w: it needs the path of a file", sqlstore.ErrDSN)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", sqlstore.ErrDSN, err)
	}
	return path, nil
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}
