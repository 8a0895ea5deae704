// Package sqlite is the store in one SQLite file: the engine that needs no
// set-up.
//
// # Durability
//
// What a person said (answers, accounts, tokens, acks) is on disk when the call
// returns; what an agent said (requests, states, transcripts, queued messages)
// is with the operating system, so that it survives any crash of the server but
// not a power cut. One connection writes both and sets PRAGMA synchronous between
// two transactions: a second one would have to read anew all that the first has
// written. They share one WAL, so a durable commit also makes everything
// before it durable, and nothing is ever stored without what it builds on.
//
// # Concurrency
//
// There is one writer at a time: a turn, taken from a channel of one place. It
// is not a mutex around shared memory but the queue for a device: a caller whose
// context ends leaves the queue, and first come is first served, which SQLite's
// own waiting (sleep and retry) is not. A write that has its turn is not
// interrupted, so there is no half of it and no doubt about it. Readers never
// wait for the writer; the short reads of an answer's way use its connection while
// it is free.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// readers is how many reads run at once; more of them wait. Reads take
// microseconds and each connection costs memory for its page cache.
const readers = 4

// Store is a [github.com/sayso-dev/sayso/store.Store] in a SQLite file.
type Store struct {
	sqlstore.Shared
	path    string
	writes  *writer
	reads   *sql.DB
	queries sync.Map // *sql.Stmt of reads by *sqlstore.Statement, prepared on first use

	turn   chan struct{} // holds one value while somebody writes
	closed chan struct{} // closed by Close
	once   sync.Once
	broken error // the failed sync that ended all writing; guarded by turn
	// damaged is that a page was found which SQLite cannot read. To write on could
	// spoil more, so nothing is written any more.
	damaged atomic.Pointer[damagedError]

	full       atomic.Pointer[diskFullError] // the last write that the disk refused, until there is space
	noProjects noProjects
	// The request that was opened last, while no request was changed since: an answer
	// reads it again.
	newest  atomic.Pointer[pending.Request]
	opening *pending.Request // by the write under way; guarded by turn
}

// checkedAtOpen is the size in bytes up to which a database is read whole before it is
// used. Reading 100 MB takes about a second, for which a start must not wait.
const checkedAtOpen = 4 << 20

// Open opens the database at path, creating it (0600) and its folder (0700)
// where they are missing, and brings its schema up to date. It checks a database of up to
// 4 MB for damage; see [Store.Verify] for larger ones. Another server on the same file is
// for the caller to exclude.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := prepare(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return open(ctx, path, "rwc", migrations.Apply)
}

// OpenReadOnly opens the database at path for reading. It makes no file, changes
// none and applies no migration: [fs.ErrNotExist], or an error of migrations.Check, when
// there is nothing to read. Every write fails.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	path, err := place(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return open(ctx, path, "ro", migrations.Check)
}

// open opens a file that is there, and has its schema looked after.
func open(ctx context.Context, path, mode string, schema func(context.Context, *sql.DB, migrations.Dialect) error) (_ *Store, err error) {
	s := &Store{path: path, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	s.Shared = sqlstore.NewShared(sqlstore.Engine{Dialect: sqlstore.SQLite, Bind: bind, Query: s.query, Apply: s.apply, Approve: s.approve})
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("sqlite: %s: %w", path, s.explain(err)), s.closeConnections())
		}
	}()

	writes := pool(path, mode, 1, synchronous[sqlstore.Durable])
	if info, statErr := os.Stat(path); statErr == nil && info.Size() <= checkedAtOpen {
		if err = check(ctx, writes); err != nil {
			return nil, errors.Join(err, writes.Close())
		}
	}
	if err = schema(ctx, writes, migrations.SQLite); err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	if s.writes, err = newWriter(ctx, writes); err != nil {
		return nil, err
	}
	s.reads = pool(path, mode, readers, reading...)
	return s, nil
}

// Verify implements store.Store. It reads on a connection of its own and delays no other
// read or write.
func (s *Store) Verify(ctx context.Context) error {
	db := pool(s.path, "ro", 1, reading...)
	err := check(ctx, db)
	if err != nil && ctx.Err() == nil {
		err = s.found(err)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("sqlite: verify: %w", err)
	}
	return nil
}

// check reads the whole database and fails with [sqlstore.ErrCorrupt] if it is damaged.
func check(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", sqlstore.ErrCorrupt, verdict)
	}
	return nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.awaitTurn(ctx); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	broken := s.broken
	<-s.turn
	if damaged := s.damaged.Load(); damaged != nil {
		return fmt.Errorf("sqlite: ping: %w", damaged)
	}
	if broken != nil {
		return fmt.Errorf("sqlite: ping: %w", broken)
	}
	var one int
	if err := s.reads.QueryRowContext(ctx, "SELECT 1 FROM migrations LIMIT 1").Scan(&one); err != nil {
		return fmt.Errorf("sqlite: ping: %w", s.found(err))
	}
	if err := s.checkFreeSpace(); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	return nil
}

// Close implements store.Store.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.closed)
		s.turn <- struct{}{} // kept: nobody writes any more
		if err = s.closeConnections(); err != nil {
			err = fmt.Errorf("sqlite: close: %w", err)
		}
	})
	return err
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// closeConnections closes what Open has made so far. The last connection to close moves the
// WAL into the database.
func (s *Store) closeConnections() error {
	var errs []error
	for _, stmt := range s.queries.Range {
		errs = append(errs, stmt.(*sql.Stmt).Close())
	}
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.writes != nil {
		errs = append(errs, s.writes.close())
	}
	return errors.Join(errs...)
}
