// Package sqlite implements the store in one SQLite file, the engine that needs no setup.
//
// # Durability
//
// Data from people (answers, accounts, tokens, acks) is on disk when the call returns. Data from
// agents (requests, states, transcripts, queued messages) is in the cache of the operating system: it
// survives any crash of the server, but not a power cut. One connection writes both kinds, and sets
// PRAGMA synchronous between transactions; a second connection would have to read again what the
// first has written. Both kinds share one WAL, so a durable commit also makes everything before it
// durable, and no row is stored without the rows to which it refers.
//
// # Concurrency
//
// One transaction writes at a time. Writers queue for a channel with one slot instead of using
// SQLite's busy handler (sleep and retry), so that they are served in order, and a caller whose
// context ends leaves the queue. A write that has started is not interrupted, so its outcome is
// always known. Readers never wait for a writer. The short reads on the path of an answer use the
// writer's connection while it is free.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// maxReaders bounds the number of concurrent reads; further reads wait. A read takes microseconds,
// and each connection needs memory for its page cache.
const maxReaders = 4

// Store is a [github.com/sayso-dev/sayso/store.Store] in a SQLite file.
type Store struct {
	sqlstore.Shared
	*database
	lease *session.Lease // checked by each write, see [Store.WithLease]; nil for no check
}

// database is the state that the views of a Store share.
type database struct {
	// Kept in memory, because a file has only one server.
	account.MemoryFailures
	account.MemoryCeremonies

	path    string
	mode    string // see newPool
	writes  *writer
	reads   *sql.DB
	queries sync.Map // *sql.Stmt of reads by *sqlstore.Statement, prepared on first use
	// longReads is read-locked by each call of queryLong, so that Close can wait for them.
	longReads sync.RWMutex

	writeSlot chan struct{} // holds one value while a caller writes
	closed    chan struct{} // closed by Close
	once      sync.Once
	broken    error // the failed sync after which every write is refused; guarded by writeSlot
	// damaged is set when SQLite finds a page that it cannot read. Further writes could cause more
	// damage, so they are refused.
	damaged atomic.Pointer[damagedError]

	full       atomic.Pointer[diskFullError] // the last write that the disk refused; nil once there is space
	noProjects noProjects
	// newest caches the last opened request until any request changes, because its answer reads it
	// again.
	newest  atomic.Pointer[pending.Request]
	opening *pending.Request // opened by the write in progress; guarded by writeSlot
}

// maxCheckedAtOpen is the size in bytes up to which Open checks a database for damage. Reading 100 MB
// takes about a second, which would delay a start too much.
const maxCheckedAtOpen = 4 << 20

// Open opens the database at path and brings its schema up to date. It creates missing files (0600)
// and folders (0700). It checks a database of up to 4 MB for damage; see [Store.Verify] for larger
// ones. The caller must make sure that no other server uses the file.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := createFile(path)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return open(ctx, path, "rwc", migrations.Apply)
}

// OpenMigrated is like [Open], for commands that run beside a server. It does not migrate a database
// of an older version, because a server of that version may be using it: then it fails with an error
// of migrations.Check.
func OpenMigrated(ctx context.Context, path string) (*Store, error) {
	path, err := createFile(path)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return open(ctx, path, "rwc", migrations.ApplyToEmpty)
}

// OpenReadOnly opens the database at path for reading. It creates and changes no file and applies
// no migration. It fails with [fs.ErrNotExist] or an error of migrations.Check if there is nothing
// to read. Every write fails.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	path, err := absolutePath(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return open(ctx, path, untouched, migrations.Check)
}

// open opens an existing file and runs schema on it.
func open(ctx context.Context, path, mode string, schema func(context.Context, *sql.DB, migrations.Dialect) error) (_ *Store, err error) {
	s := &Store{database: &database{path: path, mode: mode, writeSlot: make(chan struct{}, 1), closed: make(chan struct{})}}
	s.Shared = sqlstore.NewShared(s.engine())
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("database %s: %w", path, s.classify(err)), s.closeConnections())
		}
	}()

	writes := newPool(path, mode, 1, synchronous[sqlstore.Durable])
	if info, statErr := os.Stat(path); statErr == nil && info.Size() <= maxCheckedAtOpen {
		if err = checkIntegrity(ctx, writes); err != nil {
			return nil, errors.Join(err, writes.Close())
		}
	}
	if err = schema(ctx, writes, migrations.SQLite); err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	if s.writes, err = newWriter(ctx, writes); err != nil {
		return nil, err
	}
	s.reads = newPool(path, mode, maxReaders, readerPragmas...)
	return s, nil
}

func (s *Store) engine() sqlstore.Engine {
	return sqlstore.Engine{Dialect: sqlstore.SQLite, Bind: bind, Query: s.query, Apply: s.apply, Approve: s.approve}
}

// Verify implements store.Store. It uses a separate connection and delays no other read or write.
func (s *Store) Verify(ctx context.Context) error {
	mode := "ro"
	if s.mode == untouched {
		mode = untouched
	}
	db := newPool(s.path, mode, 1, readerPragmas...)
	err := checkIntegrity(ctx, db)
	if err != nil && ctx.Err() == nil {
		err = s.classifyAndNote(err)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("sqlite: verify: %w", err)
	}
	return nil
}

// checkIntegrity reads the whole database and fails with [sqlstore.ErrCorrupt] if it is damaged.
func checkIntegrity(ctx context.Context, db *sql.DB) error {
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
	if err := s.acquireWriteSlot(ctx); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	broken := s.broken
	<-s.writeSlot
	if damaged := s.damaged.Load(); damaged != nil {
		return fmt.Errorf("sqlite: ping: %w", damaged)
	}
	if broken != nil {
		return fmt.Errorf("sqlite: ping: %w", broken)
	}
	var one int
	if err := s.reads.QueryRowContext(ctx, "SELECT 1 FROM migrations LIMIT 1").Scan(&one); err != nil {
		return fmt.Errorf("sqlite: ping: %w", s.classifyAndNote(err))
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
		s.writeSlot <- struct{}{} // never released, so no more writes can start
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

// closeConnections closes what Open has opened so far. Closing the last connection moves the WAL
// into the database.
func (s *Store) closeConnections() error {
	s.longReads.Lock()
	defer s.longReads.Unlock()
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
