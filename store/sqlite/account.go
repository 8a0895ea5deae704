package sqlite

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	insertCredential = define(sqlstore.InsertCredential)
	parentIsLive     = define("SELECT 1 FROM credentials p WHERE p.credential_id = ? AND " + sqlstore.ParentIsLive)
	useCredential    = define("UPDATE credentials SET revoked = 1, last_used_at = ? WHERE credential_id = ?")
	changeUser       = define(`UPDATE users SET name = ?, role = ?, disabled = ?, password = ?, password_by = ?, password_at = ?,
		canonical_name = CASE WHEN ? THEN ? ELSE canonical_name END WHERE user_id = ?`)
	countPasskeys  = define("SELECT count(*) FROM passkeys WHERE user_id = ?")
	endCredentials = define("UPDATE credentials SET revoked = 1 WHERE user_id = ?")
	endSignIns     = define("UPDATE credentials SET revoked = 1 WHERE user_id = ? AND kind IN ('cookie', 'sign_in_link') AND credential_id <> ?")
	otherAdmins    = define("SELECT count(*) FROM users WHERE role = 'admin' AND NOT disabled AND user_id <> ?")
)

// AddCredential implements [account.Store].
func (s *Store) AddCredential(ctx context.Context, c account.Credential) error {
	return s.write(ctx, sqlstore.Durable, "add credential "+c.CredentialID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, insertCredential, sqlstore.CredentialValues(c)...)
		switch {
		case err == nil && c.Bound:
			return checkParent(ctx, t, c)
		case isUniqueViolation(err):
			return account.ErrExists
		case isForeignKeyViolation(err):
			return account.ErrNotFound
		}
		return err
	})
}

// checkParent returns [account.ErrNotFound] if the parent of a bound credential was revoked.
func checkParent(ctx context.Context, t tx, c account.Credential) error {
	var one int
	err := t.queryRow(ctx, []any{&one}, parentIsLive, c.ParentID)
	return replaceNoRows(err, account.ErrNotFound)
}

// UseOnce implements [account.Store].
func (s *Store) UseOnce(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (c account.Credential, u account.User, err error) {
	err = s.write(ctx, sqlstore.Durable, "use credential", func(ctx context.Context, t tx) error {
		var credential sqlstore.CredentialRow
		var user sqlstore.UserRow
		micros := now.UnixMicro()
		if err := t.queryRow(ctx, append(credential.Dest(), user.Dest()...), sqlstore.SelectCredential.Statement, string(kind), hash, micros); err != nil {
			return replaceNoRows(err, account.ErrNotFound)
		}
		c, u = credential.Credential(), user.User()
		c.Revoked, c.LastUsedAt = true, sqlstore.Time(micros)
		_, err := t.exec(ctx, useCredential, micros, c.CredentialID)
		return err
	})
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return c, u, nil
}

// ChangeUser implements [account.Store].
func (s *Store) ChangeUser(ctx context.Context, userID string, c account.UserChange) (u account.User, err error) {
	err = s.write(ctx, sqlstore.Durable, "change user "+userID, func(ctx context.Context, t tx) error {
		var row sqlstore.UserRow
		if err := t.queryRow(ctx, row.Dest(), sqlstore.SelectUser.Statement, userID); err != nil {
			return replaceNoRows(err, account.ErrNotFound)
		}
		var password string
		if err := t.queryRow(ctx, []any{&password}, sqlstore.SelectPassword.Statement, userID); err != nil {
			return err
		}
		u = row.User()
		next := sqlstore.ApplyUserChange(u, c)
		if sqlstore.LosesAdmin(u, next) {
			var others int
			if err := t.queryRow(ctx, []any{&others}, otherAdmins, userID); err != nil {
				return err
			}
			if others == 0 {
				return account.ErrLastAdmin
			}
		}
		if c.Unclaimed {
			var passkeys int
			if err := t.queryRow(ctx, []any{&passkeys}, countPasskeys, userID); err != nil {
				return err
			}
			if password != "" || passkeys > 0 {
				return account.ErrChanged
			}
		}
		if p := c.Password; p != nil {
			if p.From != nil && *p.From != password {
				return account.ErrChanged
			}
			password = p.To
			if _, err := t.exec(ctx, endSignIns, userID, p.KeepCredentialID); err != nil {
				return err
			}
		}
		if p := c.Passkey; p != nil {
			_, err := t.exec(ctx, sqlstore.InsertPasskey, sqlstore.PasskeyValues(p.Passkey)...)
			if isUniqueViolation(err) {
				return account.ErrExists
			}
			if err != nil {
				return err
			}
			if _, err := t.exec(ctx, endSignIns, userID, p.KeepCredentialID); err != nil {
				return err
			}
		}
		if next.Disabled && !u.Disabled {
			if _, err := t.exec(ctx, endCredentials, userID); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, sqlstore.RevokeBound); err != nil {
			return err
		}
		_, err := t.exec(ctx, changeUser,
			sqlstore.SanitizeText(next.Name), string(next.Role), next.Disabled, password, next.PasswordBy, sqlstore.Micros(next.PasswordAt),
			c.Name != nil, account.CanonicalName(next.Name), userID)
		if isUniqueViolation(err) {
			return account.ErrExists
		}
		u = next
		return err
	})
	if err != nil {
		return account.User{}, err
	}
	return u, nil
}
