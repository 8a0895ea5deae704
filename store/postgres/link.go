package postgres

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectLinked = "SELECT " + engine.UserColumns + " FROM links l JOIN users u ON u.user_id = l.user_id WHERE l.issuer = $1 AND l.subject = $2"
	addUser      = "INSERT INTO users (user_id, name, role, created_at, disabled, created_by, canonical_name) VALUES ($1, $2, $3, $4, $5, $6, $7)"
	addLink      = "INSERT INTO links (" + engine.LinkColumns + ") VALUES ($1, $2, $3, $4, $5, $6)"
	selectLinks  = "SELECT " + engine.LinkColumns + " FROM links WHERE user_id = $1 ORDER BY created_at, issuer, subject"
	recordUnlink = appendAudit + "(SELECT 1 FROM links WHERE user_id = $2 AND issuer = $3 AND subject = $4)"
	removeLink   = `WITH gone AS (DELETE FROM links WHERE user_id = $1 AND issuer = $2 AND subject = $3 RETURNING user_id),
		ended AS (UPDATE credentials c SET revoked = true FROM gone g
			WHERE c.user_id = g.user_id AND c.method = 'oidc' AND c.kind = 'cookie' AND c.credential_id <> $4)
		SELECT true FROM gone`
	anyLink = "SELECT EXISTS (SELECT 1 FROM links)"
)

// LinkedUser implements [account.LinkStore].
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (account.User, error) {
	return engine.One(ctx, s.query, "linked user", selectLinked, account.ErrNotFound, engine.ReadUser, issuer, subject)
}

// AddLinkedUser implements [account.LinkStore].
func (s *Store) AddLinkedUser(ctx context.Context, u account.User, l account.Link) error {
	l.UserID = u.UserID
	err := s.write(ctx, "add linked user "+u.UserID, durable,
		statement{text: addUser, args: engine.UserValues(u)},
		statement{text: addLink, args: engine.LinkValues(l)})
	if violates(err, uniqueRule) {
		err = fmt.Errorf("postgres: add linked user %s: %w", u.UserID, account.ErrExists)
	}
	return err
}

// AddLink implements [account.LinkStore].
func (s *Store) AddLink(ctx context.Context, l account.Link, body []byte) error {
	err := s.write(ctx, "link "+l.UserID, durable, statement{text: lockAudit},
		statement{text: addLink, args: engine.LinkValues(l)},
		statement{text: insertIncident, args: []any{body}})
	switch {
	case violates(err, uniqueRule):
		err = fmt.Errorf("postgres: link %s: %w", l.UserID, account.ErrExists)
	case violates(err, foreignKeyRule):
		err = fmt.Errorf("postgres: link %s: %w", l.UserID, account.ErrNotFound)
	}
	return err
}

// Links implements [account.LinkStore].
func (s *Store) Links(ctx context.Context, userID string) ([]account.Link, error) {
	return engine.All(ctx, s.query, "links of "+userID, selectLinks, engine.ReadLink, userID)
}

// RemoveLink implements [account.LinkStore].
func (s *Store) RemoveLink(ctx context.Context, l account.Link, keep string, body []byte) error {
	var gone, is bool
	err := s.write(ctx, "unlink "+l.UserID, durable, statement{text: lockAudit},
		statement{text: recordUnlink, args: []any{body, l.UserID, l.Issuer, l.Subject}},
		statement{removeLink, []any{l.UserID, l.Issuer, l.Subject, keep}, row(&gone, &is)}, statement{text: engine.EndBound})
	if err == nil && !gone {
		err = fmt.Errorf("postgres: unlink %s: %w", l.UserID, account.ErrNotFound)
	}
	return err
}

// Linked implements [account.LinkStore].
func (s *Store) Linked(ctx context.Context) (bool, error) {
	return engine.One(ctx, s.query, "links", anyLink, account.ErrNotFound, engine.Value[bool])
}
