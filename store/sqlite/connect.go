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

// pragma is a setting of a connection, and the value that reading it must return.
type pragma struct{ name, set, want string }

// commonPragmas are the settings of all connections. busy_timeout comes first, because setting the
// others may already have to wait. It limits how long a write waits for a backup tool that holds the
// lock, before it fails as retryable.
var commonPragmas = []pragma{
	{"busy_timeout", "2000", "2000"}, // milliseconds
	{"journal_mode", "WAL", "wal"},
	{"foreign_keys", "1", "1"},
	{"trusted_schema", "0", "0"},
	// A commit that finds this many pages in the WAL copies them to the database and syncs several
	// times. A request and its answer write nine pages, so this affects one pair in 440. With the
	// default of 1000, it would determine their p99.
	{"wal_autocheckpoint", "4000", "4000"},
	{"journal_size_limit", "67108864", "67108864"}, // bytes of WAL kept after a burst
	// On macOS, a plain fsync leaves the data in the drive's cache. On other systems this setting
	// has no effect.
	{"fullfsync", "1", "1"},
}

// readerPragmas are the additional settings of connections that only read. SQLite empties their page
// caches after each write, so the default of 2 MB for each would be wasted.
var readerPragmas = []pragma{
	{"query_only", "1", "1"},
	{"cache_size", "-256", "-256"}, // KB
}

// synchronous contains the setting for each durability.
var synchronous = [...]pragma{
	sqlstore.Relaxed: {"synchronous", "NORMAL", "1"},
	sqlstore.Durable: {"synchronous", "FULL", "2"},
}

// connector opens connections and checks their settings. A driver or file that ignored a pragma
// could lose answers silently.
type connector struct {
	driver.Connector
	pragmas []pragma
}

// untouched is an open mode in addition to those of SQLite. It is like ro, but does not create or
// write the files that SQLite uses even for a reader: those of the WAL and the locks in them.
const untouched = "untouched"

// untouchedParameters returns the parameters of a connection that changes no file, and whether it
// reads the WAL.
func untouchedParameters(path string) (parameters url.Values, wal bool) {
	if _, err := os.Stat(path + "-shm"); err == nil {
		// A server runs or has crashed. With readonly_shm, SQLite needs this file.
		return url.Values{"mode": {"ro"}, "readonly_shm": {"1"}}, true
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return url.Values{"mode": {"ro"}, "immutable": {"1"}}, false
	}
	return url.Values{"mode": {"ro"}}, true // the file was deleted, and SQLite must create it again
}

// newPool returns a pool of up to size connections, with the settings more in addition to
// [commonPragmas]. mode is an SQLite open mode such as ro, or [untouched]. newPool opens no connection.
func newPool(path, mode string, size int, more ...pragma) *sql.DB {
	pragmas := slices.Concat(commonPragmas, more)
	query := url.Values{"mode": {mode}}
	if mode == untouched {
		var wal bool
		if query, wal = untouchedParameters(path); !wal {
			pragmas = slices.DeleteFunc(pragmas, func(p pragma) bool { return p.name == "journal_mode" })
		}
	}
	query.Set("_txlock", "immediate")
	for _, p := range pragmas {
		query.Add("_pragma", p.name+"("+p.set+")")
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db := sql.OpenDB(connector{mustConnector(dsn.String()), pragmas})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// mustConnector panics if the DSN does not parse. [newPool] encodes it, so it always parses.
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

// check fails if the setting of a connection does not have the wanted value.
func (p pragma) check(ctx context.Context, conn driver.Conn) error {
	got, err := readPragma(ctx, conn, p.name)
	if err == nil && got != p.want {
		err = fmt.Errorf("PRAGMA %s is %s and must be %s", p.name, got, p.want)
	}
	return err
}

// readPragma returns the value of a pragma.
func readPragma(ctx context.Context, conn driver.Conn, name string) (_ string, err error) {
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

// createFile creates the folder and file of a database, readable only by this user regardless of the
// umask, and returns the absolute path. An existing folder keeps its mode, because it may belong to
// another user. SQLite creates its other files with the mode of the database.
func createFile(path string) (string, error) {
	path, err := absolutePath(path)
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
		return "", fmt.Errorf("%w: %s is a %s, not a file of our own", sqlstore.ErrDSN, path, fileKind(info.Mode()))
	case linkCount(info) > 1:
		return "", fmt.Errorf("%w: %s has other names too (hard links), and each name would get a log of its own; copy it to one of its own", sqlstore.ErrDSN, path)
	case info.Mode().Perm() != 0o600:
		return path, os.Chmod(path, 0o600)
	}
	return path, nil
}

// absolutePath returns the absolute path of a database.
func absolutePath(path string) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("%w: it needs the path of a file", sqlstore.ErrDSN)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", sqlstore.ErrDSN, err)
	}
	return path, nil
}

// linkCount returns the number of hard links to a file.
func linkCount(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

func fileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}
