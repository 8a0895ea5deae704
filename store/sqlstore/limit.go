package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// day returns the column day: days since 1970, in UTC.
func day(t time.Time) int64 { return t.Unix() / 86400 }

// SpendValues returns the arguments of [Spend]: the day, millionths of a dollar, session_id.
func SpendValues(sessionID string, p session.Progress) []any {
	return []any{day(p.SpentAt), p.Spent, sessionID}
}

// readSpending reads a row of in_project, user_id, micros.
func readSpending(row Row) (s project.Spending, err error) {
	err = row.Scan(&s.ProjectID, &s.UserID, &s.Micros)
	return s, err
}

// readLimits decodes the column body.
func readLimits(body []byte) (o project.Override, err error) {
	return o, decodeJSON("body", body, &o)
}

// userLimitsBody returns the column body, nil if the person has no limits of their own.
func userLimitsBody(o project.Override) ([]byte, error) {
	return encodeJSON(o, o == project.Override{})
}

// limitsAudit returns the audit entry for changed limits of a person.
func limitsAudit(userID, name string, o project.Override, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(struct {
		What   string           `json:"what"`
		At     time.Time        `json:"at"`
		By     auditPerson      `json:"by"`
		UserID string           `json:"user_id"`
		Name   string           `json:"name"`
		After  project.Override `json:"after"`
	}{"limits_changed", Time(Micros(at)), auditPersonOf(by), SanitizeText(userID), SanitizeText(name), o})
}

var (
	// Spend adds to the cost of a session.
	Spend = define(`INSERT INTO spending (day, in_project, user_id, micros) SELECT $1, in_project, owner_id, $2 FROM sessions WHERE session_id = $3
		ON CONFLICT (day, in_project, user_id) DO UPDATE SET micros = spending.micros + excluded.micros`)
	selectSpending = queryBoth("SELECT in_project, user_id, micros FROM spending WHERE day = $1 ORDER BY in_project, user_id",
		`SELECT in_project, user_id, micros FROM spending WHERE day = $1 ORDER BY in_project COLLATE "C", user_id COLLATE "C"`)
	// In PostgreSQL, the sum of bigint values is numeric, hence the casts.
	selectCostDays = query(`SELECT day, CAST(SUM(CASE WHEN user_id = $2 THEN micros ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN in_project = $3 THEN micros ELSE 0 END) AS BIGINT)
		FROM spending WHERE day >= $1 AND (user_id = $2 OR in_project = $3) GROUP BY day ORDER BY day`)
	selectUserLimits = query("SELECT user_id, body FROM user_limits")
	putUserLimits    = define(insertInto("user_limits", "user_id, body") + " ON CONFLICT (user_id) DO UPDATE SET body = excluded.body")
	dropUserLimits   = define("DELETE FROM user_limits WHERE user_id = $1")
)

// Spending implements [project.Ledger].
func (s Shared) Spending(ctx context.Context, at time.Time) ([]project.Spending, error) {
	return queryAll(ctx, s, "spending", selectSpending, readSpending, day(at))
}

// CostDays implements [project.Ledger].
func (s Shared) CostDays(ctx context.Context, since time.Time, userID, projectID string) ([]project.DayCost, error) {
	return queryAll(ctx, s, "costs of days", selectCostDays, func(row Row) (c project.DayCost, err error) {
		var d int64
		err = row.Scan(&d, &c.Person, &c.Project)
		c.Day = time.Unix(d*86400, 0).UTC()
		return c, err
	}, day(since), userID, projectID)
}

// UserLimits implements [project.Ledger].
func (s Shared) UserLimits(ctx context.Context) (map[string]project.Override, error) {
	limits := map[string]project.Override{}
	err := s.e.Query(ctx, "limits of people", selectUserLimits, func(row Row) error {
		var userID string
		var body []byte
		err := row.Scan(&userID, &body)
		if err == nil {
			limits[userID], err = readLimits(body)
		}
		return err
	})
	return limits, err
}

// SetUserLimits implements [project.Ledger].
func (s Shared) SetUserLimits(ctx context.Context, userID, name string, o project.Override, by pending.Actor) error {
	what := "limits of " + userID
	body, err := userLimitsBody(o)
	if err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	entry, err := limitsAudit(userID, name, o, by, time.Now())
	if err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	change := step(dropUserLimits, userID)
	if body != nil {
		change = step(putUserLimits, userID, s.e.Bind(body))
	}
	return s.e.Apply(ctx, Change{What: what, Durability: Durable, Audit: entry, Steps: []Step{change}})
}
