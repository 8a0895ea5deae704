package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

var (
	// The folder is that of the session, which is known while one of its requests
	// is; the answer was written by this transaction, or there is nothing to grant.
	insertGrant = "INSERT INTO grants (" + engine.NewGrantColumns + `, folder)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::bigint, s.cwd FROM sessions s WHERE s.session_id = $13
		AND EXISTS (SELECT 1 FROM requests r WHERE r.request_id = $7 AND r.xmin = pg_current_xact_id()::xid AND r.status = 'answered')
		ON CONFLICT (grant_id) DO NOTHING`
	insertFound = "INSERT INTO grants (" + engine.NewGrantColumns + ", folder) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)" +
		" ON CONFLICT (grant_id) DO UPDATE SET revoked_at = 0"
	selectGrants = "SELECT " + engine.GrantColumns + " FROM grants WHERE " + engine.GrantWhere(func(n int) string {
		cast := "text"
		if n > 6 {
			cast = "bigint"
		}
		return placeholder(n) + "::" + cast
	})
	useGrant     = "UPDATE grants SET uses = uses + $1, last_used_at = greatest(last_used_at, $2) WHERE grant_id = $3"
	revokeGrants = "UPDATE grants SET revoked_at = $6, revoked_by = $7 WHERE " + engine.GrantPlace(func(n int) string { return "$" + strconv.Itoa(n) })
)

// Grants implements [pending.GrantStore].
func (s *Store) Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error) {
	return engine.All(ctx, s.query, "grants", selectGrants, engine.ReadGrant, engine.GrantQueryValues(q)...)
}

// UseGrants implements [pending.GrantStore].
func (s *Store) UseGrants(ctx context.Context, uses []pending.GrantUse) error {
	var steps []statement
	for _, u := range uses {
		steps = append(steps, statement{text: useGrant, args: []any{int64(u.Uses), engine.Micros(u.LastAt), u.GrantID}})
	}
	return s.write(ctx, "use grants", relaxed, steps...)
}

// RevokeGrant implements [pending.GrantStore].
func (s *Store) RevokeGrant(ctx context.Context, g pending.Grant, by pending.Actor, at time.Time) (int, error) {
	body, err := engine.RevokedBody(g, by, at)
	if err != nil {
		return 0, fmt.Errorf("postgres: revoke grant %s: %w", g.GrantID, err)
	}
	steps := []statement{{text: lockAudit}}
	if g.RequestID == "" {
		steps = append(steps, statement{text: insertFound, args: append(engine.GrantValues(g, bind), bind([]byte(g.Folder)))})
	}
	var n int64
	steps = append(steps,
		statement{revokeGrants, append(engine.GrantPlaceValues(g, bind), engine.Micros(at), engine.Shown(by.Name)), changed(&n)},
		statement{text: recordRevoked, args: []any{body, g.GrantID, engine.Micros(at)}})
	if err := s.write(ctx, "revoke grant "+g.GrantID, durable, steps...); err != nil {
		return 0, err
	}
	return int(n), nil
}
