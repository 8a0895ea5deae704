package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// grantColumns is the select list of [readGrant].
const grantColumns = `grant_id, kind, rule, scope, folder, session_id, process_id, request_id, tool_name,
	by_user_id, by_name, by_device, granted_at, uses, last_used_at, revoked_at, revoked_by`

// NewGrantColumns are those of [GrantValues].
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

// GrantValues are the arguments of an insertion of [NewGrantColumns].
func GrantValues(g pending.Grant, bind Bind) []any {
	return []any{g.GrantID, string(g.Kind), bind(exact(g.Rule)), string(g.Scope), g.SessionID, g.ProcessID, g.RequestID, SanitizeText(g.ToolName),
		SanitizeText(g.By.UserID), SanitizeText(g.By.Name), SanitizeText(g.By.Device), Micros(g.At)}
}

// grantLimit is how many grants a query returns.
func grantLimit(q pending.GrantQuery) int {
	if q.Limit == 0 {
		return 1000
	}
	return q.Limit
}

// grantQueryValues are the arguments of [selectGrants].
func grantQueryValues(q pending.GrantQuery) []any {
	number := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	return []any{q.GrantID, q.RequestID, q.UserID, number(q.All), Micros(q.RevokedSince), number(q.RevokedSince.IsZero()), int64(grantLimit(q))}
}

// grantPlaceValues are the arguments of [grantPlace].
func grantPlaceValues(g pending.Grant, bind Bind) []any {
	return []any{string(g.Kind), bind(exact(g.Rule)), string(g.Scope), g.SessionID, bind(exact(g.Folder))}
}

// revocation is an entry of the audit trail about a grant that was taken back.
type revocation struct {
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
	return auditGrant{Kind: string(g.Kind), Rule: SanitizeText(g.Rule), Scope: string(g.Scope), Folder: SanitizeText(g.Folder)}
}

// revokedBody is what goes on record of a grant that a person took back.
func revokedBody(g pending.Grant, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(revocation{
		What: "revoked", At: Time(Micros(at)), By: personOf(by), GrantID: g.GrantID, RequestID: g.RequestID, SessionID: g.SessionID, Grant: grantOf(g),
	})
}

// grantPlace selects the grants that are in force and mean the same as another:
// kind, rule, scope, and the session or the folder that its scope is about.
const grantPlace = `revoked_at = 0 AND kind = $1 AND rule = $2 AND scope = $3
	AND (scope <> 'session' OR session_id = $4) AND (scope NOT IN ('localSettings', 'projectSettings') OR folder = $5)`

var (
	selectGrants = query("SELECT " + grantColumns + ` FROM grants
		WHERE (CAST($1 AS text) = '' OR grant_id = $1) AND (CAST($2 AS text) = '' OR request_id = $2) AND (CAST($3 AS text) = '' OR by_user_id = $3)
		AND ($4 = 1 OR revoked_at >= $5 AND (revoked_at = 0) = ($6 = 1)) ORDER BY granted_at DESC, grant_id LIMIT $7`)
	useGrant = define(`UPDATE grants SET uses = uses + $1, last_used_at = CASE WHEN last_used_at < $2 THEN $2 ELSE last_used_at END WHERE grant_id = $3`)
	// A grant that was found in a settings file, and not given here.
	insertFoundGrant = define(insert("grants", NewGrantColumns+", folder") + " ON CONFLICT (grant_id) DO UPDATE SET revoked_at = 0")
	revokeGrants     = define("UPDATE grants SET revoked_at = $6, revoked_by = $7 WHERE " + grantPlace).Require(errUnchanged)
)

// Grants implements [pending.GrantStore].
func (s Shared) Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error) {
	return all(ctx, s, "grants", selectGrants, readGrant, grantQueryValues(q)...)
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
	body, err := revokedBody(g, by, at)
	if err != nil {
		return 0, fmt.Errorf("store: revoke grant %s: %w", g.GrantID, err)
	}
	var steps []Step
	if g.RequestID == "" {
		steps = append(steps, step(insertFoundGrant, append(GrantValues(g, s.e.Bind), s.e.Bind(exact(g.Folder)))...))
	}
	var n int64
	steps = append(steps, Step{revokeGrants, append(grantPlaceValues(g, s.e.Bind), Micros(at), SanitizeText(by.Name)), &n})
	_, err = s.changes(ctx, Change{What: "revoke grant " + g.GrantID, Durability: Durable, Audit: body, Steps: steps})
	return int(n), err
}
