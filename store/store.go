// Package store opens the database that remembers requests, sessions and
// accounts. Both engines pass the contract of store/storetest.
package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// Errors of both engines, beside those of the ports.
var (
	// ErrUnavailable: nothing was changed and the same call may succeed later.
	ErrUnavailable = sqlstore.ErrUnavailable
	// ErrReadOnly: the disk takes no writes; comes with ErrUnavailable, and goes
	// by itself once there is space.
	ErrReadOnly = sqlstore.ErrReadOnly
	// ErrUnknownOutcome: the change was sent and no answer came; read before you
	// tell anybody.
	ErrUnknownOutcome = sqlstore.ErrUnknownOutcome
	// ErrBroken: the disk refused to sync; writes are refused until a restart.
	ErrBroken = sqlstore.ErrBroken
	// ErrCorrupt: the database is damaged; the error around it says what to do.
	ErrCorrupt = sqlstore.ErrCorrupt
	// ErrLogLost: what was stored last before a crash may be gone.
	ErrLogLost = sqlstore.ErrLogLost
	// ErrDSN: the address of the database cannot be used as given.
	ErrDSN = sqlstore.ErrDSN
	// ErrInUse: another server uses the database.
	ErrInUse = sqlstore.ErrInUse
	// ErrClosed: the store was closed.
	ErrClosed = sqlstore.ErrClosed
)

// Store is everything that is remembered. Its methods may be called from any
// goroutine.
type Store interface {
	pending.Store
	pending.GrantStore
	session.Store
	account.Store
	account.Trail
	account.PersonalStore
	account.SettingStore
	alert.Store
	workspace.Trusts
	project.Store

	// Ping reports why the store cannot be read and written, nil when it can. It
	// costs little enough to be asked every second. A store that once failed with
	// [ErrBroken] says so for ever, one that is [ErrReadOnly] until there is space.
	Ping(ctx context.Context) error
	// Verify reads the whole database, at several 100 MB a second at best, and fails with
	// [ErrCorrupt] if a part of it is damaged; the store refuses every write from then on.
	// Where the database checks itself it does nothing.
	Verify(ctx context.Context) error
	// Recovered announces that the store does again what it is asked, after calls that
	// failed with [ErrUnavailable] or [ErrUnknownOutcome]. It is never closed, and for one
	// receiver.
	Recovered() <-chan struct{}
	// Reserve has the disk find room for what will be written, so that an answer does
	// not wait for that. It writes some megabytes in small steps, beside all else, and
	// none where little is free. An error is no reason not to go on.
	Reserve(ctx context.Context) error
	// Close waits for the writes under way and frees everything. Every later call
	// fails.
	Close() error
}

var (
	_ Store = (*sqlite.Store)(nil)
	_ Store = (*postgres.Store)(nil)
)

// Open opens a database and brings its schema up to date. The address is
// "sqlite:" and a path, a bare path, or a "postgres://" or "postgresql://" URL.
// Errors: [ErrDSN], [ErrCorrupt], migrations.ErrNewer, migrations.ErrIncomplete, and
// those of the engine; none of them prints a password.
func Open(ctx context.Context, dsn string) (Store, error) {
	return with(dsn,
		func(path string) (Store, error) { return opened(sqlite.Open(ctx, path)) },
		func(url string) (Store, error) { return opened(postgres.Open(ctx, url)) })
}

// LostLog looks, before the server opens a database that nobody else uses, whether it has
// lost what was stored last, which the database itself would not say: [ErrLogLost].
func LostLog(dsn string) error {
	path, isFile := sqlitePath(dsn)
	if !isFile {
		return nil
	}
	return sqlite.LostLog(path)
}

// EndedCleanly reports, before the server opens a database that nobody else uses, whether
// its last user closed it. If not, it should be verified: [Store.Verify]. It is true where
// the database looks after that itself.
func EndedCleanly(dsn string) bool {
	path, isFile := sqlitePath(dsn)
	return !isFile || sqlite.EndedCleanly(path)
}

// sqlitePath returns the path in the address of a SQLite database.
func sqlitePath(dsn string) (path string, isFile bool) {
	scheme, rest, found := strings.Cut(dsn, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return "", false
	case found && scheme == "sqlite":
		return rest, true
	}
	return dsn, true
}

// OpenReadOnly opens a database to look at it: nothing is made and nothing is changed,
// also when it is of another version; then it fails with migrations.ErrOlder,
// migrations.ErrNewer, migrations.ErrIncomplete, migrations.ErrEmpty, or, where there is
// no file, fs.ErrNotExist. A server may be running on it. Every write fails.
func OpenReadOnly(ctx context.Context, dsn string) (Store, error) {
	return with(dsn,
		func(path string) (Store, error) { return opened(sqlite.OpenReadOnly(ctx, path)) },
		func(url string) (Store, error) { return opened(postgres.OpenReadOnly(ctx, url)) })
}

// Exclusive keeps other servers from a database.
type Exclusive interface {
	// Run keeps them away until ctx ends, also when the connection is lost and comes
	// back. It fails with [ErrInUse] when another server has come meanwhile.
	Run(ctx context.Context) error
	// Close lets others in, once Run has returned.
	Close() error
}

// Exclude keeps other servers from a database that is no file, and is nil for one that
// is: whoever opens that locks it beside it. A server that is there may end within the
// time given; [ErrInUse] when it does not.
func Exclude(ctx context.Context, dsn string, wait time.Duration) (Exclusive, error) {
	scheme, _, found := strings.Cut(dsn, ":")
	if !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, nil
	}
	e, err := postgres.Exclude(ctx, dsn, wait)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return e, nil
}

// with has the engine of an address open it.
func with(dsn string, file, server func(string) (Store, error)) (s Store, err error) {
	scheme, rest, found := strings.Cut(dsn, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		s, err = server(dsn)
	case found && scheme == "sqlite":
		s, err = file(rest)
	case found && strings.HasPrefix(rest, "//"):
		err = fmt.Errorf("%w: %s:// is no database that sayso knows; use sqlite:/path or postgres://", ErrDSN, scheme)
	default:
		s, err = file(dsn)
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	return failing(s), nil
}

// opened keeps a nil engine from becoming a Store that is not nil.
func opened[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
