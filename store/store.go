// Package store opens the database that stores requests, sessions and accounts. Both engines pass
// the contract of store/storetest.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/job"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// Errors of both engines, in addition to those of the interfaces they implement.
var (
	// ErrUnavailable: nothing was changed, and the same call may succeed later.
	ErrUnavailable = sqlstore.ErrUnavailable
	// ErrReadOnly: the disk accepts no writes. ErrUnavailable accompanies it, and writes succeed
	// again once there is space.
	ErrReadOnly = sqlstore.ErrReadOnly
	// ErrUnknownOutcome: the change was sent, but no reply arrived. Read the row before you report
	// a result.
	ErrUnknownOutcome = sqlstore.ErrUnknownOutcome
	// ErrLeaseLost: the runner of the process has a newer lease. ErrUnavailable accompanies it.
	ErrLeaseLost = sqlstore.ErrLeaseLost
	// ErrBroken: a sync failed; every write is refused until the server is restarted.
	ErrBroken = sqlstore.ErrBroken
	// ErrCorrupt: the database is damaged; the wrapping error tells people what to do.
	ErrCorrupt = sqlstore.ErrCorrupt
	// ErrLogLost: the last writes before a crash may be lost.
	ErrLogLost = sqlstore.ErrLogLost
	// ErrDSN: the address of the database is not valid.
	ErrDSN = sqlstore.ErrDSN
	// ErrInUse: another server uses the database.
	ErrInUse = sqlstore.ErrInUse
	// ErrClosed: the store was closed.
	ErrClosed = sqlstore.ErrClosed
)

// Store is the database of sayso. All methods are safe for concurrent use.
type Store interface {
	pending.Store
	pending.GrantStore
	session.Store
	session.RunnerStore
	account.Store
	account.Trail
	account.PersonalStore
	account.BookmarkStore
	account.SettingStore
	account.Failures
	account.Ceremonies
	alert.Store
	job.Store
	workspace.Trusts
	project.Store

	// Ping fails if the store cannot be read and written. It is cheap enough to call every second.
	// After [ErrBroken] it always fails; after [ErrReadOnly] it fails until there is space.
	Ping(ctx context.Context) error
	// Verify reads the whole database, at several 100 MB per second at most, and fails with
	// [ErrCorrupt] if any part is damaged; the store then refuses every write. Verify does nothing
	// if the database checks itself.
	Verify(ctx context.Context) error
	// Recovered receives a value when calls succeed again after some have failed with
	// [ErrUnavailable] or [ErrUnknownOutcome]. It is for one receiver and is never closed.
	Recovered() <-chan struct{}
	// Reserve allocates disk space for coming writes, so that an answer does not wait for it. It
	// writes some megabytes in small steps alongside other writes, or nothing if little space is
	// free. Callers may continue after an error.
	Reserve(ctx context.Context) error
	// Size returns how many bytes the database occupies on its disk.
	Size(ctx context.Context) (int64, error)
	// Usage returns how many bytes are stored for each purpose. It reads the size of every item,
	// which takes seconds in a database of many GB.
	Usage(ctx context.Context) (session.Usage, error)
	// Close waits for running writes and releases all resources. Every later call fails.
	Close() error
}

var (
	_ Store = (*sqlite.Store)(nil)
	_ Store = (*postgres.Store)(nil)
)

// Open opens a database and brings its schema up to date. dsn is "sqlite:" and a path, a path, or a
// "postgres://" or "postgresql://" URL. It fails with [ErrDSN], [ErrCorrupt], migrations.ErrNewer,
// migrations.ErrIncomplete or an error of the engine. No error contains a password.
func Open(ctx context.Context, dsn string) (Store, error) {
	return openEngine(dsn,
		func(path string) (Store, error) { return asStore(sqlite.Open(ctx, path)) },
		func(url string) (Store, error) { return asStore(postgres.Open(ctx, url)) })
}

// OpenMigrated is like [Open], for commands that run beside a server. It creates a database, but does
// not migrate one of an older version, because a server of that version may be using it: then it
// fails with migrations.ErrOlder.
func OpenMigrated(ctx context.Context, dsn string) (Store, error) {
	return openEngine(dsn,
		func(path string) (Store, error) { return asStore(sqlite.OpenMigrated(ctx, path)) },
		func(url string) (Store, error) { return asStore(postgres.OpenMigrated(ctx, url)) })
}

// CheckLog fails with [ErrLogLost] if a database has lost its last writes without noticing. Call it
// before [Open], while no other program uses the database.
func CheckLog(dsn string) error {
	path, isFile := sqlitePath(dsn)
	if !isFile {
		return nil
	}
	return sqlite.CheckLog(path)
}

// EndedCleanly reports whether the last user of a database closed it; if not, call [Store.Verify].
// It is always true if the database checks itself. Call it before [Open], while no other program
// uses the database.
func EndedCleanly(dsn string) bool {
	path, isFile := sqlitePath(dsn)
	return !isFile || sqlite.EndedCleanly(path)
}

// sqlitePath returns the path in the address of an SQLite database.
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

