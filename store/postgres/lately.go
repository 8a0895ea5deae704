package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectFresh = engine.SelectFresh
	selectWaits = engine.SelectWaits
)

// Fresh implements [session.Store].
func (s *Store) Fresh(ctx context.Context, since time.Time, each func(sessionID string, it session.Item)) error {
	return s.query(ctx, "what happened lately", selectFresh, func(rows pgx.Rows) error {
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
func (s *Store) Waits(ctx context.Context, since time.Time) (list []pending.Wait, err error) {
	err = s.query(ctx, "waits", selectWaits, func(rows pgx.Rows) error {
		var w pending.Wait
		var from, to int64
		if err := rows.Scan(&w.SessionID, &from, &to); err != nil {
			return err
		}
		w.From, w.To = engine.Time(from), engine.Time(to)
		list = append(list, w)
		return nil
	}, engine.Micros(since))
	return list, err
}
