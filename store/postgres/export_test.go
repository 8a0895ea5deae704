package postgres

import (
	"context"
	"time"
)

// SetCallTimeout sets the timeout of calls.
func (s *Store) SetCallTimeout(timeout time.Duration) { s.callTimeout = timeout }

// Setting returns the value of a setting of a connection.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	return value, s.pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
}