// OpenReadOnly opens a database for reading. It creates and changes nothing, even if the schema is
// of another version: then it fails with migrations.ErrOlder, migrations.ErrNewer,
// migrations.ErrIncomplete or migrations.ErrEmpty. If there is no file, it fails with
// fs.ErrNotExist. A server may be using the database. Every write fails.
func OpenReadOnly(ctx context.Context, dsn string) (Store, error) {
	return openEngine(dsn,
		func(path string) (Store, error) { return asStore(sqlite.OpenReadOnly(ctx, path)) },
		func(url string) (Store, error) { return asStore(postgres.OpenReadOnly(ctx, url)) })
}

// Exclusive is the lock on a database that is not a file.
type Exclusive interface {
	// Run keeps the lock until ctx ends, and reconnects if the connection is lost. It fails with
	// [ErrInUse] if another program has taken the lock meanwhile.
	Run(ctx context.Context) error
	// Close releases the lock. Call it after Run has returned.
	Close() error
}

// Exclude takes the exclusive lock on a database that is not a file, so that no server uses it. For a
// file it returns nil, because opening a file locks it. While a server uses the database, Exclude
// waits up to the given time, and then fails with [ErrInUse].
func Exclude(ctx context.Context, dsn string, wait time.Duration) (Exclusive, error) {
	return lock(ctx, dsn, wait, postgres.Exclude)
}

// Share takes the lock on a database that is not a file for a server, which may share it with other
// servers. For a file it returns nil. While the exclusive lock is taken, Share waits and fails like
// [Exclude].
func Share(ctx context.Context, dsn string, wait time.Duration) (Exclusive, error) {
	return lock(ctx, dsn, wait, postgres.Share)
}

func lock(ctx context.Context, dsn string, wait time.Duration, take func(context.Context, string, time.Duration) (*postgres.Exclusive, error)) (Exclusive, error) {
	if _, isFile := sqlitePath(dsn); isFile {
		return nil, nil
	}
	e, err := take(ctx, dsn, wait)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Cluster is the part of a store that servers sharing a database need.
type Cluster interface {
	session.ServerStore
	alert.PresenceStore
	// SharedSecret returns a secret that all servers share: the proposal of the first caller.
	SharedSecret(ctx context.Context, name, proposal string) (string, error)
	// Use returns the resource use of all processes, except those of exceptRunners, and of all
	// reserved sessions, by session id. Pass mark to ReserveSession.
	Use(ctx context.Context, exceptRunners []string) (use map[string]project.SessionUse, mark int64, err error)
	// ReserveSession makes Use count a session for a minute, before its process is stored. It
	// reserves nothing and returns false if another session was reserved since Use returned mark.
	ReserveSession(ctx context.Context, mark int64, sessionID string, use project.SessionUse) (bool, error)
	// ReleaseSession removes the reservation of a session.
	ReleaseSession(ctx context.Context, sessionID string) error
	Session(ctx context.Context, sessionID string) (session.Session, error)
}

// AsCluster returns the Cluster of a store that [Open] returned. ok is false for a file, which
// servers cannot share.
func AsCluster(s Store) (c Cluster, ok bool) {
	c, ok = engineOf(s).(Cluster)
	return c, ok
}

// A Notifier announces changes of sessions to this server's listeners, and to the other servers of
// its database. [session.LocalNotifier] documents the methods.
type Notifier interface {
	session.Notifier
	NotifyItems(sessionID string)
	NotifyLive(sessionID string)
	NotifyDeferred(sessionID string)
	NotifyTopic(topic session.Topic, key string)
	Listen(listener func(sessionID string))
	ListenItems(listener func(sessionID string))
	ListenLive(listener func(sessionID string))
	ListenRemote(listener func(sessionID string))
	ListenAll(listener func())
	ListenTopic(topic session.Topic, listener func(key string))
}

// NewNotifier returns the notifier for a database. run connects it with other servers until its
// context ends. run is nil for a file, which only one server uses.
func NewNotifier(dsn string, log *slog.Logger) (n Notifier, run func(context.Context) error, err error) {
	if _, isFile := sqlitePath(dsn); isFile {
		return &session.LocalNotifier{}, nil, nil
	}
	several, err := postgres.NewNotifier(dsn, log)
	if err != nil {
		return nil, nil, err
	}
	return several, several.Run, nil
}

// openEngine opens a database with the engine that its address names.
func openEngine(dsn string, file, server func(string) (Store, error)) (s Store, err error) {
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
		return nil, err
	}
	return failing(s), nil
}

// WithLease returns a view, for the driver of a runner, of a store that [Open] returned. Each write
// of the view fails with [ErrLeaseLost] if the runner has a newer lease than l. Closing the store
// ends the view.
func WithLease(s Store, l session.Lease) Store {
	switch engine := engineOf(s).(type) {
	case *sqlite.Store:
		return failing(engine.WithLease(l))
	case *postgres.Store:
		return failing(engine.WithLease(l))
	}
	panic(fmt.Sprintf("store: %T has no leases", s)) // Open returns no other
}

// asStore converts the result of an engine, so that a nil engine does not become a non-nil Store.
func asStore[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
