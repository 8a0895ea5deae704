package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// grantColumns is the select list that [readGrant] scans.
const grantColumns = `grant_id, kind, rule, scope, folder, session_id, process_id, request_id, tool_name,
	by_user_id, by_name, by_device, granted_at, uses, last_used_at, revoked_at, revoked_by`

// NewGrantColumns lists the columns of [GrantValues].
const NewGrantColumns = `grant_id, kind, rule, scope, session_id, process_id, request_id, tool_name, by_user_id, by_name, by_device, granted_at`

// readGrant reads a row of [grantColumns].
func readGrant(row Row) (g pending.Grant, err error) {
	var rule, folder []byte
	var grantedAt, lastUsedAt, revokeAt int64
	err = row.Scan(&g.GrantID, (*string)(&g.Kind), &rule, (*string)(&g.Scope), &folder, &g.SessionID, &g.ProcessID, &g.RequestID,
		&g.ToolName, &g.By.UserID, &g.By.Name, &g.By.Device, &grantedAt, &g.Uses, &lastUsedAt, &revokeAt, &g.RevokedBy)
	g.Rule, g.Folder = string(rule), string(folder)
	g.At, g.LastUsedAt, g.RevokedAt = Time(grantedAt), Time(lastUsedAt), Time(revokeAt)
	return g, err
}

// GrantValues returns the arguments for an insertion of [NewGrantColumns].
func GrantValues(g pending.Grant, bind Bind) []any {
	return []any{g.GrantID, string(g.Kind), bind(exactBytes(g.Rule)), string(g.Scope), g.SessionID, g.ProcessID, g.RequestID, SanitizeText(g.ToolName),
		SanitizeText(g.By.UserID), SanitizeText(g.By.Name), SanitizeText(g.By.Device), Micros(g.At)}
}

// grantLimit returns the maximum number of grants that a query returns.
func grantLimit(q pending.GrantQuery) int {
	if q.Limit == 0 {
		return 1000
	}
	return q.Limit
}

// grantQueryValues returns the arguments of [selectGrants].
func grantQueryValues(q pending.GrantQuery) []any {
	number := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	return []any{q.GrantID, q.RequestID, q.UserID, number(q.All), Micros(q.RevokedSince), number(q.RevokedSince.IsZero()), int64(grantLimit(q))}
}

// grantPlaceValues returns the arguments of [grantPlace].
func grantPlaceValues(g pending.Grant, bind Bind) []any {
	return []any{string(g.Kind), bind(exactBytes(g.Rule)), string(g.Scope), g.SessionID, bind(exactBytes(g.Folder))}
}

// revocation is the audit entry for a revoked grant.
type revocation struct {
	What      string      `json:"what"`
	At        time.Time   `json:"at"`
	By        auditPerson `json:"by"`
	GrantID   string      `json:"grant_id"`
	RequestID string      `json:"request_id,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
	Grant     auditGrant  `json:"grant"`
}

// auditGrant describes a grant in an audit entry.
type auditGrant struct {
	Kind   string `json:"kind"`
	Rule   string `json:"rule"`
	Scope  string `json:"scope"`
	Folder string `json:"folder,omitempty"`
}

func auditGrantOf(g pending.Grant) auditGrant {
	return auditGrant{Kind: string(g.Kind), Rule: SanitizeText(g.Rule), Scope: string(g.Scope), Folder: SanitizeText(g.Folder)}
}

// revocationAudit returns the audit entry for a grant that a person revoked.
func revocationAudit(g pending.Grant, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(revocation{
		What: "revoked", At: Time(Micros(at)), By: auditPersonOf(by), GrantID: g.GrantID, RequestID: g.RequestID, SessionID: g.SessionID, Grant: auditGrantOf(g),
	})
}

// grantPlace selects the grants in force that are equal in effect to another: the same kind, rule
// and scope, and the session or folder to which the scope refers.
const grantPlace = `revoked_at = 0 AND kind = $1 AND rule = $2 AND scope = $3
	AND (scope <> 'session' OR session_id = $4) AND (scope NOT IN ('localSettings', 'projectSettings') OR folder = $5)`

var (
	selectGrants = query("SELECT " + grantColumns + ` FROM grants
		WHERE (CAST($1 AS text) = '' OR grant_id = $1) AND (CAST($2 AS text) = '' OR request_id = $2) AND (CAST($3 AS text) = '' OR by_user_id = $3)
		AND ($4 = 1 OR revoked_at >= $5 AND (revoked_at = 0) = ($6 = 1)) ORDER BY granted_at DESC, grant_id LIMIT $7`)
	useGrant = define(`UPDATE grants SET uses = uses + $1, last_used_at = CASE WHEN last_used_at < $2 THEN $2 ELSE last_used_at END WHERE grant_id = $3`)
	// For a grant found in a settings file, not given in sayso.
	insertFoundGrant = define(insertInto("grants", NewGrantColumns+", folder") + " ON CONFLICT (grant_id) DO UPDATE SET revoked_at = 0")
	revokeGrants     = define("UPDATE grants SET revoked_at = $6, revoked_by = $7 WHERE " + grantPlace).Require(errUnchanged)
)

// Grants implements [pending.GrantStore].
func (s Shared) Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error) {
	return queryAll(ctx, s, "grants", selectGrants, readGrant, grantQueryValues(q)...)
}

// UseGrants implements [pending.GrantStore].
func (s Shared) UseGrants(ctx context.Context, uses []pending.GrantUse) error {
	var steps []Step
	for _, u := range uses {
		steps = append(steps, step(useGrant, int64(u.Uses), Micros(u.LastAt), u.GrantID))
	}
	return s.e.Apply(ctx, Change{What: "use grants", Steps: steps})
}

// RevokeGrant implements [pending.GrantStore].
func (s Shared) RevokeGrant(ctx context.Context, g pending.Grant, by pending.Actor, at time.Time) (int, error) {
	body, err := revocationAudit(g, by, at)
	if err != nil {
		return 0, fmt.Errorf("store: revoke grant %s: %w", g.GrantID, err)
	}
	var steps []Step
	if g.RequestID == "" {
		steps = append(steps, step(insertFoundGrant, append(GrantValues(g, s.e.Bind), s.e.Bind(exactBytes(g.Folder)))...))
	}
	var n int64
	steps = append(steps, Step{revokeGrants, append(grantPlaceValues(g, s.e.Bind), Micros(at), SanitizeText(by.Name)), &n})
	_, err = s.applyIfNeeded(ctx, Change{What: "revoke grant " + g.GrantID, Durability: Durable, Audit: body, Steps: steps})
	return int(n), err
}
