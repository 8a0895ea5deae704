package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const fromSessions = " FROM sessions s JOIN processes p ON p.session_id = s.session_id"

var (
	insertSession = "INSERT INTO sessions (" + engine.InsertSessionColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
	insertProcess = `INSERT INTO processes (session_id, version, updated_at, items, rev, state, started_at, state_changed_at,
		model, permission_mode, memory, cpu, pid, process_id, node_id, error, kill_reason, stuck)
		VALUES ($1, 1, $2, 0, 0, 'dead', 0, $3, $4, $5, 0, 0, 0, '', '', '', '', '')`
	// The process is locked before the session, as everywhere.
	updateSession = `WITH bump AS (UPDATE processes SET version = version + $8, model = coalesce($4, model),
			permission_mode = coalesce($5, permission_mode) WHERE session_id = $7 RETURNING session_id)
		UPDATE sessions s SET title = coalesce($1, title), title_folded = coalesce($2, title_folded), archived = coalesce($3, archived),
			model = coalesce($4, model), permission_mode = coalesce($5, permission_mode), begun = coalesce($6, begun)
		FROM bump WHERE s.session_id = bump.session_id`
	setLifecycle = `WITH bump AS (UPDATE processes SET version = version + 1, updated_at = $3 WHERE session_id = $2 RETURNING session_id)
		UPDATE sessions s SET lifecycle = $1 FROM bump WHERE s.session_id = bump.session_id`
	selectSession  = "SELECT " + engine.SessionColumns + fromSessions + " WHERE s.session_id = $1"
	selectSessions = "SELECT " + engine.SessionColumns + fromSessions + `
		WHERE (p.updated_at, s.session_id) < ($1, $2) AND ($3 OR NOT s.archived) AND s.in_project <> ALL($6::text[])
		AND (strpos(s.title_folded, $4) > 0 OR strpos(s.cwd_folded, $4) > 0)
		ORDER BY p.updated_at DESC, s.session_id DESC LIMIT $5`
	selectProcess = engine.SelectProcesses + " WHERE p.session_id = $1" + engine.ProcessOrder
	selectActive  = engine.SelectProcesses + ` WHERE p.session_id IN (
		SELECT session_id FROM processes WHERE state <> 'dead' UNION SELECT session_id FROM requests WHERE ` + answerable + ")" + engine.ProcessOrder
	saveProcess = "UPDATE processes SET " + engine.SaveProcess(placeholder) + `,
		updated_at = CASE WHEN state = $1 THEN updated_at ELSE $15 END, version = version + 1 WHERE session_id = $16 RETURNING version`
)

// CreateSession implements [session.Store].
func (s *Store) CreateSession(ctx context.Context, n session.Session) error {
	values, err := engine.NewSessionValues(n, bind)
	if err != nil {
		return fmt.Errorf("postgres: create session %s: %w", n.SessionID, err)
	}
	updatedAt := n.UpdatedAt
	if updatedAt.IsZero() {
		updatedAt = n.CreatedAt
	}
	err = s.write(ctx, "create session "+n.SessionID, relaxed,
		statement{text: awaitFolders},
		statement{text: insertSession, args: values},
		statement{text: placeSession, args: []any{n.SessionID}},
		statement{text: insertProcess, args: []any{n.SessionID, engine.Micros(updatedAt), engine.Micros(n.CreatedAt), n.Model, n.PermissionMode}})
	if violates(err, uniqueRule) {
		return fmt.Errorf("postgres: create session %s: %w", n.SessionID, session.ErrExists)
	}
	return err
}

// Session implements [session.Store].
func (s *Store) Session(ctx context.Context, sessionID string) (session.Session, error) {
	return engine.One(ctx, s.query, "session "+sessionID, selectSession, session.ErrNotFound, engine.ReadSession, sessionID)
}

// Sessions implements [session.Store].
func (s *Store) Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	before, id, err := engine.ParseCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("postgres: sessions: %w", err)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = engine.DefaultSessions
	}
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
	}, before, id, q.Archived, engine.Fold(q.Text), limit+1, append([]string{}, q.Hidden...))
	if err != nil {
		return nil, "", err
	}
	if !more {
		next = ""
	}
	return page, next, nil
}

// UpdateSession implements [session.Store].
func (s *Store) UpdateSession(ctx context.Context, sessionID string, p session.Patch) (session.Session, error) {
	grow := 0
	if engine.Seen(p) {
		grow = 1
	}
	var found engine.SessionRow
	var known bool
	err := s.write(ctx, "update session "+sessionID, relaxed,
		statement{text: updateSession, args: append(engine.PatchValues(p), sessionID, grow)},
		statement{selectSession, []any{sessionID}, row(&known, found.Dest()...)})
	if err == nil && !known {
		err = fmt.Errorf("postgres: update session %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.Session{}, err
	}
	return found.Session()
}

// SetLifecycle implements [session.Store].
func (s *Store) SetLifecycle(ctx context.Context, sessionID string, l session.Lifecycle) error {
	column, err := engine.Lifecycle(&l)
	if err != nil {
		return fmt.Errorf("postgres: set lifecycle of %s: %w", sessionID, err)
	}
	var n int64
	err = s.write(ctx, "set lifecycle of "+sessionID, relaxed,
		statement{setLifecycle, []any{bind(column), sessionID, time.Now().UnixMicro()}, changed(&n)})
	if err == nil && n == 0 {
		err = fmt.Errorf("postgres: set lifecycle of %s: %w", sessionID, session.ErrNotFound)
	}
	return err
}

// DeleteSession implements [session.Store].
func (s *Store) DeleteSession(ctx context.Context, sessionID string) error {
	id := []any{sessionID}
	var n int64
	err := s.write(ctx, "delete session "+sessionID, relaxed,
		statement{text: "SELECT 1 FROM requests WHERE session_id = $1 ORDER BY request_id FOR UPDATE", args: id},
		statement{text: "SELECT 1 FROM messages WHERE session_id = $1 ORDER BY message_id FOR UPDATE", args: id},
		statement{text: "SELECT 1 FROM processes WHERE session_id = $1 FOR UPDATE", args: id},
		statement{"DELETE FROM sessions WHERE session_id = $1", id, changed(&n)})
	if err == nil && n == 0 {
		err = fmt.Errorf("postgres: delete session %s: %w", sessionID, session.ErrNotFound)
	}
	return err
}

// SaveProcess implements [session.Store].
func (s *Store) SaveProcess(ctx context.Context, p session.ProcessState) (uint64, error) {
	var known bool
	var version int64
	err := s.write(ctx, "save process of "+p.SessionID, relaxed, saving(p.SessionID, p, row(&known, &version)))
	if err == nil && !known {
		err = fmt.Errorf("postgres: save process of %s: %w", p.SessionID, session.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return uint64(version), nil
}

// saving is the step that writes the state of a session's process and returns
// the version.
func saving(sessionID string, p session.ProcessState, read func(pgx.BatchResults) error) statement {
	return statement{saveProcess, append(engine.ProcessValues(p), time.Now().UnixMicro(), sessionID), read}
}

// ProcessState implements [session.Store].
func (s *Store) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	states, err := s.processes(ctx, "process state of "+sessionID, selectProcess, sessionID)
	if err == nil && len(states) == 0 {
		err = fmt.Errorf("postgres: process state of %s: %w", sessionID, session.ErrNotFound)
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
