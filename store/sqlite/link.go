package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectLinked = "SELECT " + engine.UserColumns + " FROM links l JOIN users u ON u.user_id = l.user_id WHERE l.issuer = ? AND l.subject = ?"
	anyLink      = "SELECT EXISTS (SELECT 1 FROM links)"
)

// LinkedUser implements [account.LinkStore].
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (account.User, error) {
	list, err := s.users(ctx, "linked user", selectLinked, issuer, subject)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("sqlite: linked user: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.User{}, err
	}
	return list[0], nil
}

// AddLinkedUser implements [account.LinkStore].
func (s *Store) AddLinkedUser(ctx context.Context, u account.User, l account.Link) error {
	return s.write(ctx, full, "add linked user "+u.UserID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, "INSERT INTO users (user_id, name, role, created_at, disabled) VALUES (?, ?, ?, ?, ?)", engine.UserValues(u)...)
		if err == nil {
			_, err = t.exec(ctx, "INSERT INTO links (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)", l.Issuer, l.Subject, u.UserID, engine.Micros(l.CreatedAt))
		}
		if unique(err) {
			return account.ErrExists
		}
		return err
	})
}

// Linked implements [account.LinkStore].
func (s *Store) Linked(ctx context.Context) (is bool, err error) {
	err = s.query(ctx, "links", anyLink, func(rows *sql.Rows) error { return rows.Scan(&is) })
	return is, err
}
