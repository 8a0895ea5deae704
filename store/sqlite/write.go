package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// bind keeps exact bytes as TEXT. They are not copied, as some are large, and must
// not change until the statement has run.
func bind(b []byte) any {
	if b == nil {
		return nil
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// define defines a statement that only this engine runs.
func define(text string) *sqlstore.Statement { return sqlstore.Define(sqlstore.SQLite, text) }

var (
	begin    = define("BEGIN IMMEDIATE")
	commit   = define("COMMIT")
	rollback = define("ROLLBACK")
)

// writer is one connection for writing, with its statements prepared on first
// use. Only who has the turn may use it.
type writer struct {
	db          *sql.DB
	conn        *sql.Conn
	synchronous pragma // that conn has; none when in doubt
	stmts       map[*sqlstore.Statement]*sql.Stmt
}

// newWriter takes over db and makes sure that its connection can be set to either
// durability.
func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// The last connection to close would remove the WAL and its index, for which a full
	// disk has no space at the next start.
	err = conn.Raw(func(c any) error {
		_, err := c.(sqlite.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	w := &writer{db: db, conn: conn, stmts: map[*sqlstore.Statement]*sql.Stmt{}}
	for d, setting := range synchronous {
		err := w.setDurability(ctx, sqlstore.Durability(d))
		if err == nil {
			err = conn.Raw(func(c any) error { return setting.check(ctx, c.(driver.Conn)) })
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

// setDurability must come between transactions. A prepared statement would not do:
// SQLite changes the setting when it compiles the PRAGMA, not when it runs it.
func (w *writer) setDurability(ctx context.Context, d sqlstore.Durability) error {
	setting := synchronous[d]
	if w.synchronous == setting {
		return nil
	}
	w.synchronous = pragma{}
	if _, err := w.conn.ExecContext(ctx, "PRAGMA "+setting.name+"="+setting.set); err != nil {
		return err
	}
	w.synchronous = setting
	return nil
}

func (w *writer) close() error {
	var errs []error
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

func (w *writer) stmt(ctx context.Context, statement *sqlstore.Statement) (*sql.Stmt, error) {
	if stmt := w.stmts[statement]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, statement.Text(sqlstore.SQLite))
	if err != nil {
		return nil, err
	}
	w.stmts[statement] = stmt
	return stmt, nil
}

// exec runs one statement and returns how many rows it changed.
func (w *writer) exec(ctx context.Context, statement *sqlstore.Statement, args ...any) (int64, error) {
	stmt, err := w.stmt(ctx, statement)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the one row of a statement, or returns [sql.ErrNoRows].
func (w *writer) row(ctx context.Context, dest []any, statement *sqlstore.Statement, args ...any) error {
	stmt, err := w.stmt(ctx, statement)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

// read calls scan with the one row of a statement, or with none, so that its Scan
// returns [sql.ErrNoRows].
func (w *writer) read(ctx context.Context, statement *sqlstore.Statement, scan func(sqlstore.Row) error, args ...any) error {
	stmt, err := w.stmt(ctx, statement)
	if err != nil {
		return err
	}
	return scan(stmt.QueryRowContext(ctx, args...))
}

// tx is a write under way. All times in it are one.
type tx struct {
	*writer
	now time.Time
}

// errNothing ends a transaction that found nothing to change: it is rolled back,
// which costs no write, and the call succeeds.
var errNothing = errors.New("nothing to change")

// awaitTurn waits for the turn to write.
func (s *Store) awaitTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return sqlstore.ErrClosed
	default:
	}
	select {
	case s.turn <- struct{}{}:
	case <-s.closed:
		return sqlstore.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// write runs one transaction. Once it has its turn it runs to its end whatever
// becomes of ctx, so its outcome is never in doubt. What it reports as an error
// has changed nothing, but for [sqlstore.ErrBroken].
func (s *Store) write(ctx context.Context, d sqlstore.Durability, what string, do func(context.Context, tx) error) error {
	return s.writeKeepingNewest(ctx, d, what, func(ctx context.Context, t tx) error {
		s.newest.Store(nil) // before anything of it can be read
		return do(ctx, t)
	})
}

// writeKeepingNewest is write for what changes no request.
func (s *Store) writeKeepingNewest(ctx context.Context, d sqlstore.Durability, what string, do func(context.Context, tx) error) (err error) {
	wrote := true
	defer func() {
		if wrote {
			s.Outage.NoteWrite(err)
		}
	}()
	if err := s.awaitTurn(ctx); err != nil {
		return fmt.Errorf("sqlite: %s: %w", what, err)
	}
	defer func() { <-s.turn }()
	s.opening = nil
	if s.broken != nil {
		return fmt.Errorf("sqlite: %s: %w", what, s.broken)
	}
	if damaged := s.damaged.Load(); damaged != nil {
		return fmt.Errorf("sqlite: %s: %w", what, damaged)
	}
	err = s.transact(context.WithoutCancel(ctx), d, do)
	if err == nil && s.opening != nil {
		s.newest.Store(s.opening)
	}
	if wrote = !errors.Is(err, errNothing); err == nil || !wrote {
		return nil
	}
	refused := s.found(err)
	if diskRefused(err) {
		refused = fmt.Errorf("%w: %w", sqlstore.ErrReadOnly, refused)
		s.full.Store(&diskFullError{refused})
	}
	return fmt.Errorf("sqlite: %s: %w", what, refused)
}

func (s *Store) transact(ctx context.Context, d sqlstore.Durability, do func(context.Context, tx) error) (err error) {
	w := s.writes
	if err := w.setDurability(ctx, d); err != nil {
		return err
	}
	if _, err := w.exec(ctx, begin); err != nil {
		return err
	}
	ended := false
	defer func() {
		if ended {
			return
		}
		// SQLite has rolled back by itself after some failures and then says so.
		if _, failed := w.exec(ctx, rollback); failed != nil && err == nil {
			err = failed
		}
	}()
	if err := do(ctx, tx{w, time.Now()}); err != nil {
		return err
	}
	if _, err := w.exec(ctx, commit); err != nil {
		if code(err) == lib.SQLITE_IOERR_FSYNC || code(err) == lib.SQLITE_IOERR_DIR_FSYNC {
			// The pages may have reached the disk or not, and a second sync would
			// report success without having written them.
			s.broken = fmt.Errorf("%w (%w): %w", sqlstore.ErrBroken, sqlstore.ErrUnknownOutcome, err)
			return s.broken
		}
		return err
	}
	ended = true
	return nil
}

// apply implements [sqlstore.Engine].
func (s *Store) apply(ctx context.Context, c sqlstore.Change) error {
	write := s.write
	if c.LeavesRequests {
		write = s.writeKeepingNewest
	}
	return write(ctx, c.Durability, c.What, func(ctx context.Context, t tx) error {
		if c.Audit != nil {
			if err := t.append(ctx, c.Audit); err != nil {
				return err
			}
		}
		for _, step := range c.Steps {
			if !step.Statement.In(sqlstore.SQLite) {
				continue
			}
			n, err := t.exec(ctx, step.Statement, step.Args...)
			switch {
			case c.Duplicate != nil && unique(err):
				return c.Duplicate
			case c.Orphan != nil && orphan(err):
				return c.Orphan
			case err != nil:
				return err
			case n == 0 && step.Statement.Unmatched() != nil:
				return step.Statement.Unmatched()
			}
			if step.Changed != nil {
				*step.Changed = n
			}
		}
		return nil
	})
}

// code is the extended result code of SQLite, 0 for another error.
func code(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// explain puts the sentinel before what SQLite says, where there is one.
func (s *Store) explain(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another program holds the database: %w", sqlstore.ErrUnavailable, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: the disk is full: %w", sqlstore.ErrUnavailable, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("%w: the database cannot be written; the user that sayso runs as must own it, the files beside it and the folder they are in, and the disk must not be mounted read-only: %w", sqlstore.ErrUnavailable, err)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: a file of the database cannot be opened or made; the user that sayso runs as must own them and the folder they are in, and be allowed to open so many files: %w", sqlstore.ErrUnavailable, err)
	case lib.SQLITE_IOERR:
		if !errors.Is(err, sqlstore.ErrBroken) {
			return fmt.Errorf("%w: the disk refused: %w", sqlstore.ErrUnavailable, err)
		}
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		err = fmt.Errorf("%w: %w", sqlstore.ErrCorrupt, err)
	}
	if errors.Is(err, sqlstore.ErrCorrupt) {
		return fmt.Errorf("%w; stop sayso, keep a copy of %[2]s and of %[2]s-wal, then restore a backup or move both away to begin with an empty database", err, s.path)
	}
	return err
}

// damagedError is what a running store says once it has found damage. It counts as one
// that may pass: whoever waits goes on with a backup.
type damagedError struct{ err error }

func (d *damagedError) Error() string   { return d.err.Error() }
func (d *damagedError) Unwrap() []error { return []error{sqlstore.ErrUnavailable, d.err} }

// found explains an error of a running store, and notes damage.
func (s *Store) found(err error) error {
	explained := s.explain(err)
	if !errors.Is(explained, sqlstore.ErrCorrupt) {
		return explained
	}
	s.damaged.CompareAndSwap(nil, &damagedError{explained})
	return s.damaged.Load()
}

// unique reports whether a statement broke a uniqueness rule.
func unique(err error) bool {
	c := code(err)
	return c == lib.SQLITE_CONSTRAINT_UNIQUE || c == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// orphan reports whether a statement named a row that is not there.
func orphan(err error) bool { return code(err) == lib.SQLITE_CONSTRAINT_FOREIGNKEY }

// query is one read. It is a single statement, so what it returns is one
// snapshot. scan reads the current row.
func (s *Store) query(ctx context.Context, what string, q sqlstore.Query, scan func(sqlstore.Row) error, args ...any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: %s: %w", what, s.found(err))
		}
		s.Outage.NoteRead(err)
	}()
	select {
	case <-s.closed:
		return sqlstore.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Most reads last microseconds; to be interruptible they would start a goroutine.
	if !q.Long {
		ctx = context.WithoutCancel(ctx)
	}
	stmt, free, err := s.reader(ctx, q)
	if err != nil {
		return err
	}
	defer free()
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// reader returns the statement for a read, and what to call when the read is over.
// A read that every answer needs uses the connection for writing when nobody
// writes: that one knows the pages that it has just written, while the others drop
// all they know with every commit.
func (s *Store) reader(ctx context.Context, q sqlstore.Query) (stmt *sql.Stmt, free func(), err error) {
	if !q.OnAnswerPath {
		stmt, err = s.prepared(ctx, q)
		return stmt, func() {}, err
	}
	select {
	case s.turn <- struct{}{}:
	default: // somebody writes, or the store is closed: readers never wait for that
		stmt, err = s.prepared(ctx, q)
		return stmt, func() {}, err
	}
	free = func() { <-s.turn }
	if stmt, err = s.writes.stmt(ctx, q.Statement); err != nil {
		free()
	}
	return stmt, free, err
}

// prepared returns the statement for a read beside the writer.
func (s *Store) prepared(ctx context.Context, q sqlstore.Query) (*sql.Stmt, error) {
	if stmt, ok := s.queries.Load(q.Statement); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := s.reads.PrepareContext(ctx, q.Text(sqlstore.SQLite))
	if err != nil {
		return nil, err
	}
	if first, loaded := s.queries.LoadOrStore(q.Statement, stmt); loaded {
		return first.(*sql.Stmt), stmt.Close() // another read prepared it at the same time
	}
	return stmt, nil
}
