package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// synchronousCommit makes its transaction durable, and returns the value that it sets.
var synchronousCommit = define(`SELECT set_config('synchronous_commit',
	CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`)

// compareEpoch is [synchronousCommit] for a view with a lease. If the runner has a newer lease, the
// statement fails, and with it the transaction. Because of FOR KEY SHARE, taking a lease waits for
// the end of a transaction that has compared the epoch, and a comparison that waits for a new lease
// reads its epoch, even if its snapshot is older.
var compareEpoch = define(`WITH held AS (SELECT 1 FROM runners WHERE runner_id = $1 AND lease_epoch = $2 FOR KEY SHARE)
	SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
	FROM (SELECT count(*) AS n FROM held) AS counted WHERE n / least(n, 1) = 1`)

// bind stores exact bytes as bytea.
func bind(b []byte) any { return b }

// define registers a statement of this engine alone.
func define(text string) *sqlstore.Statement { return sqlstore.Define(sqlstore.Postgres, text) }

// step is one statement of a transaction. read receives its result; it may be nil. It is called again
// if the transaction is run again.
type step struct {
	*sqlstore.Statement
	args []any
	read func(pgx.BatchResults) error
}

// scanRow scans the only row of a statement, if there is one.
func scanRow(found *bool, dest ...any) func(pgx.BatchResults) error {
	return func(results pgx.BatchResults) error {
		err := results.QueryRow().Scan(dest...)
		*found = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	}
}

// countRows stores the number of rows that a statement changed.
func countRows(n *int64) func(pgx.BatchResults) error {
	return func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		*n = tag.RowsAffected()
		return err
	}
}

// unmatched is the error of a required statement that changed no row.
type unmatched struct{ error }

func (e unmatched) Unwrap() error { return e.error }

// requireRows stores the number of rows that a statement changed, and fails if there are none.
func requireRows(statement *sqlstore.Statement, n *int64) func(pgx.BatchResults) error {
	return func(results pgx.BatchResults) error {
		err := results.QueryRow().Scan(n)
		if violates(err, sqlstore.NoRowChanged) {
			return unmatched{statement.Unmatched()}
		}
		return err
	}
}

// apply implements [sqlstore.Engine].
func (s *Store) apply(ctx context.Context, c sqlstore.Change) error {
	var steps []step
	if c.Audit != nil {
		steps = append(steps, step{Statement: lockAudit}, step{Statement: appendAudit, args: []any{c.Audit}})
	}
	for _, one := range c.Steps {
		next := step{Statement: one.Statement, args: one.Args}
		switch {
		case one.Changed != nil && one.Statement.Unmatched() != nil:
			next.read = requireRows(one.Statement, one.Changed)
		case one.Changed != nil:
			next.read = countRows(one.Changed)
		}
		steps = append(steps, next)
	}
	err := s.write(ctx, c.What, steps...)
	switch {
	case c.Duplicate != nil && violates(err, uniqueRule):
		return fmt.Errorf("postgres: %s: %w", c.What, c.Duplicate)
	case c.Orphan != nil && violates(err, foreignKeyRule):
		return fmt.Errorf("postgres: %s: %w", c.What, c.Orphan)
	}
	return err
}

// Timeouts of calls, for a database that does not reply. A call that times out had no effect or an
// unknown one, and its connection is closed.
const (
	callTimeout     = 5 * time.Second
	longCallTimeout = time.Minute // for reads marked as long, for which no answer waits
	// slowestTransfer is the minimum rate, in bytes per second, at which data is expected to arrive
	// and be stored. Without it, an answer of many megabytes would time out each time.
	slowestTransfer = 1 << 20
)

// writeTimeout returns the timeout for all statements together.
func (s *Store) writeTimeout(steps []step) time.Duration {
	size := 0
	for _, step := range steps {
		for _, arg := range step.args {
			switch arg := arg.(type) {
			case string:
				size += len(arg)
			case []byte:
				size += len(arg)
			}
		}
	}
	return s.callTimeout + time.Duration(size)*time.Second/slowestTransfer
}

// maxAttempts bounds how often a transaction is run that the database rolls back because of a
// conflict. Each time, at least one of the conflicting transactions has ended.
const maxAttempts = 10

