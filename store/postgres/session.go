package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// Every transaction locks the process before the session.
	updateSession = define(`WITH bump AS (UPDATE processes SET version = version + $8, model = coalesce($4, model),
			permission_mode = coalesce($5, permission_mode) WHERE session_id = $7 RETURNING session_id)
		UPDATE sessions s SET title = coalesce($1, title), title_folded = coalesce($2, title_folded), archived = coalesce($3, archived),
			model = coalesce($4, model), permission_mode = coalesce($5, permission_mode), begun = coalesce($6, begun)
		FROM bump WHERE s.session_id = bump.session_id`)
	saveProcess = define("UPDATE processes SET " + sqlstore.ProcessAssignments + `,
		updated_at = CASE WHEN state = $1 THEN updated_at ELSE $14 END, version = version + 1 WHERE session_id = $15 RETURNING version`)
)

// UpdateSession implements [session.Store].
func (s *Store) UpdateSession(ctx context.Context, sessionID string, p session.Patch) (session.Session, error) {
	grow := 0
	if sqlstore.ChangesProcess(p) {
		grow = 1
	}
	var found sqlstore.SessionRow
	var known bool
	err := s.write(ctx, "update session "+sessionID,
		step{Statement: updateSession, args: append(sqlstore.PatchValues(p), sessionID, grow)},
		step{sqlstore.SelectSession.Statement, []any{sessionID}, scanRow(&known, found.Dest()...)})
	if err == nil && !known {
		err = fmt.Errorf("postgres: update session %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.Session{}, err
	}
	return found.Session()
}

// SaveProcess implements [session.Store].
func (s *Store) SaveProcess(ctx context.Context, p session.ProcessState) (uint64, error) {
	var known bool
	var version int64
	err := s.write(ctx, "save process of "+p.SessionID, saveProcessStep(p.SessionID, p, scanRow(&known, &version)))
	if err == nil && !known {
		err = fmt.Errorf("postgres: save process of %s: %w", p.SessionID, session.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return uint64(version), nil
}

// saveProcessStep returns the step that writes the state of a session's process and returns the new version.
func saveProcessStep(sessionID string, p session.ProcessState, read func(pgx.BatchResults) error) step {
	return step{saveProcess, append(sqlstore.ProcessValues(p), time.Now().UnixMicro(), sessionID), read}
}
