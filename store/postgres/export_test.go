package postgres

import (
	"context"
	"time"
)

// SetCallTimeout changes what a call may take.
func (s *Store) SetCallTimeout(timeout time.Duration) { s.callTimeout = timeout }

// Setting returns a setting of a connection.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	return value, s.pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
}
