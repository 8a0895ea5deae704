package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	putUser = `INSERT INTO users (user_id, name, role, created_at, disabled, created_by, canonical_name) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (user_id)
		DO UPDATE SET name = excluded.name, role = excluded.role, created_at = excluded.created_at, disabled = excluded.disabled,
		created_by = excluded.created_by, canonical_name = excluded.canonical_name`
	addCredential = `INSERT INTO credentials (credential_id, kind, user_id, name, hash, created_at, expires_at,
		last_used_at, revoked, role, address, method, method_id, parent_id, created_by, bound, bound_until, page_key)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18
		WHERE NOT $16 OR EXISTS (SELECT 1 FROM credentials p WHERE p.credential_id = $14 AND ` + engine.ParentLives + `)`
	// lockParents keeps a parent from ending until its child is there to end with it.
	lockParents          = "SELECT 1 FROM credentials WHERE credential_id = $1 OR credential_id = (SELECT parent_id FROM credentials WHERE credential_id = $1) FOR SHARE"
	live                 = "c.kind = $1 AND c.hash = $2 AND NOT c.revoked AND NOT u.disabled AND (c.expires_at = 0 OR c.expires_at > $3)"
	selectUser           = "SELECT " + engine.UserColumns + " FROM users u WHERE u.user_id = $1"
	selectUsers          = "SELECT " + engine.UserColumns + " FROM users u ORDER BY u.created_at, u.user_id"
	selectCredential     = "SELECT " + engine.CredentialColumns + ", " + engine.UserColumns + " FROM credentials c JOIN users u ON u.user_id = c.user_id WHERE " + live
	useCredential        = "UPDATE credentials c SET revoked = true, last_used_at = $3 FROM users u WHERE u.user_id = c.user_id AND " + live + " RETURNING " + engine.CredentialColumns + ", " + engine.UserColumns
	selectCredentialByID = "SELECT " + engine.CredentialColumns + " FROM credentials c WHERE c.credential_id = $1"
	selectCredentials    = "SELECT " + engine.CredentialColumns + " FROM credentials c WHERE $1 IN ('', c.user_id) ORDER BY c.created_at, c.credential_id"
	insertAgentToken     = "INSERT INTO agent_tokens (" + engine.AgentTokenColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	selectAgentToken     = "SELECT " + engine.AgentTokenColumns + " FROM agent_tokens WHERE hash = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)"
	selectAgentTokens    = "SELECT " + engine.AgentTokenColumns + " FROM agent_tokens WHERE $1 IN ('', session_id) ORDER BY created_at, token_id"
	revokeAgentTokens    = "UPDATE agent_tokens SET revoked_at = $1 WHERE session_id = $2 AND revoked_at = 0"
	insertCommand        = "INSERT INTO commands (user_id, command_id, ack, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (user_id, command_id) DO NOTHING"
	selectCommand        = "SELECT ack FROM commands WHERE user_id = $1 AND command_id = $2"
)

// PutUser implements [account.Store].
func (s *Store) PutUser(ctx context.Context, u account.User) error {
	err := s.write(ctx, "put user "+u.UserID, durable, statement{text: putUser, args: engine.UserValues(u)})
	if violates(err, uniqueRule) {
		err = fmt.Errorf("postgres: put user %s: %w", u.UserID, account.ErrExists)
	}
	return err
}

// User implements [account.Store].
func (s *Store) User(ctx context.Context, userID string) (account.User, error) {
	return engine.One(ctx, s.query, "user "+userID, selectUser, account.ErrNotFound, engine.ReadUser, userID)
}

// Users implements [account.Store].
func (s *Store) Users(ctx context.Context) ([]account.User, error) {
	return engine.All(ctx, s.query, "users", selectUsers, engine.ReadUser)
}

