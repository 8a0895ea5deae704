package postgres

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// An unknown session has no row to select, and so gets no mark.
var putMark = define(`INSERT INTO marks (session_id, process_id, journal_offset, memo)
	SELECT session_id, $2::bytea, $3::bigint, $4::bytea FROM processes WHERE session_id = $1 ON CONFLICT (session_id)
	DO UPDATE SET process_id = excluded.process_id, journal_offset = excluded.journal_offset, memo = excluded.memo`)

// SaveProgress implements [session.Store].
func (s *Store) SaveProgress(ctx context.Context, sessionID string, p session.Progress) (uint64, error) {
	return s.progress(ctx, "save progress of "+sessionID, sessionID, p)
}

func (s *Store) progress(ctx context.Context, what, sessionID string, p session.Progress) (uint64, error) {
	var known bool
	var version int64
	transaction := []step{{lockProcess, []any{sessionID}, scanRow(&known, &version)}}
	if len(p.Items) > 0 {
		transaction = append(transaction, putItemsStep(sessionID, p.Items))
	}
	if p.Process != nil {
		transaction = append(transaction, saveProcessStep(sessionID, *p.Process, scanRow(&known, &version)))
	}
	if p.Mark != nil {
		transaction = append(transaction, step{Statement: putMark, args: sqlstore.MarkValues(sessionID, *p.Mark, bind)})
	}
	if p.Spent > 0 {
		transaction = append(transaction, step{Statement: sqlstore.Spend, args: sqlstore.SpendValues(sessionID, p)})
	}
	err := s.write(ctx, what, transaction...)
	if err == nil && !known {
		err = fmt.Errorf("postgres: %s: %w", what, session.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return uint64(version), nil
}
