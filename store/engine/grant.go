package engine

import (
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// GrantColumns is the select list of [ReadGrant].
const GrantColumns = `grant_id, kind, rule, scope, folder, session_id, process_id, request_id, tool_name,
	by_user_id, by_name, by_device, granted_at, uses, last_used_at, revoked_at, revoked_by`

// NewGrantColumns are those of [GrantValues].
const NewGrantColumns = `grant_id, kind, rule, scope, session_id, process_id, request_id, tool_name, by_user_id, by_name, by_device, granted_at`

// ReadGrant reads a row of [GrantColumns].
func ReadGrant(row Row) (g pending.Grant, err error) {
	var rule, folder []byte
	var grantedAt, lastUsedAt, revokeAt int64
	err = row.Scan(&g.GrantID, (*string)(&g.Kind), &rule, (*string)(&g.Scope), &folder, &g.SessionID, &g.ProcessID, &g.RequestID,
		&g.ToolName, &g.By.UserID, &g.By.Name, &g.By.Device, &grantedAt, &g.Uses, &lastUsedAt, &revokeAt, &g.RevokedBy)
	g.Rule, g.Folder = string(rule), string(folder)
	g.At, g.LastUsedAt, g.RevokedAt = Time(grantedAt), Time(lastUsedAt), Time(revokeAt)
	return g, err
}

// GrantValues are the arguments of an insertion of [NewGrantColumns].
func GrantValues(g pending.Grant, bind Bind) []any {
	return []any{g.GrantID, string(g.Kind), bind(exact(g.Rule)), string(g.Scope), g.SessionID, g.ProcessID, g.RequestID, Shown(g.ToolName),
		Shown(g.By.UserID), Shown(g.By.Name), Shown(g.By.Device), Micros(g.At)}
}

// GrantLimit is how many grants a query returns.
func GrantLimit(q pending.GrantQuery) int {
	if q.Limit == 0 {
		return 1000
	}
	return q.Limit
}

// GrantWhere selects the grants of a query by its [GrantQueryValues], and orders
// them.
func GrantWhere(placeholder func(int) string) string {
	return "(" + placeholder(1) + " = '' OR grant_id = " + placeholder(2) + ") AND (" + placeholder(3) + " = '' OR request_id = " + placeholder(4) +
		") AND (" + placeholder(5) + " = '' OR by_user_id = " + placeholder(6) + ") AND (" + placeholder(7) + " = 1 OR revoked_at >= " + placeholder(8) +
		" AND (revoked_at = 0) = (" + placeholder(9) + " = 1)) ORDER BY granted_at DESC, grant_id LIMIT " + placeholder(10)
}

// GrantQueryValues are the arguments of [GrantWhere].
func GrantQueryValues(q pending.GrantQuery) []any {
	number := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	return []any{q.GrantID, q.GrantID, q.RequestID, q.RequestID, q.UserID, q.UserID,
		number(q.All), Micros(q.RevokedSince), number(q.RevokedSince.IsZero()), int64(GrantLimit(q))}
}

// GrantPlace selects the grants that are in force and mean the same as another:
// kind, rule, scope, and the session or the folder that its scope is about.
func GrantPlace(placeholder func(int) string) string {
	return "revoked_at = 0 AND kind = " + placeholder(1) + " AND rule = " + placeholder(2) + " AND scope = " + placeholder(3) +
		" AND (scope <> 'session' OR session_id = " + placeholder(4) + ") AND (scope NOT IN ('localSettings', 'projectSettings') OR folder = " + placeholder(5) + ")"
}

// GrantPlaceValues are the arguments of [GrantPlace].
func GrantPlaceValues(g pending.Grant, bind Bind) []any {
	return []any{string(g.Kind), bind(exact(g.Rule)), string(g.Scope), g.SessionID, bind(exact(g.Folder))}
}

// revokedBody is an entry of the audit trail about a grant that was taken back.
type revokedBody struct {
	What      string      `json:"what"`
	At        time.Time   `json:"at"`
	By        auditPerson `json:"by"`
	GrantID   string      `json:"grant_id"`
	RequestID string      `json:"request_id,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
	Grant     auditGrant  `json:"grant"`
}

// auditGrant is a grant as the audit trail names it.
type auditGrant struct {
	Kind   string `json:"kind"`
	Rule   string `json:"rule"`
	Scope  string `json:"scope"`
	Folder string `json:"folder,omitempty"`
}

func grantOf(g pending.Grant) auditGrant {
	return auditGrant{Kind: string(g.Kind), Rule: Shown(g.Rule), Scope: string(g.Scope), Folder: Shown(g.Folder)}
}

// RevokedBody is what goes on record of a grant that a person took back.
func RevokedBody(g pending.Grant, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(revokedBody{
		What: "revoked", At: Time(Micros(at)), By: personOf(by), GrantID: g.GrantID, RequestID: g.RequestID, SessionID: g.SessionID, Grant: grantOf(g),
	})
}