// AddCredential implements [account.Store].
func (s *Store) AddCredential(ctx context.Context, c account.Credential) error {
	var added int64
	steps := []statement{{addCredential, engine.CredentialValues(c), changed(&added)}}
	if c.Bound {
		steps = slices.Insert(steps, 0, statement{text: lockParents, args: []any{c.ParentID}})
	}
	err := s.write(ctx, "add credential "+c.CredentialID, durable, steps...)
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

// Credential implements [account.Store].
func (s *Store) Credential(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (c account.Credential, u account.User, err error) {
	known := false
	err = s.query(ctx, "credential", selectCredential, func(rows engine.Row) error {
		var credential engine.CredentialRow
		var user engine.UserRow
		if err := rows.Scan(append(credential.Dest(), user.Dest()...)...); err != nil {
			return err
		}
		c, u, known = credential.Credential(), user.User(), true
		return nil
	}, string(kind), hash, now.UnixMicro())
	if err == nil && !known {
		err = fmt.Errorf("postgres: credential: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return c, u, nil
}

// UseOnce implements [account.Store].
func (s *Store) UseOnce(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (account.Credential, account.User, error) {
	var credential engine.CredentialRow
	var user engine.UserRow
	var won bool
	err := s.write(ctx, "use credential", durable,
		statement{useCredential, []any{string(kind), hash, now.UnixMicro()}, row(&won, append(credential.Dest(), user.Dest()...)...)})
	if err == nil && !won {
		err = fmt.Errorf("postgres: use credential: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return credential.Credential(), user.User(), nil
}

// CredentialByID implements [account.Store].
func (s *Store) CredentialByID(ctx context.Context, credentialID string) (account.Credential, error) {
	return engine.One(ctx, s.query, "credential", selectCredentialByID, account.ErrNotFound, engine.ReadCredential, credentialID)
}

// Credentials implements [account.Store].
func (s *Store) Credentials(ctx context.Context, userID string) ([]account.Credential, error) {
	return engine.All(ctx, s.query, "credentials of "+userID, selectCredentials, engine.ReadCredential, userID)
}

// RevokeCredential implements [account.Store].
func (s *Store) RevokeCredential(ctx context.Context, credentialID string) error {
	var n int64
	err := s.write(ctx, "revoke credential "+credentialID, durable,
		statement{"UPDATE credentials SET revoked = true WHERE credential_id = $1", []any{credentialID}, changed(&n)},
		statement{text: engine.EndBound})
	if err == nil && n == 0 {
		err = fmt.Errorf("postgres: revoke credential %s: %w", credentialID, account.ErrNotFound)
	}
	return err
}

// Touch implements [account.Store].
func (s *Store) Touch(ctx context.Context, credentialID string, at time.Time) error {
	return s.mark(ctx, "touch credential "+credentialID, relaxed,
		"UPDATE credentials SET last_used_at = greatest(last_used_at, $2) WHERE credential_id = $1", credentialID, at.UnixMicro())
}

// mark changes one credential, or finds none.
func (s *Store) mark(ctx context.Context, what string, strong strength, text string, args ...any) error {
	var n int64
	err := s.write(ctx, what, strong, statement{text, args, changed(&n)})
	if err == nil && n == 0 {
		err = fmt.Errorf("postgres: %s: %w", what, account.ErrNotFound)
	}
	return err
}

// AddAgentToken implements [account.Store].
func (s *Store) AddAgentToken(ctx context.Context, t account.AgentToken) error {
	err := s.write(ctx, "add token of an agent", durable, statement{text: insertAgentToken, args: engine.AgentTokenValues(t)})
	switch {
	case violates(err, uniqueRule):
		err = fmt.Errorf("postgres: add token of an agent: %w", account.ErrExists)
	case violates(err, foreignKeyRule):
		err = fmt.Errorf("postgres: add token of an agent: session %s: %w", t.SessionID, account.ErrNotFound)
	}
	return err
}

// AgentToken implements [account.Store].
func (s *Store) AgentToken(ctx context.Context, hash []byte, now time.Time) (account.AgentToken, error) {
	return engine.One(ctx, s.query, "token of an agent", selectAgentToken, account.ErrNotFound, engine.ReadAgentToken, hash, now.UnixMicro())
}

// AgentTokens implements [account.Store].
func (s *Store) AgentTokens(ctx context.Context, sessionID string) ([]account.AgentToken, error) {
	return engine.All(ctx, s.query, "tokens of agents", selectAgentTokens, engine.ReadAgentToken, sessionID)
}

// RevokeAgentTokens implements [account.Store].
func (s *Store) RevokeAgentTokens(ctx context.Context, sessionID string, at time.Time) (int, error) {
	var n int64
	err := s.write(ctx, "revoke tokens of agents of "+sessionID, durable,
		statement{revokeAgentTokens, []any{at.UnixMicro(), sessionID}, changed(&n)})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// Command implements [account.Store].
func (s *Store) Command(ctx context.Context, userID, commandID string) ([]byte, error) {
	return engine.One(ctx, s.query, "command "+commandID, selectCommand, account.ErrNotFound, engine.Value[[]byte], userID, commandID)
}

// SaveCommand implements [account.Store].
func (s *Store) SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) ([]byte, error) {
	var n int64
	err := s.write(ctx, "save command "+commandID, durable,
		statement{insertCommand, []any{userID, commandID, append([]byte{}, ack...), at.UnixMicro()}, changed(&n)})
	if err != nil {
		return nil, err
	}
	if n > 0 {
		return ack, nil
	}
	return s.Command(ctx, userID, commandID)
}

// The rows of all admins are locked first, so that of two changes which would
// together leave none, the second sees the first.
const (
	lockAdmins = "SELECT user_id FROM users WHERE role = 'admin' OR user_id = $1 ORDER BY user_id FOR UPDATE"
	changeUser = `UPDATE users u SET name = coalesce($2, u.name), role = coalesce($3, u.role), disabled = coalesce($4, u.disabled),
		password = coalesce($6, u.password), password_by = coalesce($8, u.password_by), password_at = coalesce($9, u.password_at),
		canonical_name = coalesce($10, u.canonical_name)
		WHERE u.user_id = $1 AND ($5::text IS NULL OR u.password = $5)
		AND ($7::boolean IS NOT TRUE OR u.password = '' AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.user_id)) AND ` + staysAdmin + ` RETURNING ` + engine.UserColumns
	staysAdmin = `(coalesce($3, u.role) = 'admin' AND NOT coalesce($4, u.disabled) OR u.role <> 'admin' OR u.disabled
		OR EXISTS (SELECT 1 FROM users o WHERE o.role = 'admin' AND NOT o.disabled AND o.user_id <> u.user_id))`
	endSignIns = `UPDATE credentials c SET revoked = true FROM users u WHERE u.user_id = $1 AND c.user_id = u.user_id
		AND u.password = $2 AND c.kind IN ('cookie', 'sign_in_link') AND c.credential_id <> $3`
	endDisabled    = "UPDATE credentials c SET revoked = true FROM users u WHERE u.user_id = $1 AND c.user_id = u.user_id AND u.disabled"
	selectPassword = "SELECT u.password FROM users u WHERE u.user_id = $1"
)

// ChangeUser implements [account.Store].
func (s *Store) ChangeUser(ctx context.Context, userID string, c account.UserChange) (account.User, error) {
	var from, to, by, canonical *string
	var at *int64
	if c.Password != nil {
		from, to, by = c.Password.From, &c.Password.To, &c.Password.By
		micros := engine.Micros(c.Password.At)
		at = &micros
	}
	name := c.Name
	if name != nil {
		shown, form := engine.Shown(*name), account.CanonicalName(*name)
		name, canonical = &shown, &form
	}
	var changedRow engine.UserRow
	var done bool
	steps := []statement{
		{text: lockAdmins, args: []any{userID}},
		{changeUser, []any{userID, name, (*string)(c.Role), c.Disabled, from, to, c.Unclaimed, by, at, canonical}, row(&done, changedRow.Dest()...)},
	}
	if c.Password != nil {
		// Salted anew each time, so that it is there only when the change above was made.
		steps = append(steps, statement{text: endSignIns, args: []any{userID, c.Password.To, c.Password.Keep}})
	}
	if p := c.Passkey; p != nil {
		steps = append(steps, statement{text: firstPasskey, args: engine.PasskeyValues(p.Passkey)},
			statement{text: endForPasskey, args: []any{p.PasskeyID, p.Keep}})
	}
	if c.Disabled != nil && *c.Disabled {
		steps = append(steps, statement{text: endDisabled, args: []any{userID}})
	}
	steps = append(steps, statement{text: engine.EndBound})
	err := s.write(ctx, "change user "+userID, durable, steps...)
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

// Password implements [account.Store].
func (s *Store) Password(ctx context.Context, userID string) (string, error) {
	return engine.One(ctx, s.query, "password of "+userID, selectPassword, account.ErrNotFound, engine.Value[string], userID)
}
