package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const fromSessions = " FROM sessions s JOIN processes p ON p.session_id = s.session_id"

var (
	selectSession  = "SELECT " + engine.SessionColumns + fromSessions + " WHERE s.session_id = ?"
	selectSessions = "SELECT " + engine.SessionColumns + fromSessions + `
		WHERE (p.updated_at, s.session_id) < (?, ?) AND (? OR NOT s.archived) AND s.in_project NOT IN (SELECT value FROM json_each(?))
		AND (instr(s.title_folded, ?) > 0 OR instr(s.cwd_folded, ?) > 0)
		ORDER BY p.updated_at DESC, s.session_id DESC LIMIT ?`
	selectProcess = engine.SelectProcesses + " WHERE p.session_id = ?" + engine.ProcessOrder
	selectActive  = engine.SelectProcesses + ` WHERE p.session_id IN (
		SELECT session_id FROM processes WHERE state <> 'dead' UNION SELECT session_id FROM requests WHERE ` + answerable + ")" + engine.ProcessOrder
	saveProcess = "UPDATE processes SET " + engine.SaveProcess(placeholder) + `,
		updated_at = CASE WHEN state = ? THEN updated_at ELSE ? END, version = version + 1 WHERE session_id = ? RETURNING version`
)

// CreateSession implements [session.Store].
func (s *Store) CreateSession(ctx context.Context, n session.Session) error {
	values, err := engine.NewSessionValues(n, bind)
	if err != nil {
		return fmt.Errorf("sqlite: create session %s: %w", n.SessionID, err)
	}
	return s.write(ctx, normal, "create session "+n.SessionID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, "INSERT INTO sessions ("+engine.InsertSessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values...)
		if unique(err) {
			return session.ErrExists
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, placeSession, n.SessionID); err != nil {
			return err
		}
		updatedAt := n.UpdatedAt
		if updatedAt.IsZero() {
			updatedAt = n.CreatedAt
		}
		_, err = t.exec(ctx, `INSERT INTO processes (session_id, version, updated_at, items, rev, state, started_at, state_changed_at,
			model, permission_mode, memory, cpu, pid, process_id, node_id, error, kill_reason, stuck)
			VALUES (?, 1, ?, 0, 0, 'dead', 0, ?, ?, ?, 0, 0, 0, '', '', '', '', '')`,
			n.SessionID, engine.Micros(updatedAt), engine.Micros(n.CreatedAt), engine.Shown(n.Model), engine.Shown(n.PermissionMode))
		return err
	})
}

// Session implements [session.Store].
func (s *Store) Session(ctx context.Context, sessionID string) (session.Session, error) {
	return engine.One(ctx, s.query, "session "+sessionID, selectSession, session.ErrNotFound, engine.ReadSession, sessionID)
}

// Sessions implements [session.Store].
func (s *Store) Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	before, id, err := engine.ParseCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("sqlite: sessions: %w", err)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = engine.DefaultSessions
	}
	hidden, err := json.Marshal(append([]string{}, q.Hidden...))
	if err != nil {
		return nil, "", fmt.Errorf("sqlite: sessions: %w", err)
	}
	words := engine.Fold(q.Text)
	more := false
	err = s.query(ctx, "sessions", selectSessions, func(rows engine.Row) error {
		if len(page) == limit {
			more = true
			return nil
		}
		var row engine.SessionRow
		if err := rows.Scan(row.Dest()...); err != nil {
			return err
		}
		found, err := row.Session()
		page, next = append(page, found), row.Cursor()
		return err
	}, before, id, q.Archived, string(hidden), words, words, limit+1)
	if err != nil {
		return nil, "", err
	}
	if !more {
		next = ""
	}
	return page, next, nil
}

// UpdateSession implements [session.Store].
func (s *Store) UpdateSession(ctx context.Context, sessionID string, p session.Patch) (now session.Session, err error) {
	values := engine.PatchValues(p)
	err = s.write(ctx, normal, "update session "+sessionID, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, `UPDATE sessions SET title = coalesce(?, title), title_folded = coalesce(?, title_folded),
			archived = coalesce(?, archived), model = coalesce(?, model), permission_mode = coalesce(?, permission_mode),
			begun = coalesce(?, begun) WHERE session_id = ?`, append(values, sessionID)...); err != nil {
			return err
		}
		if engine.Seen(p) {
			// A new title is no sign of life, so updated_at stays.
			if _, err := t.exec(ctx, `UPDATE processes SET version = version + 1, model = coalesce(?, model),
				permission_mode = coalesce(?, permission_mode) WHERE session_id = ?`, values[3], values[4], sessionID); err != nil {
				return err
			}
		}
		var row engine.SessionRow
		err := t.row(ctx, row.Dest(), selectSession, sessionID)
		if err != nil {
			return missing(err, session.ErrNotFound)
		}
		now, err = row.Session()
		return err
	})
	if err != nil {
		return session.Session{}, err
	}
	return now, nil
}

// SetLifecycle implements [session.Store].
func (s *Store) SetLifecycle(ctx context.Context, sessionID string, l session.Lifecycle) error {
	column, err := engine.Lifecycle(&l)
	if err != nil {
		return fmt.Errorf("sqlite: set lifecycle of %s: %w", sessionID, err)
	}
	return s.write(ctx, normal, "set lifecycle of "+sessionID, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, "UPDATE sessions SET lifecycle = ? WHERE session_id = ?", bind(column), sessionID); err != nil {
			return err
		}
		return t.bump(ctx, sessionID)
	})
}

// DeleteSession implements [session.Store].
func (s *Store) DeleteSession(ctx context.Context, sessionID string) error {
	return s.write(ctx, normal, "delete session "+sessionID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM sessions WHERE session_id = ?", sessionID)
		if err == nil && n == 0 {
			err = session.ErrNotFound
		}
		return err
	})
}

// SaveProcess implements [session.Store].
func (s *Store) SaveProcess(ctx context.Context, p session.ProcessState) (version uint64, err error) {
	err = s.write(ctx, normal, "save process of "+p.SessionID, func(ctx context.Context, t tx) error {
		grown, err := t.saveProcess(ctx, p.SessionID, p)
		version = uint64(grown)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// saveProcess writes the state of a session's process and returns the version.
func (t tx) saveProcess(ctx context.Context, sessionID string, p session.ProcessState) (version int64, err error) {
	values := append(engine.ProcessValues(p), string(p.State), t.now.UnixMicro(), sessionID)
	err = t.row(ctx, []any{&version}, saveProcess, values...)
	return version, missing(err, session.ErrNotFound)
}

// ProcessState implements [session.Store].
func (s *Store) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	states, err := s.processes(ctx, "process state of "+sessionID, selectProcess, sessionID)
	if err == nil && len(states) == 0 {
		err = fmt.Errorf("sqlite: process state of %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.ProcessState{}, err
	}
	return states[0], nil
}

// ActiveProcesses implements [session.Store].
func (s *Store) ActiveProcesses(ctx context.Context) ([]session.ProcessState, error) {
	return s.processes(ctx, "active processes", selectActive)
}

// HeldSessions implements [session.Store].
func (s *Store) HeldSessions(ctx context.Context) ([]string, error) {
	return engine.All(ctx, s.query, "held sessions", engine.SelectHeldSessions, engine.Value[string])
}

func (s *Store) processes(ctx context.Context, what, text string, args ...any) (states []session.ProcessState, err error) {
	err = s.query(ctx, what, text, func(rows engine.Row) (err error) {
		var row engine.ProcessRow
		if err := rows.Scan(row.Dest()...); err != nil {
			return err
		}
		states, err = row.AddTo(states)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return states, nil
}
