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
	insertLink   = "INSERT INTO links (issuer, subject, user_id, created_at, by_hand) VALUES (?, ?, ?, ?, ?)"
	selectLinks  = "SELECT issuer, subject, user_id, created_at, by_hand FROM links WHERE user_id = ? ORDER BY created_at, issuer, subject"
	deleteLink   = "DELETE FROM links WHERE user_id = ? AND issuer = ? AND subject = ?"
	endByOIDC    = "UPDATE credentials SET revoked = 1 WHERE user_id = ? AND kind = 'cookie' AND method = 'oidc' AND credential_id <> ?"
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
			_, err = t.exec(ctx, insertLink, l.Issuer, l.Subject, u.UserID, engine.Micros(l.CreatedAt), l.ByHand)
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
		_, err := t.exec(ctx, insertLink, l.Issuer, l.Subject, l.UserID, engine.Micros(l.CreatedAt), l.ByHand)
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
func (s *Store) Links(ctx context.Context, userID string) (list []account.Link, err error) {
	err = s.query(ctx, "links of "+userID, selectLinks, func(rows *sql.Rows) error {
		var l account.Link
		var at int64
		if err := rows.Scan(&l.Issuer, &l.Subject, &l.UserID, &at, &l.ByHand); err != nil {
			return err
		}
		l.CreatedAt = engine.Time(at)
		list = append(list, l)
		return nil
	}, userID)
	return list, err
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
		return t.append(ctx, body)
	})
}

// Linked implements [account.LinkStore].
func (s *Store) Linked(ctx context.Context) (is bool, err error) {
	err = s.query(ctx, "links", anyLink, func(rows *sql.Rows) error { return rows.Scan(&is) })
	return is, err
}
