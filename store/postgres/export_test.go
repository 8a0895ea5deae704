package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// SetCallTimeout sets the timeout of calls.
func (s *Store) SetCallTimeout(timeout time.Duration) { s.callTimeout = timeout }

// Setting returns the value of a setting of a connection.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	return value, s.pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
}

// Prepared returns how many statements that contain a text the idle connections have prepared.
func (s *Store) Prepared(ctx context.Context, text string) (count int, err error) {
	for _, conn := range s.pool.AcquireAllIdle(ctx) {
		n := 0
		err = errors.Join(err, conn.QueryRow(ctx, "SELECT count(*) FROM pg_prepared_statements WHERE name <> '' AND strpos(statement, $1) > 0", text).Scan(&n))
		count += n
		conn.Release()
	}
	return count, err
}

// Poll looks for changes on a connection, as Run does.
func (n *Notifier) Poll(ctx context.Context, conn *pgx.Conn) error { return n.poll(ctx, conn) }
