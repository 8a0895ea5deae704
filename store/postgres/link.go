package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectLinked = "SELECT " + engine.UserColumns + " FROM links l JOIN users u ON u.user_id = l.user_id WHERE l.issuer = $1 AND l.subject = $2"
	addUser      = "INSERT INTO users (user_id, name, role, created_at, disabled) VALUES ($1, $2, $3, $4, $5)"
	addLink      = "INSERT INTO links (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)"
	anyLink      = "SELECT EXISTS (SELECT 1 FROM links)"
)

// LinkedUser implements [account.LinkStore].
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (account.User, error) {
	list, err := s.users(ctx, "linked user", selectLinked, issuer, subject)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("postgres: linked user: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.User{}, err
	}
	return list[0], nil
}

// AddLinkedUser implements [account.LinkStore].
func (s *Store) AddLinkedUser(ctx context.Context, u account.User, l account.Link) error {
	err := s.write(ctx, "add linked user "+u.UserID, durable,
		statement{text: addUser, args: engine.UserValues(u)},
		statement{text: addLink, args: []any{l.Issuer, l.Subject, u.UserID, engine.Micros(l.CreatedAt)}})
	if violates(err, uniqueRule) {
		err = fmt.Errorf("postgres: add linked user %s: %w", u.UserID, account.ErrExists)
	}
	return err
}

// Linked implements [account.LinkStore].
func (s *Store) Linked(ctx context.Context) (is bool, err error) {
	err = s.query(ctx, "links", anyLink, func(rows pgx.Rows) error { return rows.Scan(&is) })
	return is, err
}
