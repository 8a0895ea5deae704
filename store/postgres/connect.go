package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// errSharedConnection refuses a pooler that lends a connection for one transaction. The lock
// that keeps other servers away would belong to nobody, settings would reach whoever is lent
// the connection next, and prepared statements would be missing.
var errSharedConnection = fmt.Errorf("%w: the connection pooler at this address lends each transaction another connection (pool_mode transaction or statement), but sayso needs the same one for as long as it is open; set pool_mode = session for this database, or use the address of PostgreSQL itself", sqlstore.ErrDSN)

// settleConnections has each new connection refused if it is shared, and given settings, which
// must be constants. They are not sent with the request to connect, because PgBouncer refuses
// those that it does not know.
func settleConnections(config *pgx.ConnConfig, settings map[string]string) {
	// The statements rely on seeing what was committed while they waited.
	set := "SET default_transaction_isolation = 'read committed'"
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		set += "; SET " + name + " = '" + settings[name] + "'"
	}
	plain := config.Config.Copy()
	var mu sync.Mutex
	isOwn := false // no connection to this address is shared; guarded by mu
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		pid, err := backend(ctx, conn)
		if err != nil {
			return err
		}
		// PostgreSQL itself has said the same when it accepted the connection; a pooler gives
		// a number of its own.
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

// refuseShared fails with errSharedConnection when a pooler lends two connections that are open
// the same process of PostgreSQL, or one of them another than before.
func refuseShared(ctx context.Context, config *pgconn.Config, conn *pgconn.PgConn, pid uint32) error {
	second, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer second.Close(ctx)
	// While others use the pooler, the process that was lent last may not be the one that is
	// lent next.
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

// backend returns the process id of PostgreSQL's end of a connection.
func backend(ctx context.Context, conn *pgconn.PgConn) (uint32, error) {
	results, err := conn.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, fmt.Errorf("SELECT pg_backend_pid() has %d results", len(results))
	}
	pid, err := strconv.ParseUint(strings.TrimSpace(string(results[0].Rows[0][0])), 10, 32)
	return uint32(pid), err
}
