package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// errSharedConnection: a pooler lends each transaction another connection (pool_mode transaction). Then
// no state of a connection outlives a transaction: no setting, prepared statement, lock or LISTEN. The
// error does not leave the package.
var errSharedConnection = errors.New("postgres: each transaction gets another connection")

// errSharedStatement refuses a pooler that lends each statement another connection (pool_mode
// statement).
var errSharedStatement = fmt.Errorf("%w: the connection pooler at this address lends each statement another connection (pool_mode statement), but sayso needs transactions; set pool_mode = session or transaction for this database", sqlstore.ErrDSN)

// errIsolation refuses a default that sayso cannot change for its own connections.
var errIsolation = fmt.Errorf("%w: the connection pooler at this address lends each transaction another connection, whose default_transaction_isolation is not read committed; change that for the user or the database, or set pool_mode = session", sqlstore.ErrDSN)

// connect opens a connection with settings; see [configureConnections]. If a pooler shares the
// connection, shared is true, and the connection has none of the settings.
func connect(ctx context.Context, config *pgx.ConnConfig, settings map[string]string) (conn *pgx.Conn, shared bool, err error) {
	own := config.Copy()
	configureConnections(own, settings)
	conn, err = pgx.ConnectConfig(ctx, own)
	if !errors.Is(err, errSharedConnection) {
		return conn, false, err
	}
	own = config.Copy()
	shareConnections(own)
	conn, err = pgx.ConnectConfig(ctx, own)
	return conn, true, err
}

// closeConnection closes a connection, and waits up to [closeTimeout] for the driver, which cancels a
// running statement in the background.
func closeConnection(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := conn.Close(ctx)
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
	return err
}

// shareConnections configures new connections for a pooler that lends each transaction another one.
func shareConnections(config *pgx.ConnConfig) {
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // the same without prepared statements
	}
	var checked atomic.Bool
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if checked.Load() {
			return nil
		}
		if err := conn.Exec(ctx, "BEGIN").Close(); err != nil {
			return errSharedStatement
		}
		isolation, err := readValue(ctx, conn, "SELECT current_setting('default_transaction_isolation')")
		if err == nil {
			err = conn.Exec(ctx, "ROLLBACK").Close()
		}
		switch {
		case err != nil:
			return err
		case isolation != "read committed":
			return errIsolation
		}
		checked.Store(true)
		return nil
	}
}

// configureConnections makes each new connection apply settings, whose values must be constants, and
// fail with [errSharedConnection] if a pooler shares it. The settings are not part of the startup
// message, because PgBouncer refuses unknown ones.
func configureConnections(config *pgx.ConnConfig, settings map[string]string) {
	// The statements depend on seeing what was committed while they waited for a lock.
	set := "SET default_transaction_isolation = 'read committed'"
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		set += "; SET " + name + " = '" + settings[name] + "'"
	}
	plain := config.Config.Copy()
	var mu sync.Mutex
	isOwn := false // an earlier connection to this address was found not to be shared; guarded by mu
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		pid, err := backend(ctx, conn)
		if err != nil {
			return err
		}
		// PostgreSQL reports the same process id when it accepts a connection. A pooler reports
		// another number.
		if pid != conn.PID() {
			mu.Lock()
			known := isOwn
			mu.Unlock()
			if !known {
				if err := refuseShared(ctx, plain, conn, pid); err != nil {
					return err
				}
				mu.Lock()
				isOwn = true
				mu.Unlock()
			}
		}
		return conn.Exec(ctx, set).Close()
	}
}

// refuseShared fails with [errSharedConnection] if a pooler lends the same PostgreSQL process to two
// open connections, or lends one of them another process than before.
func refuseShared(ctx context.Context, config *pgconn.Config, conn *pgconn.PgConn, pid uint32) error {
	second, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer second.Close(ctx)
	// One round is not enough: with other clients, the pooler may lend another idle process.
	const rounds = 5
	for range rounds {
		theirs, err := backend(ctx, second)
		if err != nil {
			return err
		}
		again, err := backend(ctx, conn)
		if err != nil {
			return err
		}
		if theirs == again || again != pid {
			return errSharedConnection
		}
	}
	return nil
}

// backend returns the id of the PostgreSQL process that serves a connection.
func backend(ctx context.Context, conn *pgconn.PgConn) (uint32, error) {
	text, err := readValue(ctx, conn, "SELECT pg_backend_pid()")
	if err != nil {
		return 0, err
	}
	pid, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	return uint32(pid), err
}

// readValue returns the only value of a query.
func readValue(ctx context.Context, conn *pgconn.PgConn, query string) (string, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return "", fmt.Errorf("%s has %d results", query, len(results))
	}
	return string(results[0].Rows[0][0]), nil
}
