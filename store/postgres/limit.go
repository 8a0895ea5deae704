package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	spend = `INSERT INTO spending (day, in_project, user_id, micros) SELECT $1, in_project, owner_id, $2 FROM sessions WHERE session_id = $3
		ON CONFLICT (day, in_project, user_id) DO UPDATE SET micros = spending.micros + excluded.micros`
	selectSpending   = `SELECT in_project, user_id, micros FROM spending WHERE day = $1 ORDER BY in_project COLLATE "C", user_id COLLATE "C"`
	selectUserLimits = "SELECT user_id, body FROM user_limits"
	putUserLimits    = "INSERT INTO user_limits (user_id, body) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET body = excluded.body"
	dropUserLimits   = "DELETE FROM user_limits WHERE user_id = $1"
)

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
		return fmt.Errorf("postgres: %s: %w", what, err)
	}
	entry, err := engine.LimitsAudit(userID, name, o, by, time.Now())
	if err != nil {
		return fmt.Errorf("postgres: %s: %w", what, err)
	}
	change := statement{text: putUserLimits, args: []any{userID, body}}
	if body == nil {
		change = statement{text: dropUserLimits, args: []any{userID}}
	}
	return s.write(ctx, what, durable, statement{text: lockAudit}, change, statement{text: insertIncident, args: []any{entry}})
}
