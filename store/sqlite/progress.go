package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	putMark = `INSERT INTO marks (session_id, process_id, journal_offset, memo) VALUES (?, ?, ?, ?) ON CONFLICT (session_id)
		DO UPDATE SET process_id = excluded.process_id, journal_offset = excluded.journal_offset, memo = excluded.memo`
	// A session without a mark has one row too, so that it differs from none.
	selectMark = "SELECT " + engine.MarkColumns + " FROM processes p LEFT JOIN marks m ON m.session_id = p.session_id WHERE p.session_id = ?"
	nextEpoch  = "UPDATE epochs SET last = max(last + 1, ?) RETURNING last"
)

// SaveProgress implements [session.Store].
func (s *Store) SaveProgress(ctx context.Context, sessionID string, p session.Progress) (version uint64, err error) {
	err = s.writeBeside(ctx, normal, "save progress of "+sessionID, func(ctx context.Context, t tx) error {
		now, err := t.putItems(ctx, sessionID, p.Items)
		if err == nil && p.Process != nil {
			now, err = t.saveProcess(ctx, sessionID, *p.Process)
		}
		if err == nil && p.Mark != nil {
			_, err = t.exec(ctx, putMark, engine.MarkValues(sessionID, *p.Mark, bind)...)
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

// Mark implements [session.Store].
func (s *Store) Mark(ctx context.Context, sessionID string) (session.Mark, error) {
	return engine.One(ctx, s.query, "mark of "+sessionID, selectMark, session.ErrNotFound, engine.ReadMark, sessionID)
}

// NextEpoch implements [session.Store].
func (s *Store) NextEpoch(ctx context.Context) (uint64, error) {
	var epoch int64
	err := s.write(ctx, full, "next epoch", func(ctx context.Context, t tx) error {
		return t.row(ctx, []any{&epoch}, nextEpoch, t.now.UnixMicro())
	})
	if err != nil {
		return 0, err
	}
	return uint64(epoch), nil
}