// write runs the statements as one transaction in one round trip. If it fails, nothing was changed,
// unless the error is [sqlstore.ErrUnknownOutcome].
func (s *Store) write(caller context.Context, what string, steps ...step) (err error) {
	if s.closed.Load() {
		return fmt.Errorf("postgres: %s: %w", what, sqlstore.ErrClosed)
	}
	if s.readOnly {
		return fmt.Errorf("postgres: %s: %w: %w: it was opened for reading", what, sqlstore.ErrReadOnly, sqlstore.ErrUnavailable)
	}
	defer func() { s.Outage.NoteWrite(err) }()
	ctx, cancel := context.WithTimeout(caller, s.writeTimeout(steps))
	defer cancel()
	for i := range steps {
		steps[i].args = sanitizeArgs(steps[i].args)
	}
	for try := 1; ; try++ {
		err := s.attempt(ctx, steps)
		if err == nil {
			return nil
		}
		var none unmatched
		if errors.As(err, &none) {
			return fmt.Errorf("postgres: %s: %w", what, none.error)
		}
		if !isConflict(err) || try == maxAttempts {
			err = classify(caller, err)
			if errors.Is(err, sqlstore.ErrReadOnly) {
				s.full.Store(&diskFullError{err, time.Now()})
			}
			return fmt.Errorf("postgres: %s: %w", what, err)
		}
		select {
		case <-time.After(time.Duration(try) * time.Duration(rand.Int64N(int64(2*time.Millisecond)))):
		case <-ctx.Done():
			return fmt.Errorf("postgres: %s: %w", what, classify(caller, notSent{ctx.Err()}))
		}
	}
}

// attempt runs the transaction once. The statements of a pipeline up to its sync form one
// transaction, and closing the results waits for the commit.
func (s *Store) attempt(ctx context.Context, steps []step) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return notSent{err}
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	if s.lease == nil {
		batch.Queue(synchronousCommit.Text(sqlstore.Postgres))
	} else {
		batch.Queue(compareEpoch.Text(sqlstore.Postgres), s.lease.RunnerID, int64(s.lease.Epoch))
	}
	for _, step := range steps {
		batch.Queue(step.Text(sqlstore.Postgres), step.args...)
	}
	results := conn.SendBatch(ctx, batch)
	var setting string
	err = results.QueryRow().Scan(&setting)
	if s.lease != nil && violates(err, sqlstore.NoRowChanged) {
		err = unmatched{session.ErrLeaseLost}
	}
	for _, step := range steps {
		if err != nil {
			break
		}
		switch {
		case step.read != nil:
			err = step.read(results)
		case step.Unmatched() != nil:
			err = requireRows(step.Statement, new(int64))(results)
		default:
			_, err = results.Exec()
		}
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil && setting != "on" && setting != "remote_apply" {
		err = fmt.Errorf("synchronous_commit was %s and must be on", setting)
	}
	return err
}

// notSent is an error that occurred before anything reached the database.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// serverError returns the error that the database itself reported. It returns nil for other errors, and
// if the database closed the connection, because the outcome is then unknown.
func serverError(err error) *pgconn.PgError {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.SeverityUnlocalized != "ERROR" {
		return nil
	}
	return pg
}

// isConflict reports whether the database rolled a transaction back because of a conflict with
// another.
func isConflict(err error) bool {
	pg := serverError(err)
	return pg != nil && (pg.Code == "40001" || pg.Code == "40P01")
}

// violates reports whether a statement violated a constraint: uniqueRule or foreignKeyRule.
func violates(err error, rule string) bool {
	pg := serverError(err)
	return pg != nil && pg.Code == rule
}

const (
	uniqueRule     = "23505"
	foreignKeyRule = "23503"
)

