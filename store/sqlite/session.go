package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	saveProcess = define("UPDATE processes SET " + sqlstore.ProcessAssignments + `,
		updated_at = CASE WHEN state = $14 THEN updated_at ELSE $15 END, version = version + 1 WHERE session_id = $16 RETURNING version`)
	patchSession = define(`UPDATE sessions SET title = coalesce(?, title), title_folded = coalesce(?, title_folded),
		archived = coalesce(?, archived), model = coalesce(?, model), permission_mode = coalesce(?, permission_mode),
		begun = coalesce(?, begun) WHERE session_id = ?`)
	// A new title is not activity of the session, so updated_at stays unchanged.
	patchProcess = define(`UPDATE processes SET version = version + 1, model = coalesce(?, model),
		permission_mode = coalesce(?, permission_mode) WHERE session_id = ?`)
)

// UpdateSession implements [session.Store].
func (s *Store) UpdateSession(ctx context.Context, sessionID string, p session.Patch) (now session.Session, err error) {
	values := sqlstore.PatchValues(p)
	err = s.write(ctx, sqlstore.Relaxed, "update session "+sessionID, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, patchSession, append(values, sessionID)...); err != nil {
			return err
		}
		if sqlstore.ChangesProcess(p) {
			if _, err := t.exec(ctx, patchProcess, values[3], values[4], sessionID); err != nil {
				return err
			}
		}
		var row sqlstore.SessionRow
		err := t.queryRow(ctx, row.Dest(), sqlstore.SelectSession.Statement, sessionID)
		if err != nil {
			return replaceNoRows(err, session.ErrNotFound)
		}
		now, err = row.Session()
		return err
	})
	if err != nil {
		return session.Session{}, err
	}
	return now, nil
}

// SaveProcess implements [session.Store].
func (s *Store) SaveProcess(ctx context.Context, p session.ProcessState) (version uint64, err error) {
	err = s.write(ctx, sqlstore.Relaxed, "save process of "+p.SessionID, func(ctx context.Context, t tx) error {
		grown, err := t.saveProcess(ctx, p.SessionID, p)
		version = uint64(grown)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// saveProcess writes the state of a session's process and returns the new version.
func (t tx) saveProcess(ctx context.Context, sessionID string, p session.ProcessState) (version int64, err error) {
	values := append(sqlstore.ProcessValues(p), string(p.State), t.now.UnixMicro(), sessionID)
	err = t.queryRow(ctx, []any{&version}, saveProcess, values...)
	return version, replaceNoRows(err, session.ErrNotFound)
}
