// Package postgres implements the store in PostgreSQL, the engine for teams.
//
// # Durability
//
// Every transaction commits with synchronous_commit on, or remote_apply if the server is set so.
// Without it, the crash of one process of the database server undoes the latest commits: requests
// that people have seen, versions that tabs have, and journal offsets up to which the shim has
// dropped its output. Each transaction sets it itself, so no default of a server, database, role or
// pooler can weaken it.
//
// # Deadlines
//
// A call to a database that does not reply ends after [callTimeout]. Reads marked as long have
// [longCallTimeout], and large writes one more second per megabyte.
//
// # Concurrency
//
// A write is one round trip: its statements form one pipeline, and so one transaction, at isolation
// level read committed. Rows are locked in the order runners, requests, messages, processes, sessions.
// A transaction that the database still rolls back (deadlock, serialization failure) has changed
// nothing and is run again.
//
// Over a pooler in transaction mode, each transaction may use another connection (connect.go). Then
// statements are not prepared, a poll finds the changes of other servers (notifier.go), and the lock
// on the database belongs to a transaction that stays open (exclude.go).
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// maxConns is the size of the pool if the address does not set pool_max_conns. It is large enough
// that slow searches never delay an answer.
const maxConns = 16

// minVersion is the required server version, as server_version_num: the oldest that is still
// maintained.
const minVersion = 140000

// Store is a [github.com/sayso-dev/sayso/store.Store] in a PostgreSQL database.
type Store struct {
	sqlstore.Shared
	*database
	lease *session.Lease // checked by each write, see [Store.WithLease]; nil for no check
}

// database is the state that the views of a Store share.
type database struct {
	pool *pgxpool.Pool
	// callTimeout is the constant [callTimeout], except in tests on a busy machine.
	callTimeout time.Duration
	readOnly    bool // refuse all writes; a setting of a shared connection could not do that
	closed      atomic.Bool
	full        atomic.Pointer[diskFullError] // the last write that the database refused
	ceremonyKey atomic.Pointer[[account.CeremonyKeySize]byte]
}

// Open connects to the database at a postgres:// or postgresql:// URL and brings its schema up to
// date. No error contains the password.
func Open(ctx context.Context, dsn string) (*Store, error) {
	return open(ctx, dsn, false, migrations.Apply)
}

// OpenMigrated is like [Open], for commands that run beside a server. It does not migrate a database
// of an older version, because a server of that version may be using it: then it fails with an error
// of migrations.Check.
func OpenMigrated(ctx context.Context, dsn string) (*Store, error) {
	return open(ctx, dsn, false, migrations.ApplyToEmpty)
}

// OpenReadOnly is like [Open], for reading. It changes nothing, and fails with an error of
// migrations.Check if the schema is not that of this version. Every write fails.
func OpenReadOnly(ctx context.Context, dsn string) (*Store, error) {
	return open(ctx, dsn, true, migrations.Check)
}

// open connects and runs schema. With readOnly, every write fails.
func open(ctx context.Context, dsn string, readOnly bool, schema func(context.Context, *sql.DB, migrations.Dialect) error) (*Store, error) {
	var settings map[string]string
	if readOnly {
		settings = map[string]string{"default_transaction_read_only": "on"}
	}
	pool, err := openPool(ctx, dsn, settings, schema)
	if err != nil {
		return nil, err
	}
	s := &Store{database: &database{pool: pool, callTimeout: callTimeout, readOnly: readOnly}}
	s.Shared = sqlstore.NewShared(s.engine())
	return s, nil
}

// openPool connects, applies settings to each connection unless connections are shared, and runs
// schema.
func openPool(ctx context.Context, dsn string, settings map[string]string, schema func(context.Context, *sql.DB, migrations.Dialect) error) (*pgxpool.Pool, error) {
	pool, err := tryPool(ctx, dsn, schema, func(c *pgx.ConnConfig) { configureConnections(c, settings) })
	if errors.Is(err, errSharedConnection) {
		return tryPool(ctx, dsn, schema, shareConnections)
	}
	return pool, err
}

