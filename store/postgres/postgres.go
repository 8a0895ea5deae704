// Package postgres is the store in PostgreSQL: the engine of teams.
//
// # Durability
//
// Every transaction is committed with synchronous_commit on, or stronger where the
// server is. Without it, a crash of one process of the database server takes back what
// was committed in the last moments: requests that people see, versions that tabs know,
// and places in the journal that the shim has let go of. The setting is made inside each
// transaction, so no default of a server, database, role or pooler can weaken it.
//
// # Deadlines
//
// No call waits for longer than [callTimeout] for a database that does not reply, but for
// reads that may be long and for writes of many megabytes, each of which has a second more.
//
// # Concurrency
//
// A write is one round trip: its statements are one pipeline and so one
// transaction, read committed. Rows are locked in the order requests, messages,
// processes, sessions. Where the database still gives up a transaction
// (deadlock, serialisation), nothing was changed and it is run again here.
//
// A connection must be one to the same process of PostgreSQL for as long as it is open: a
// pooler works in session mode, and another mode is refused (connect.go).
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

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// maxConns is the size of the pool when the address does not give one with
// pool_max_conns: enough that a slow search never holds up an answer.
const maxConns = 16

// minVersion is the server version, as server_version_num, that is needed: the oldest that is
// still maintained.
const minVersion = 140000

// Store is a [github.com/sayso-dev/sayso/store.Store] in a PostgreSQL database.
type Store struct {
	sqlstore.Shared
	pool *pgxpool.Pool
	// callTimeout is [callTimeout]; tests on a busy machine have another one.
	callTimeout time.Duration
	closed      atomic.Bool
	full        atomic.Pointer[diskFullError] // the last write that found no space
}

// Open connects to the database that a postgres:// or postgresql:// URL names
// and brings its schema up to date. No error prints the password.
func Open(ctx context.Context, dsn string) (*Store, error) {
	return open(ctx, dsn, nil, migrations.Apply)
}

// OpenReadOnly is Open for reading: it changes nothing, and fails with an
// error of migrations.Check when its schema is not that of this program. Every write
// fails.
func OpenReadOnly(ctx context.Context, dsn string) (*Store, error) {
	return open(ctx, dsn, map[string]string{"default_transaction_read_only": "on"}, migrations.Check)
}

// open connects with more settings of a session, and has the schema looked after.
func open(ctx context.Context, dsn string, settings map[string]string, schema func(context.Context, *sql.DB, migrations.Dialect) error) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	settleConnections(config.ConnConfig, settings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", sqlstore.ErrDSN, err)
	}
	if err := begin(ctx, pool, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: database %s at %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, err)
	}
	s := &Store{pool: pool, callTimeout: callTimeout}
	s.Shared = sqlstore.NewShared(sqlstore.Engine{Dialect: sqlstore.Postgres, Bind: bind, Query: s.query, Apply: s.apply, Approve: s.approve})
	return s, nil
}

// begin looks whether the server can keep our promises, and after the schema.
func begin(ctx context.Context, pool *pgxpool.Pool, schema func(context.Context, *sql.DB, migrations.Dialect) error) (err error) {
	var version int
	var fsync, encoding string
	if err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('server_encoding')`).Scan(&version, &fsync, &encoding); err != nil {
		return fmt.Errorf("cannot connect: %w", lost(ctx, err))
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

// parse reads the address and settles what we depend on.
func parse(dsn string) (*pgxpool.Config, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL; write postgres://user@host:port/database and percent-encode special characters", sqlstore.ErrDSN)
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", sqlstore.ErrDSN, hide(err.Error(), address))
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
		return impatientConn{conn}, nil
	}
	runtime := config.ConnConfig.RuntimeParams
	if runtime["application_name"] == "" {
		runtime["application_name"] = "sayso"
	}
	return config, nil
}

// parting is how long a connection that was given up may take to say farewell. It has its
// place in the pool until then.
const parting = time.Second

// impatientConn waits for no farewell longer than that: pgx would for 15 seconds.
type impatientConn struct{ net.Conn }

func (c impatientConn) SetDeadline(at time.Time) error {
	if latest := time.Now().Add(parting); at.After(latest) {
		at = latest
	}
	return c.Conn.SetDeadline(at)
}

// hide takes every spelling of the password out of a sentence.
func hide(sentence string, address *url.URL) string {
	secret, _ := address.User.Password()
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), address.Query().Get("password")} {
		if s != "" {
			sentence = strings.ReplaceAll(sentence, s, "xxxxx")
		}
	}
	return sentence
}

// Reserve implements store.Store. PostgreSQL uses the files of its log again by
// itself.
func (s *Store) Reserve(context.Context) error { return nil }

// Verify implements store.Store. PostgreSQL recovers from a crash and checks its pages by
// itself.
func (s *Store) Verify(context.Context) error { return nil }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("postgres: ping: %w", sqlstore.ErrClosed)
	}
	asking, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	if err := s.pool.Ping(asking); err != nil {
		err = lost(ctx, err)
		s.Outage.NoteRead(err)
		return fmt.Errorf("postgres: ping: %w", err)
	}
	s.Outage.NoteRead(nil)
	if full := s.full.Load(); full != nil && time.Since(full.at) < fullFor {
		return fmt.Errorf("postgres: ping: %w", full.err)
	}
	return nil
}

// fullFor is how long a write that found no space stands for the next one: from
// here nobody sees how much the database has.
const fullFor = 5 * time.Second

// diskFullError is a write that the database refused because it takes none.
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
