package engine

import (
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Day is the column of a day, in UTC.
func Day(t time.Time) int64 { return t.Unix() / 86400 }

// SpendValues are the arguments of a statement that counts what a session has cost:
// the day, millionths of a dollar, session_id.
func SpendValues(sessionID string, p session.Progress) []any {
	return []any{Day(p.SpentAt), p.Spent, sessionID}
}

// ReadSpending reads a row of in_project, user_id, micros.
func ReadSpending(row Row) (s project.Spending, err error) {
	err = row.Scan(&s.ProjectID, &s.UserID, &s.Micros)
	return s, err
}

// UserLimits is what was scanned from the column body.
func UserLimits(body []byte) (o project.Override, err error) {
	return o, decode("body", body, &o)
}

// UserLimitsBody is the column body, nil for limits that are those of everybody.
func UserLimitsBody(o project.Override) ([]byte, error) {
	return encode(o, o == project.Override{})
}

// LimitsAudit is what goes on record when the limits of a person are changed.
func LimitsAudit(userID, name string, o project.Override, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(struct {
		What   string           `json:"what"`
		At     time.Time        `json:"at"`
		By     auditPerson      `json:"by"`
		UserID string           `json:"user_id"`
		Name   string           `json:"name"`
		After  project.Override `json:"after"`
	}{"limits_changed", Time(Micros(at)), personOf(by), Shown(userID), Shown(name), o})
}
