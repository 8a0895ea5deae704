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

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// bind stores exact bytes as TEXT. It does not copy them, because they may be large. They must not
// change until the statement has run.
func bind(b []byte) any {
	if b == nil {
		return nil
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// define registers a statement of this engine alone.
func define(text string) *sqlstore.Statement { return sqlstore.Define(sqlstore.SQLite, text) }

var (
	begin    = define("BEGIN IMMEDIATE")
	commit   = define("COMMIT")
	rollback = define("ROLLBACK")
)

// writer is the connection for writing, with statements prepared on first use. Only the holder of the
// write slot may use it.
type writer struct {
	db          *sql.DB
	conn        *sql.Conn
	synchronous pragma // the setting of conn; zero if unknown
	stmts       map[*sqlstore.Statement]*sql.Stmt
}

// newWriter returns the writer of db. It takes ownership of db, and checks that the connection accepts
// both durabilities.
func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := keepLog(conn); err != nil {
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

// keepLog makes SQLite keep the WAL and its index when the connection is closed. Otherwise the last
// connection to close would remove them, and if the disk is full, the next start could not create
// them.
func keepLog(conn *sql.Conn) error {
	return conn.Raw(func(c any) error {
		_, err := c.(sqlite.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
}

// setDurability sets the durability of the next transactions. It must be called between transactions.
// It cannot use a prepared statement, because SQLite changes the setting when it compiles the PRAGMA,
// not when it runs it.
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

// exec runs a statement and returns the number of changed rows.
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

// queryRow scans the only row of a statement, or returns [sql.ErrNoRows].
func (w *writer) queryRow(ctx context.Context, dest []any, statement *sqlstore.Statement, args ...any) error {
	stmt, err := w.stmt(ctx, statement)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

// scanRow calls scan with the only row of a statement. If there is none, Scan returns [sql.ErrNoRows].
func (w *writer) scanRow(ctx context.Context, statement *sqlstore.Statement, scan func(sqlstore.Row) error, args ...any) error {
	stmt, err := w.stmt(ctx, statement)
	if err != nil {
		return err
	}
	return scan(stmt.QueryRowContext(ctx, args...))
}

// tx is a transaction in progress. Its methods use now as the current time.
type tx struct {
	*writer
	now time.Time
}

// errUnchanged ends a transaction that has nothing to change. The transaction is rolled back without
// writing, and the call succeeds.
var errUnchanged = errors.New("nothing to change")

// acquireWriteSlot waits until the caller may write.
func (s *Store) acquireWriteSlot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return sqlstore.ErrClosed
	default:
	}
	select {
	case s.writeSlot <- struct{}{}:
	case <-s.closed:
		return sqlstore.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// write runs one transaction. Once it has the write slot, the transaction runs to its end even if ctx
// ends, so its outcome is always known. If it fails, nothing was changed, unless the error is
// [sqlstore.ErrBroken].
func (s *Store) write(ctx context.Context, d sqlstore.Durability, what string, do func(context.Context, tx) error) error {
	return s.writeKeepingNewest(ctx, d, what, func(ctx context.Context, t tx) error {
		s.newest.Store(nil) // before other calls can read a change
		return do(ctx, t)
	})
}

// writeKeepingNewest is like [Store.write], for transactions that change no request. It keeps the
// cached newest request.
func (s *Store) writeKeepingNewest(ctx context.Context, d sqlstore.Durability, what string, do func(context.Context, tx) error) (err error) {
	wrote := true
	defer func() {
		if wrote {
			s.Outage.NoteWrite(err)
		}
	}()
	if err := s.acquireWriteSlot(ctx); err != nil {
		return fmt.Errorf("sqlite: %s: %w", what, err)
	}
	defer func() { <-s.writeSlot }()
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
	if wrote = !errors.Is(err, errUnchanged); err == nil || !wrote {
		return nil
	}
	refused := s.classifyAndNote(err)
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
		// After some failures SQLite has already rolled back, and ROLLBACK fails.
		if _, failed := w.exec(ctx, rollback); failed != nil && err == nil {
			err = failed
		}
	}()
	if s.lease != nil {
		var one int
		if err := w.queryRow(ctx, []any{&one}, compareEpoch, s.lease.RunnerID, int64(s.lease.Epoch)); err != nil {
			return replaceNoRows(err, session.ErrLeaseLost)
		}
	}
	if err := do(ctx, tx{w, time.Now()}); err != nil {
		return err
	}
	if _, err := w.exec(ctx, commit); err != nil {
		if resultCode(err) == lib.SQLITE_IOERR_FSYNC || resultCode(err) == lib.SQLITE_IOERR_DIR_FSYNC {
			// The pages may or may not be on disk. A second sync would report success without
			// having written them.
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
			if err := t.appendAudit(ctx, c.Audit); err != nil {
				return err
			}
		}
		for _, step := range c.Steps {
			if !step.Statement.In(sqlstore.SQLite) {
				continue
			}
			n, err := t.exec(ctx, step.Statement, step.Args...)
			switch {
			case c.Duplicate != nil && isUniqueViolation(err):
				return c.Duplicate
			case c.Orphan != nil && isForeignKeyViolation(err):
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

// resultCode returns the extended result code of SQLite, 0 if err is not an error of SQLite.
func resultCode(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// classify wraps an error of SQLite in the sentinel for it, if there is one.
func (s *Store) classify(err error) error {
	switch resultCode(err) & 0xff {
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

// damagedError is the error of every call after damage was found. It counts as temporary, because
// callers can continue once a backup is restored.
type damagedError struct{ err error }

func (d *damagedError) Error() string   { return d.err.Error() }
func (d *damagedError) Unwrap() []error { return []error{sqlstore.ErrUnavailable, d.err} }

// classifyAndNote is like [Store.classify], but also records damage.
func (s *Store) classifyAndNote(err error) error {
	explained := s.classify(err)
	if !errors.Is(explained, sqlstore.ErrCorrupt) {
		return explained
	}
	s.damaged.CompareAndSwap(nil, &damagedError{explained})
	return s.damaged.Load()
}

// isUniqueViolation reports whether a statement violated a unique constraint.
func isUniqueViolation(err error) bool {
	c := resultCode(err)
	return c == lib.SQLITE_CONSTRAINT_UNIQUE || c == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// isForeignKeyViolation reports whether a statement violated a foreign key.
func isForeignKeyViolation(err error) bool {
	return resultCode(err) == lib.SQLITE_CONSTRAINT_FOREIGNKEY
}

// query runs one read and calls scan for each row. It is a single statement, so all rows come from
// one snapshot.
func (s *Store) query(ctx context.Context, what string, q sqlstore.Query, scan func(sqlstore.Row) error, args ...any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: %s: %w", what, s.classifyAndNote(err))
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
	if q.Long {
		return s.queryLong(ctx, q, scan, args)
	}
	// Most reads take microseconds, and an interruptible read would start a goroutine.
	ctx = context.WithoutCancel(ctx)
	stmt, free, err := s.acquireReader(ctx, q)
	if err != nil {
		return err
	}
	defer free()
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// queryLong runs a read that ends with its context. If no statement of a connection is active, SQLite
// forgets an interrupt that arrives before the first step of the next one. So queryLong keeps another
// statement active.
func (s *Store) queryLong(ctx context.Context, q sqlstore.Query, scan func(sqlstore.Row) error, args []any) error {
	s.longReads.RLock()
	defer s.longReads.RUnlock()
	if s.isClosed() {
		return sqlstore.ErrClosed
	}
	conn, err := s.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	active, err := conn.QueryContext(context.WithoutCancel(ctx), "SELECT 1 UNION ALL SELECT 2")
	if err != nil {
		return err
	}
	defer active.Close()
	rows, err := conn.QueryContext(ctx, q.Text(sqlstore.SQLite), args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

func scanAll(rows *sql.Rows, scan func(sqlstore.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// acquireReader returns the statement for a read, and a function to call after it. A read on the path
// of every answer uses the writer's connection if it is free, because its cache contains the pages
// just written, while every commit empties the caches of the other connections.
func (s *Store) acquireReader(ctx context.Context, q sqlstore.Query) (stmt *sql.Stmt, free func(), err error) {
	if !q.OnAnswerPath {
		stmt, err = s.prepareRead(ctx, q)
		return stmt, func() {}, err
	}
	select {
	case s.writeSlot <- struct{}{}:
	default: // a write is in progress or the store is closed; readers do not wait
		stmt, err = s.prepareRead(ctx, q)
		return stmt, func() {}, err
	}
	free = func() { <-s.writeSlot }
	if stmt, err = s.writes.stmt(ctx, q.Statement); err != nil {
		free()
	}
	return stmt, free, err
}

// prepareRead returns the statement for a read on a connection other than the writer's.
func (s *Store) prepareRead(ctx context.Context, q sqlstore.Query) (*sql.Stmt, error) {
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
