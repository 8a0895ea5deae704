package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// Intervals and timeouts of an [Exclusive].
const (
	retryInterval  = 100 * time.Millisecond // between attempts to take the lock
	checkInterval  = 2 * time.Second        // between checks that the lock is still held
	connectTimeout = 10 * time.Second       // for connecting, and for each check
)

// keepAlive holds settings that make PostgreSQL notice a lost connection within half a minute.
var keepAlive = map[string]string{"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}

// lockClass is the first key of the lock, "sayo" in ASCII; the second is a hash of the schema.
const lockClass = 0x7361796f

// Exclusive is the lock on a database. Servers share it; a restore takes it exclusively. It is an
// advisory lock on a dedicated connection. If that connection is lost, PostgreSQL releases the lock,
// and [Exclusive.Run] takes it again. Over a pooler in transaction mode, the lock belongs to a
// transaction that stays open, so that the pooler lends the connection to no other client. That
// transaction has no snapshot and no changes, so it does not hold back vacuuming.
type Exclusive struct {
	config *pgx.ConnConfig
	name   string // identifies the holder of the lock to others
	shared bool
	conn   *pgx.Conn
	pooled bool // conn is in a transaction that holds the lock
}

// Exclude takes the lock on a database exclusively. While others hold it, Exclude waits up to the
// given time, and then fails with [sqlstore.ErrInUse].
func Exclude(ctx context.Context, dsn string, wait time.Duration) (*Exclusive, error) {
	return lock(ctx, dsn, wait, false)
}

// Share takes the lock on a database for a server, together with other servers. While it is taken
// exclusively, for example by a server of a release that could not share, Share waits and fails like
// [Exclude].
func Share(ctx context.Context, dsn string, wait time.Duration) (*Exclusive, error) {
	return lock(ctx, dsn, wait, true)
}

func lock(ctx context.Context, dsn string, wait time.Duration, shared bool) (*Exclusive, error) {
	config, err := parseConfig(dsn)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	e := &Exclusive{config: config.ConnConfig, shared: shared, name: fmt.Sprintf("sayso serve %.24s %d %.12s", host, os.Getpid(), rand.Text())}
	e.config.RuntimeParams["application_name"] = e.name
	// In a transaction that stays open, the extended protocol would keep the snapshot of a result.
	e.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	for start := time.Now(); ; {
		err := e.acquire(ctx)
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, sqlstore.ErrInUse) || time.Since(start) >= wait {
			return nil, fmt.Errorf("database %s at %s: %w", e.config.Database, e.config.Host, err)
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// findHolder selects a connection that holds the lock, preferably one that holds it exclusively.
const findHolder = `SELECT a.pid, coalesce(a.application_name, '') FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = $1::bigint::oid
	AND l.objid = (hashtext(current_schema())::bigint & 4294967295)::oid
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY l.mode LIMIT 1`

// acquire connects and tries to take the lock.
func (e *Exclusive) acquire(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	// Without keepAlive, a server that lost its network could lock others out for hours.
	conn, pooled, err := connect(ctx, e.config, keepAlive)
	if err != nil {
		return fmt.Errorf("cannot connect: %w", classifyRead(ctx, err))
	}
	defer func() {
		if err != nil {
			_ = closeConnection(ctx, conn) // the earlier error is the cause
		}
	}()
	var pid int
	var holder string
	tryLock := "pg_try_advisory_lock"
	if pooled {
		tryLock = "pg_try_advisory_xact_lock"
		if err := conn.PgConn().Exec(ctx, "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0").Close(); err != nil {
			return err
		}
	}
	if e.shared {
		tryLock += "_shared"
	}
	for {
		var taken bool
		if err := conn.QueryRow(ctx, `SELECT `+tryLock+`($1::int, hashtext(current_schema()))`, lockClass).Scan(&taken); err != nil {
			return err
		}
		if taken {
			e.conn, e.pooled = conn, pooled
			return nil
		}
		err = conn.QueryRow(ctx, findHolder, lockClass).Scan(&pid, &holder)
		if !errors.Is(err, pgx.ErrNoRows) {
			break
		}
		// The holder has released the lock meanwhile. It may have been this server itself, on a lost
		// connection whose end the database has just noticed.
	}
	switch {
	case err != nil:
		return err
	case holder == e.name:
		// The holder is our own lost connection, whose end the database has not noticed yet.
		if _, err := conn.Exec(ctx, `SELECT pg_terminate_backend($1)`, pid); err != nil {
			return err
		}
		return fmt.Errorf("%w: by this server itself, over a connection that was lost", sqlstore.ErrUnavailable)
	}
	if e.shared {
		return fmt.Errorf("%w: %s has it alone; wait for it to end if it restores a backup, and stop it if it is a server of an earlier release", sqlstore.ErrInUse, holder)
	}
	return fmt.Errorf("%w: a sayso server (%s) uses it; stop it first", sqlstore.ErrInUse, holder)
}

// Run keeps the lock until ctx ends. It replaces a lost connection, however long that takes. It fails
// with [sqlstore.ErrInUse] if a conflicting lock was taken meanwhile.
func (e *Exclusive) Run(ctx context.Context) error {
	for {
		select {
		case <-time.After(checkInterval):
		case <-ctx.Done():
			return nil
		}
		if e.conn != nil {
			check, cancel := context.WithTimeout(ctx, connectTimeout)
			err := e.conn.Ping(check)
			cancel()
			if err == nil || ctx.Err() != nil {
				continue
			}
			_ = closeConnection(ctx, e.conn) // the connection is lost
			e.conn = nil
		}
		if err := e.acquire(ctx); errors.Is(err, sqlstore.ErrInUse) {
			return fmt.Errorf("the connection to the database was lost, and meanwhile others took the database: %w", err)
		}
	}
}

// Close releases the lock. Call it after Run has returned.
func (e *Exclusive) Close() error {
	if e.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if e.pooled { // the pooler may keep the connection to PostgreSQL open
		_ = e.conn.PgConn().Exec(ctx, "ROLLBACK").Close() // the connection is closed in any case
	}
	return closeConnection(ctx, e.conn)
}
