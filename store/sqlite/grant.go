package sqlite

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

var (
	// The folder is that of the session, which is known while one of its requests is.
	insertGrant = "INSERT INTO grants (" + engine.NewGrantColumns + `, folder)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, s.cwd FROM sessions s WHERE s.session_id = ? ON CONFLICT (grant_id) DO NOTHING`
	insertFound = "INSERT INTO grants (" + engine.NewGrantColumns + ", folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" +
		" ON CONFLICT (grant_id) DO UPDATE SET revoked_at = 0"
	selectGrants = "SELECT " + engine.GrantColumns + " FROM grants WHERE " + engine.GrantWhere(placeholder)
	useGrant     = "UPDATE grants SET uses = uses + ?, last_used_at = max(last_used_at, ?) WHERE grant_id = ?"
	revokeGrants = "UPDATE grants SET revoked_at = ?, revoked_by = ? WHERE " + engine.GrantPlace(placeholder)
)

// grant stores what an answer allows from now on.
func (t tx) grant(ctx context.Context, grants []pending.Grant) error {
	for _, g := range grants {
		if _, err := t.exec(ctx, insertGrant, append(engine.GrantValues(g, bind), g.SessionID)...); err != nil {
			return err
		}
	}
	return nil
}

// Grants implements [pending.GrantStore].
func (s *Store) Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error) {
	return engine.All(ctx, s.query, "grants", selectGrants, engine.ReadGrant, engine.GrantQueryValues(q)...)
}

// UseGrants implements [pending.GrantStore].
func (s *Store) UseGrants(ctx context.Context, uses []pending.GrantUse) error {
	return s.write(ctx, normal, "use grants", func(ctx context.Context, t tx) error {
		for _, u := range uses {
			if _, err := t.exec(ctx, useGrant, u.Uses, engine.Micros(u.LastAt), u.GrantID); err != nil {
				return err
			}
		}
		return nil
	})
}

// RevokeGrant implements [pending.GrantStore].
func (s *Store) RevokeGrant(ctx context.Context, g pending.Grant, by pending.Actor, at time.Time) (n int, err error) {
	body, err := engine.RevokedBody(g, by, at)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, full, "revoke grant "+g.GrantID, func(ctx context.Context, t tx) error {
		if g.RequestID == "" {
			if _, err := t.exec(ctx, insertFound, append(engine.GrantValues(g, bind), bind([]byte(g.Folder)))...); err != nil {
				return err
			}
		}
		revoked, err := t.exec(ctx, revokeGrants, append([]any{engine.Micros(at), engine.Shown(by.Name)}, engine.GrantPlaceValues(g, bind)...)...)
		if err != nil {
			return err
		}
		if n = int(revoked); n == 0 {
			return errNothing
		}
		return t.append(ctx, body)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