// classify wraps an error in the sentinel for it. caller is the caller's context, which may have
// ended.
func classify(caller context.Context, err error) error {
	var early notSent
	switch pg := serverError(err); {
	case pg != nil && (pg.Code == "53100" || pg.Code == "25006"): // disk full, read-only (a standby)
		return fmt.Errorf("%w: %w: %w", sqlstore.ErrReadOnly, sqlstore.ErrUnavailable, err)
	case pg != nil && slices.Contains([]string{"08", "40", "53", "55", "57", "58"}, pg.Code[:2]):
		// Connection lost, rolled back too often, out of resources, in use, shut down, system error.
		return fmt.Errorf("%w: %w", sqlstore.ErrUnavailable, err)
	case pg != nil && pg.Code[:2] == "XX":
		return fmt.Errorf("%w; stop sayso, look at the log of PostgreSQL and restore a backup: %w", sqlstore.ErrCorrupt, err)
	case pg != nil:
		return err
	case errors.As(err, &early) || pgconn.SafeToRetry(err):
		if caller.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: %w", sqlstore.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", sqlstore.ErrUnknownOutcome, err)
}

// sanitizeArgs sanitizes every text argument, because PostgreSQL refuses some. An id that is not valid
// text matches nothing, as it should.
func sanitizeArgs(args []any) []any {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = sqlstore.SanitizeText(s)
		}
	}
	return args
}

// query runs one read and calls scan for each row. It is a single statement, so all rows come from
// one snapshot.
func (s *Store) query(caller context.Context, what string, q sqlstore.Query, scan func(sqlstore.Row) error, args ...any) (err error) {
	if s.closed.Load() {
		return fmt.Errorf("postgres: %s: %w", what, sqlstore.ErrClosed)
	}
	defer func() { s.Outage.NoteRead(err) }()
	limit := s.callTimeout
	if q.Long {
		limit = longCallTimeout
	}
	if q.Long {
		defer func() {
			if err != nil && caller.Err() != nil { // the database reports the cancellation as its own error
				err = fmt.Errorf("postgres: %s: %w", what, caller.Err())
			}
		}()
	}
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	// Each row that arrives shows that the database replies.
	silence := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	defer silence.Stop()
	rows, release, err := s.rows(ctx, q, sanitizeArgs(args))
	if err == nil {
		defer release()
		for err == nil && rows.Next() {
			silence.Reset(limit)
			err = scan(rows)
		}
		rows.Close()
		if err == nil {
			err = rows.Err()
		}
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, sqlstore.ErrCorrupt) {
		err = classifyRead(caller, err)
	}
	return fmt.Errorf("postgres: %s: %w", what, err)
}

// cancelGrace bounds the time that the database may take to cancel a statement.
const cancelGrace = time.Second

// rows runs a query. If it succeeds, the caller must call release after the last row.
func (s *Store) rows(ctx context.Context, q sqlstore.Query, args []any) (_ pgx.Rows, release func(), err error) {
	if !q.Long {
		rows, err := s.pool.Query(ctx, q.Text(sqlstore.Postgres), args...)
		return rows, func() {}, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The database does not notice at once that a connection was closed, and would finish the
	// statement. So ask it to cancel the statement while the connection is still open.
	running, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		// Even if the statement ends first, wait for the reply: PgBouncer 1.18 crashes if a client does
		// not.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
		defer cancel()
		_ = conn.Conn().PgConn().CancelRequest(asking) // giveUp follows in any case
		select {
		case <-asking.Done():
		case <-running.Done():
		}
		giveUp()
	})
	release = func() {
		giveUp()
		if !stop() {
			<-cancelled
			_ = conn.Conn().Close(running) // a late cancellation would hit the next statement
		}
		conn.Release()
	}
	// Not prepared, so that the database plans it for its arguments. After five executions, it may
	// use a generic plan for a prepared statement. A generic search would read the newest items until
	// enough of them match, which for a rare word means all of them.
	rows, err := conn.Query(running, q.Text(sqlstore.Postgres), append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	if err != nil {
		release()
		return nil, nil, err
	}
	return rows, release, nil
}

// classifyRead is [classify] for calls that change nothing and so never have an unknown outcome.
func classifyRead(caller context.Context, err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, errSharedConnection):
		return errSharedConnection
	case errors.Is(err, errSharedStatement), errors.Is(err, errIsolation):
		return err
	case serverError(err) != nil:
		return classify(caller, err)
	case errors.As(err, &pg) && (pg.Code[:2] == "28" || pg.Code == "3D000"): // sign-in refused, no such database
		return fmt.Errorf("%w: %w", sqlstore.ErrDSN, err)
	case caller.Err() != nil:
		return err
	}
	return fmt.Errorf("%w: %w", sqlstore.ErrUnavailable, err)
}
