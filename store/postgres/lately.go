package postgres

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

// Fresh implements [session.Store].
func (s *Store) Fresh(ctx context.Context, since time.Time, each func(sessionID string, it session.Item)) error {
	return s.query(ctx, "what happened lately", engine.SelectFresh, func(rows engine.Row) error {
		var id string
		var row engine.ItemRow
		if err := rows.Scan(append([]any{&id}, row.Dest()...)...); err != nil {
			return err
		}
		if it, found := row.Item(); found {
			each(id, it)
		}
		return nil
	}, engine.Micros(since))
}

// Waits implements [session.Store].
func (s *Store) Waits(ctx context.Context, since time.Time) ([]pending.Wait, error) {
	return engine.All(ctx, s.query, "waits", engine.SelectWaits, engine.ReadWait, engine.Micros(since))
}
