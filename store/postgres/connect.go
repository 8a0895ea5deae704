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

// errSharedConnection refuses a pooler that lends a connection for only one transaction. There, the
// lock that keeps other servers away would belong to no server, settings would apply to the next
// borrower, and prepared statements would be missing.
var errSharedConnection = fmt.Errorf("%w: the connection pooler at this address lends each transaction another connection (pool_mode transaction or statement), but sayso needs the same one for as long as it is open; set pool_mode = session for this database, or use the address of PostgreSQL itself", sqlstore.ErrDSN)

// configureConnections makes each new connection fail if it is shared, and applies settings, whose
// values must be constants. They are not part of the startup message, because PgBouncer refuses
// settings that it does not know.
func configureConnections(config *pgx.ConnConfig, settings map[string]string) {
	// The statements depend on seeing what was committed while they waited for a lock.
	set := "SET default_transaction_isolation = 'read committed'"
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		set += "; SET " + name + " = '" + settings[name] + "'"
	}
	plain := config.Config.Copy()
	var mu sync.Mutex
	isOwn := false // whether an earlier connection to this address was found not to be shared; guarded by mu
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		pid, err := backend(ctx, conn)
		if err != nil {
			return err
		}
		// PostgreSQL reported the same process id when it accepted the connection; a pooler reports
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

// refuseShared fails with errSharedConnection if a pooler lends the same PostgreSQL process to two
// open connections, or another process to one of them than before.
func refuseShared(ctx context.Context, config *pgconn.Config, conn *pgconn.PgConn, pid uint32) error {
	second, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer second.Close(ctx)
	// While others use the pooler, it may not lend the process that was used last.
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
