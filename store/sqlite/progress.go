package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var putMark = define(`INSERT INTO marks (session_id, process_id, journal_offset, memo) VALUES (?, ?, ?, ?) ON CONFLICT (session_id)
	DO UPDATE SET process_id = excluded.process_id, journal_offset = excluded.journal_offset, memo = excluded.memo`)

// SaveProgress implements [session.Store].
func (s *Store) SaveProgress(ctx context.Context, sessionID string, p session.Progress) (version uint64, err error) {
	err = s.writeKeepingNewest(ctx, sqlstore.Relaxed, "save progress of "+sessionID, func(ctx context.Context, t tx) error {
		now, err := t.putItems(ctx, sessionID, p.Items)
		if err == nil && p.Process != nil {
			now, err = t.saveProcess(ctx, sessionID, *p.Process)
		}
		if err == nil && p.Mark != nil {
			_, err = t.exec(ctx, putMark, sqlstore.MarkValues(sessionID, *p.Mark, bind)...)
		}
		if err == nil && p.Spent > 0 {
			err = t.spend(ctx, sessionID, p)
		}
		version = uint64(now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// spend adds to the cost of a session.
func (t tx) spend(ctx context.Context, sessionID string, p session.Progress) error {
	n, err := t.exec(ctx, sqlstore.Spend, sqlstore.SpendValues(sessionID, p)...)
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	return err
}
