package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	// A session that is not there has no row to select, and so gets no mark.
	putMark = `INSERT INTO marks (session_id, process_id, journal_offset, memo)
		SELECT session_id, $2::bytea, $3::bigint, $4::bytea FROM processes WHERE session_id = $1 ON CONFLICT (session_id)
		DO UPDATE SET process_id = excluded.process_id, journal_offset = excluded.journal_offset, memo = excluded.memo`
	// A session without a mark has one row too, so that it differs from none.
	selectMark = "SELECT " + engine.MarkColumns + " FROM processes p LEFT JOIN marks m ON m.session_id = p.session_id WHERE p.session_id = $1"
	nextEpoch  = "UPDATE epochs SET last = greatest(last + 1, $1) RETURNING last"
)

// SaveProgress implements [session.Store].
func (s *Store) SaveProgress(ctx context.Context, sessionID string, p session.Progress) (uint64, error) {
	return s.progress(ctx, "save progress of "+sessionID, sessionID, p)
}

func (s *Store) progress(ctx context.Context, what, sessionID string, p session.Progress) (uint64, error) {
	var known bool
	var version int64
	transaction := []statement{{lockProcess, []any{sessionID}, row(&known, &version)}}
	if len(p.Items) > 0 {
		transaction = append(transaction, putting(sessionID, p.Items))
	}
	if p.Process != nil {
		transaction = append(transaction, saving(sessionID, *p.Process, row(&known, &version)))
	}
	if p.Mark != nil {
		transaction = append(transaction, statement{text: putMark, args: engine.MarkValues(sessionID, *p.Mark, bind)})
	}
	if p.Spent > 0 {
		transaction = append(transaction, statement{text: spend, args: engine.SpendValues(sessionID, p)})
	}
	err := s.write(ctx, what, relaxed, transaction...)
	if err == nil && !known {
		err = fmt.Errorf("postgres: %s: %w", what, session.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return uint64(version), nil
}

// Mark implements [session.Store].
func (s *Store) Mark(ctx context.Context, sessionID string) (session.Mark, error) {
	return engine.One(ctx, s.query, "mark of "+sessionID, selectMark, session.ErrNotFound, engine.ReadMark, sessionID)
}

// NextEpoch implements [session.Store].
func (s *Store) NextEpoch(ctx context.Context) (uint64, error) {
	var known bool
	var epoch int64
	if err := s.write(ctx, "next epoch", durable, statement{nextEpoch, []any{time.Now().UnixMicro()}, row(&known, &epoch)}); err != nil {
		return 0, err
	}
	return uint64(epoch), nil
}
