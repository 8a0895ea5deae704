package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	addCredential = define(sqlstore.InsertCredential)
	// addBoundCredential inserts nothing if the parent was revoked.
	addBoundCredential = define("INSERT INTO credentials (" + sqlstore.NewCredentialColumns + `)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18
		WHERE EXISTS (SELECT 1 FROM credentials p WHERE p.credential_id = $14 AND ` + sqlstore.ParentIsLive + ")")
	// lockParents keeps every credential from which one descends from being revoked until that one is
	// stored, so that they are revoked together.
	lockParents = define(`WITH RECURSIVE up AS (
		SELECT credential_id, parent_id FROM credentials WHERE credential_id = $1
		UNION SELECT c.credential_id, c.parent_id FROM credentials c JOIN up ON c.credential_id = up.parent_id)
		SELECT 1 FROM credentials WHERE credential_id IN (SELECT credential_id FROM up) ORDER BY credential_id FOR SHARE`)
	useCredential = define("UPDATE credentials c SET revoked = true, last_used_at = $3 FROM users u WHERE u.user_id = c.user_id AND " + sqlstore.LiveCredential +
		" RETURNING " + sqlstore.CredentialColumns + ", " + sqlstore.UserColumns)
	// firstPasskey repeats the condition of changeUser, under the same lock.
	firstPasskey = define("INSERT INTO passkeys (" + sqlstore.PasskeyColumns + `) SELECT $1, u.user_id, $3, $4, $5, $6, $7, $8, $9, $10 FROM users u
		WHERE u.user_id = $2 AND u.password = '' AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $2)`)
	endForPasskey = define(`UPDATE credentials c SET revoked = true FROM passkeys p WHERE p.passkey_id = $1 AND c.user_id = p.user_id
		AND c.kind IN ('cookie', 'sign_in_link') AND c.credential_id <> $2`)
	// Locks all admins first. If two changes together would leave no admin, the second one therefore
	// sees the first.
	lockAdmins = define("SELECT user_id FROM users WHERE role = 'admin' OR user_id = $1 ORDER BY user_id FOR UPDATE")
	changeUser = define(`UPDATE users u SET name = coalesce($2, u.name), role = coalesce($3, u.role), disabled = coalesce($4, u.disabled),
		password = coalesce($6, u.password), password_by = coalesce($8, u.password_by), password_at = coalesce($9, u.password_at),
		canonical_name = coalesce($10, u.canonical_name)
		WHERE u.user_id = $1 AND ($5::text IS NULL OR u.password = $5)
		AND ($7::boolean IS NOT TRUE OR u.password = '' AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.user_id))
		AND (coalesce($3, u.role) = 'admin' AND NOT coalesce($4, u.disabled) OR u.role <> 'admin' OR u.disabled
			OR EXISTS (SELECT 1 FROM users o WHERE o.role = 'admin' AND NOT o.disabled AND o.user_id <> u.user_id))
		RETURNING ` + sqlstore.UserColumns)
	endSignIns = define(`UPDATE credentials c SET revoked = true FROM users u WHERE u.user_id = $1 AND c.user_id = u.user_id
		AND u.password = $2 AND c.kind IN ('cookie', 'sign_in_link') AND c.credential_id <> $3`)
	endDisabled = define("UPDATE credentials c SET revoked = true FROM users u WHERE u.user_id = $1 AND c.user_id = u.user_id AND u.disabled")
)

// AddCredential implements [account.Store].
func (s *Store) AddCredential(ctx context.Context, c account.Credential) error {
	var added int64
	steps := []step{{addCredential, sqlstore.CredentialValues(c), countRows(&added)}}
	if c.Bound {
		steps = []step{{lockParents, []any{c.ParentID}, nil}, {addBoundCredential, sqlstore.CredentialValues(c), countRows(&added)}}
	}
	err := s.write(ctx, "add credential "+c.CredentialID, steps...)
	switch {
	case err == nil && added == 0:
		err = fmt.Errorf("postgres: add credential %s: parent %s: %w", c.CredentialID, c.ParentID, account.ErrNotFound)
	case violates(err, uniqueRule):
		err = fmt.Errorf("postgres: add credential %s: %w", c.CredentialID, account.ErrExists)
	case violates(err, foreignKeyRule):
		err = fmt.Errorf("postgres: add credential %s: user %s: %w", c.CredentialID, c.UserID, account.ErrNotFound)
	}
	return err
}

// UseOnce implements [account.Store].
func (s *Store) UseOnce(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (account.Credential, account.User, error) {
	var credential sqlstore.CredentialRow
	var user sqlstore.UserRow
	var won bool
	err := s.write(ctx, "use credential",
		step{useCredential, []any{string(kind), hash, now.UnixMicro()}, scanRow(&won, append(credential.Dest(), user.Dest()...)...)})
	if err == nil && !won {
		err = fmt.Errorf("postgres: use credential: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return credential.Credential(), user.User(), nil
}

// ChangeUser implements [account.Store].
func (s *Store) ChangeUser(ctx context.Context, userID string, c account.UserChange) (account.User, error) {
	var from, to, by, canonical *string
	var at *int64
	if c.Password != nil {
		from, to, by = c.Password.From, &c.Password.To, &c.Password.By
		micros := sqlstore.Micros(c.Password.At)
		at = &micros
	}
	name := c.Name
	if name != nil {
		shown, form := sqlstore.SanitizeText(*name), account.CanonicalName(*name)
		name, canonical = &shown, &form
	}
	var changedRow sqlstore.UserRow
	var done bool
	steps := []step{
		{Statement: lockAdmins, args: []any{userID}},
		{changeUser, []any{userID, name, (*string)(c.Role), c.Disabled, from, to, c.Unclaimed, by, at, canonical}, scanRow(&done, changedRow.Dest()...)},
	}
	if c.Password != nil {
		// The hash has a new salt, so the statement matches only if the change above was made.
		steps = append(steps, step{Statement: endSignIns, args: []any{userID, c.Password.To, c.Password.KeepCredentialID}})
	}
	if p := c.Passkey; p != nil {
		steps = append(steps, step{Statement: firstPasskey, args: sqlstore.PasskeyValues(p.Passkey)},
			step{Statement: endForPasskey, args: []any{p.PasskeyID, p.KeepCredentialID}})
	}
	if c.Disabled != nil && *c.Disabled {
		steps = append(steps, step{Statement: endDisabled, args: []any{userID}})
	}
	steps = append(steps, step{Statement: sqlstore.RevokeBound})
	err := s.write(ctx, "change user "+userID, steps...)
	switch {
	case violates(err, uniqueRule):
		return account.User{}, fmt.Errorf("postgres: change user %s: %w", userID, account.ErrExists)
	case err != nil:
		return account.User{}, err
	case done:
		return changedRow.User(), nil
	}
	password, err := s.Password(ctx, userID)
	if err != nil {
		return account.User{}, err
	}
	if c.Unclaimed || from != nil && *from != password {
		return account.User{}, fmt.Errorf("postgres: change user %s: %w", userID, account.ErrChanged)
	}
	return account.User{}, fmt.Errorf("postgres: change user %s: %w", userID, account.ErrLastAdmin)
}
