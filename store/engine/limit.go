package engine

import (
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
)

// Day is the column of a day, in UTC.
func Day(t time.Time) int64 { return t.Unix() / 86400 }

// SpendValues are the arguments of a statement that counts what a session has cost:
// the day, millionths of a dollar, session_id.
func SpendValues(sessionID string, p session.Progress) []any {
	return []any{Day(p.SpentAt), p.Spent, sessionID}
}

// SpendingTableRow takes one row of in_project, user_id, micros.
type SpendingTableRow struct{ s project.Spending }

// Dest is what to scan into.
func (x *SpendingTableRow) Dest() []any { return []any{&x.s.ProjectID, &x.s.UserID, &x.s.Micros} }

// Spending is the row that was scanned.
func (x *SpendingTableRow) Spending() project.Spending { return x.s }

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
