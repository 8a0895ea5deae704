package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectLinked = "SELECT " + engine.UserColumns + " FROM links l JOIN users u ON u.user_id = l.user_id WHERE l.issuer = ? AND l.subject = ?"
	anyLink      = "SELECT EXISTS (SELECT 1 FROM links)"
	insertLink   = "INSERT INTO links (" + engine.LinkColumns + ") VALUES (?, ?, ?, ?, ?, ?)"
	selectLinks  = "SELECT " + engine.LinkColumns + " FROM links WHERE user_id = ? ORDER BY created_at, issuer, subject"
	deleteLink   = "DELETE FROM links WHERE user_id = ? AND issuer = ? AND subject = ?"
	endByOIDC    = "UPDATE credentials SET revoked = 1 WHERE user_id = ? AND kind = 'cookie' AND method = 'oidc' AND credential_id <> ?"
)

// LinkedUser implements [account.LinkStore].
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (account.User, error) {
	return engine.One(ctx, s.query, "linked user", selectLinked, account.ErrNotFound, engine.ReadUser, issuer, subject)
}

// AddLinkedUser implements [account.LinkStore].
func (s *Store) AddLinkedUser(ctx context.Context, u account.User, l account.Link) error {
	return s.write(ctx, full, "add linked user "+u.UserID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, "INSERT INTO users (user_id, name, role, created_at, disabled, created_by, canonical_name) VALUES (?, ?, ?, ?, ?, ?, ?)", engine.UserValues(u)...)
		if err == nil {
			l.UserID = u.UserID
			_, err = t.exec(ctx, insertLink, engine.LinkValues(l)...)
		}
		if unique(err) {
			return account.ErrExists
		}
		return err
	})
}

// AddLink implements [account.LinkStore].
func (s *Store) AddLink(ctx context.Context, l account.Link, body []byte) error {
	return s.write(ctx, full, "link "+l.UserID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, insertLink, engine.LinkValues(l)...)
		switch {
		case unique(err):
			return account.ErrExists
		case orphan(err):
			return account.ErrNotFound
		case err != nil:
			return err
		}
		return t.append(ctx, body)
	})
}

// Links implements [account.LinkStore].
func (s *Store) Links(ctx context.Context, userID string) ([]account.Link, error) {
	return engine.All(ctx, s.query, "links of "+userID, selectLinks, engine.ReadLink, userID)
}

// RemoveLink implements [account.LinkStore].
func (s *Store) RemoveLink(ctx context.Context, l account.Link, keep string, body []byte) error {
	return s.write(ctx, full, "unlink "+l.UserID, func(ctx context.Context, t tx) error {
		if err := found(t.exec(ctx, deleteLink, l.UserID, l.Issuer, l.Subject)); err != nil {
			return err
		}
		if _, err := t.exec(ctx, endByOIDC, l.UserID, keep); err != nil {
			return err
		}
		if _, err := t.exec(ctx, engine.EndBound); err != nil {
			return err
		}
		return t.append(ctx, body)
	})
}

// Linked implements [account.LinkStore].
func (s *Store) Linked(ctx context.Context) (bool, error) {
	return engine.One(ctx, s.query, "links", anyLink, account.ErrNotFound, engine.Value[bool])
}