func tryPool(ctx context.Context, dsn string, schema func(context.Context, *sql.DB, migrations.Dialect) error, configure func(*pgx.ConnConfig)) (*pgxpool.Pool, error) {
	config, err := parseConfig(dsn)
	if err != nil {
		return nil, err
	}
	configure(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sqlstore.ErrDSN, err)
	}
	if err := prepareDatabase(ctx, pool, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("database %s at %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, err)
	}
	return pool, nil
}

func (s *Store) engine() sqlstore.Engine {
	return sqlstore.Engine{Dialect: sqlstore.Postgres, Bind: bind, Query: s.query, Apply: s.apply, Approve: s.approve}
}

// prepareDatabase checks that the server stores data safely, and runs schema.
func prepareDatabase(ctx context.Context, pool *pgxpool.Pool, schema func(context.Context, *sql.DB, migrations.Dialect) error) (err error) {
	var version int
	var fsync, encoding string
	if err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('server_encoding')`).Scan(&version, &fsync, &encoding); err != nil {
		return fmt.Errorf("cannot connect: %w", classifyRead(ctx, err))
	}
	switch {
	case version < minVersion:
		return fmt.Errorf("the server is version %d.%d and must be %d or newer", version/10000, version%10000, minVersion/10000)
	case fsync != "on":
		return errors.New("the server runs with fsync off, so a power cut could lose answers; switch fsync on")
	case encoding != "UTF8":
		return fmt.Errorf("the database is encoded in %s; create it with ENCODING 'UTF8'", encoding)
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	return schema(ctx, db, migrations.Postgres)
}

// parseConfig parses the address of a database and applies the defaults of sayso.
func parseConfig(dsn string) (*pgxpool.Config, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL; write postgres://user@host:port/database and percent-encode special characters", sqlstore.ErrDSN)
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", sqlstore.ErrDSN, redactPassword(err.Error(), address))
	}
	if address.Query().Get("pool_max_conns") == "" {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = callTimeout
	}
	dial, limit := config.ConnConfig.DialFunc, config.ConnConfig.ConnectTimeout
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return quickClosingConn{conn}, nil
	}
	runtime := config.ConnConfig.RuntimeParams
	if runtime["application_name"] == "" {
		runtime["application_name"] = "sayso"
	}
	return config, nil
}

// closeTimeout bounds the time to close an abandoned connection, which occupies a slot of the pool
// until then.
const closeTimeout = time.Second

// quickClosingConn limits the deadline for closing to [closeTimeout]. By default, pgx waits 15 seconds.
type quickClosingConn struct{ net.Conn }

func (c quickClosingConn) SetDeadline(at time.Time) error {
	if latest := time.Now().Add(closeTimeout); at.After(latest) {
		at = latest
	}
	return c.Conn.SetDeadline(at)
}

// redactPassword replaces the password in a sentence, in each of its encodings.
func redactPassword(sentence string, address *url.URL) string {
	secret, _ := address.User.Password()
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), address.Query().Get("password")} {
		if s != "" {
			sentence = strings.ReplaceAll(sentence, s, "xxxxx")
		}
	}
	return sentence
}

// Reserve implements store.Store. It does nothing, because PostgreSQL reuses the files of its log.
func (s *Store) Reserve(context.Context) error { return nil }

// Verify implements store.Store. It does nothing, because PostgreSQL recovers from crashes and
// checks its pages itself.
func (s *Store) Verify(context.Context) error { return nil }

// Size implements store.Store.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	if err := s.pool.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return 0, fmt.Errorf("postgres: size: %w", classifyRead(ctx, err))
	}
	return size, nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("postgres: ping: %w", sqlstore.ErrClosed)
	}
	asking, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	if err := s.pool.Ping(asking); err != nil {
		err = classifyRead(ctx, err)
		s.Outage.NoteRead(err)
		return fmt.Errorf("postgres: ping: %w", err)
	}
	s.Outage.NoteRead(nil)
	if full := s.full.Load(); full != nil && time.Since(full.at) < diskFullTTL {
		return fmt.Errorf("postgres: ping: %w", full.err)
	}
	return nil
}

// diskFullTTL is how long Ping reports a refused write. The store has no other way to know whether
// the database has free space.
const diskFullTTL = 5 * time.Second

// diskFullError describes a write that the database refused because it accepts no writes.
type diskFullError struct {
	err error
	at  time.Time
}

// Close implements store.Store.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.pool.Close()
	}
	return nil
}
