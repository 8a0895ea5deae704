package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	spend = `INSERT INTO spending (day, in_project, user_id, micros) SELECT ?, in_project, owner_id, ? FROM sessions WHERE session_id = ?
		ON CONFLICT (day, in_project, user_id) DO UPDATE SET micros = micros + excluded.micros`
	selectSpending   = "SELECT in_project, user_id, micros FROM spending WHERE day = ? ORDER BY in_project, user_id"
	selectUserLimits = "SELECT user_id, body FROM user_limits"
)

// spend counts what a session has cost.
func (t tx) spend(ctx context.Context, sessionID string, p session.Progress) error {
	n, err := t.exec(ctx, spend, engine.SpendValues(sessionID, p)...)
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	return err
}

// Spending implements [project.Ledger].
func (s *Store) Spending(ctx context.Context, day time.Time) ([]project.Spending, error) {
	return engine.All(ctx, s.query, "spending", selectSpending, engine.ReadSpending, engine.Day(day))
}

// UserLimits implements [project.Ledger].
func (s *Store) UserLimits(ctx context.Context) (map[string]project.Override, error) {
	all := map[string]project.Override{}
	err := s.query(ctx, "limits of people", selectUserLimits, func(rows engine.Row) error {
		var userID string
		var body []byte
		err := rows.Scan(&userID, &body)
		if err == nil {
			all[userID], err = engine.UserLimits(body)
		}
		return err
	})
	return all, err
}

// SetUserLimits implements [project.Ledger].
func (s *Store) SetUserLimits(ctx context.Context, userID, name string, o project.Override, by pending.Actor) error {
	what := "limits of " + userID
	body, err := engine.UserLimitsBody(o)
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", what, err)
	}
	return s.write(ctx, full, what, func(ctx context.Context, t tx) (err error) {
		if body == nil {
			_, err = t.exec(ctx, "DELETE FROM user_limits WHERE user_id = ?", userID)
		} else {
			_, err = t.exec(ctx, "INSERT INTO user_limits (user_id, body) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET body = excluded.body", userID, string(body))
		}
		if err != nil {
			return err
		}
		entry, err := engine.LimitsAudit(userID, name, o, by, t.now)
		if err != nil {
			return err
		}
		return t.append(ctx, entry)
	})
}
