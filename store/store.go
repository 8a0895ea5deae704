// Package store opens the database that remembers requests, sessions and
// accounts. Both engines pass the contract of store/storetest.
package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/alert"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/workspace"
)

// Errors of both engines, beside those of the ports.
var (
	// ErrUnavailable: nothing was changed and the same call may succeed later.
	ErrUnavailable = engine.ErrUnavailable
	// ErrReadOnly: the disk takes no writes; comes with ErrUnavailable, and goes
	// by itself once there is space.
	ErrReadOnly = engine.ErrReadOnly
	// ErrUnknownOutcome: the change was sent and no answer came; read before you
	// tell anybody.
	ErrUnknownOutcome = engine.ErrUnknownOutcome
	// ErrBroken: the disk refused to sync; writes are refused until a restart.
	ErrBroken = engine.ErrBroken
	// ErrCorrupt: the database is damaged; the error around it says what to do.
	ErrCorrupt = engine.ErrCorrupt
	// ErrDSN: the address of the database cannot be used as given.
	ErrDSN = engine.ErrDSN
	// ErrClosed: the store was closed.
	ErrClosed = engine.ErrClosed
)

// Store is everything that is remembered. Its methods may be called from any
// goroutine.
type Store interface {
	pending.Store
	pending.GrantStore
	session.Store
	account.Store
	account.Trail
	account.Desk
	account.SettingStore
	alert.Store
	workspace.Trusts
	project.Store

	// Ping reports why the store cannot be read and written, nil when it can. It
	// costs little enough to be asked every second. A store that once failed with
	// [ErrBroken] says so for ever, one that is [ErrReadOnly] until there is space.
	Ping(ctx context.Context) error
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
// Errors: [ErrDSN], [ErrCorrupt], migrations.ErrNewer, and those of the engine;
// none of them prints a password.
func Open(ctx context.Context, dsn string) (Store, error) {
	scheme, rest, found := strings.Cut(dsn, ":")
	var s Store
	var err error
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		s, err = opened(postgres.Open(ctx, dsn))
	case found && scheme == "sqlite":
		s, err = opened(sqlite.Open(ctx, rest))
	case found && strings.HasPrefix(rest, "//"):
		err = fmt.Errorf("%w: %s:// is no database that sayso knows; use sqlite:/path or postgres://", ErrDSN, scheme)
	default:
		s, err = opened(sqlite.Open(ctx, dsn))
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
