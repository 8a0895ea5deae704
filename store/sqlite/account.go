package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectUser           = "SELECT " + engine.UserColumns + " FROM users u WHERE u.user_id = ?"
	selectUsers          = "SELECT " + engine.UserColumns + " FROM users u ORDER BY u.created_at, u.user_id"
	selectCredential     = "SELECT " + engine.CredentialColumns + ", " + engine.UserColumns + " FROM credentials c JOIN users u ON u.user_id = c.user_id WHERE c.kind = ? AND c.hash = ? AND NOT c.revoked AND NOT u.disabled AND (c.expires_at = 0 OR c.expires_at > ?)"
	selectCredentialByID = "SELECT " + engine.CredentialColumns + " FROM credentials c WHERE c.credential_id = ?"
	selectCredentials    = "SELECT " + engine.CredentialColumns + " FROM credentials c WHERE ? IN ('', c.user_id) ORDER BY c.created_at, c.credential_id"
	insertAgentToken     = "INSERT INTO agent_tokens (" + engine.AgentTokenColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	selectAgentToken     = "SELECT " + engine.AgentTokenColumns + " FROM agent_tokens WHERE hash = ? AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?)"
	selectAgentTokens    = "SELECT " + engine.AgentTokenColumns + " FROM agent_tokens WHERE ? IN ('', session_id) ORDER BY created_at, token_id"
	selectCommand        = "SELECT ack FROM commands WHERE user_id = ? AND command_id = ?"
)

// PutUser implements [account.Store].
func (s *Store) PutUser(ctx context.Context, u account.User) error {
	return s.write(ctx, full, "put user "+u.UserID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO users (user_id, name, role, created_at, disabled, created_by, canonical_name) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id)
			DO UPDATE SET name = excluded.name, role = excluded.role, created_at = excluded.created_at, disabled = excluded.disabled,
			created_by = excluded.created_by, canonical_name = excluded.canonical_name`, engine.UserValues(u)...)
		if unique(err) {
			return account.ErrExists
		}
		return err
	})
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
	return s.write(ctx, full, "add credential "+c.CredentialID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO credentials (credential_id, kind, user_id, name, hash, created_at, expires_at,
			last_used_at, revoked, role, address, method, method_id, parent_id, created_by, bound, bound_until, page_key)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, engine.CredentialValues(c)...)
		switch {
		case err == nil && c.Bound:
			return parentLives(ctx, t, c)
		case unique(err):
			return account.ErrExists
		case orphan(err):
			return account.ErrNotFound
		}
		return err
	})
}

// parentLives is [account.ErrNotFound] when a bound credential comes too late.
func parentLives(ctx context.Context, t tx, c account.Credential) error {
	var one int
	err := t.row(ctx, []any{&one}, "SELECT 1 FROM credentials p WHERE p.credential_id = ? AND "+engine.ParentLives, c.ParentID)
	return missing(err, account.ErrNotFound)
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
		err = fmt.Errorf("sqlite: credential: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return c, u, nil
}

// UseOnce implements [account.Store].
func (s *Store) UseOnce(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (c account.Credential, u account.User, err error) {
	err = s.write(ctx, full, "use credential", func(ctx context.Context, t tx) error {
		var credential engine.CredentialRow
		var user engine.UserRow
		micros := now.UnixMicro()
		if err := t.row(ctx, append(credential.Dest(), user.Dest()...), selectCredential, string(kind), hash, micros); err != nil {
			return missing(err, account.ErrNotFound)
		}
		c, u = credential.Credential(), user.User()
		c.Revoked, c.LastUsedAt = true, engine.Time(micros)
		_, err := t.exec(ctx, "UPDATE credentials SET revoked = 1, last_used_at = ? WHERE credential_id = ?", micros, c.CredentialID)
		return err
	})
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return c, u, nil
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
	return s.write(ctx, full, "revoke credential "+credentialID, func(ctx context.Context, t tx) error {
		if err := found(t.exec(ctx, "UPDATE credentials SET revoked = 1 WHERE credential_id = ?", credentialID)); err != nil {
			return err
		}
		_, err := t.exec(ctx, engine.EndBound)
		return err
	})
}

// Touch implements [account.Store].
func (s *Store) Touch(ctx context.Context, credentialID string, at time.Time) error {
	return s.writeBeside(ctx, normal, "touch credential "+credentialID, func(ctx context.Context, t tx) error {
		return found(t.exec(ctx, "UPDATE credentials SET last_used_at = max(last_used_at, ?) WHERE credential_id = ?", at.UnixMicro(), credentialID))
	})
}

func found(n int64, err error) error {
	if err == nil && n == 0 {
		return account.ErrNotFound
	}
	return err
}

// AddAgentToken implements [account.Store].
func (s *Store) AddAgentToken(ctx context.Context, a account.AgentToken) error {
	return s.write(ctx, full, "add token of an agent", func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, insertAgentToken, engine.AgentTokenValues(a)...)
		switch {
		case unique(err):
			return account.ErrExists
		case orphan(err):
			return account.ErrNotFound
		}
		return err
	})
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
	err := s.write(ctx, full, "revoke tokens of agents of "+sessionID, func(ctx context.Context, t tx) (err error) {
		n, err = t.exec(ctx, "UPDATE agent_tokens SET revoked_at = ? WHERE session_id = ? AND revoked_at = 0", at.UnixMicro(), sessionID)
		if err == nil && n == 0 {
			return errNothing
		}
		return err
	})
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
func (s *Store) SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) (kept []byte, err error) {
	err = s.write(ctx, full, "save command "+commandID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "INSERT INTO commands (user_id, command_id, ack, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id, command_id) DO NOTHING",
			userID, commandID, string(ack), at.UnixMicro())
		if err != nil {
			return err
		}
		if n > 0 {
			kept = ack
			return nil
		}
		if err := t.row(ctx, []any{&kept}, selectCommand, userID, commandID); err != nil {
			return err
		}
		return errNothing
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

const (
	selectPassword = "SELECT u.password FROM users u WHERE u.user_id = ?"
	endSignIns     = "UPDATE credentials SET revoked = 1 WHERE user_id = ? AND kind IN ('cookie', 'sign_in_link') AND credential_id <> ?"
	otherAdmins    = "SELECT count(*) FROM users WHERE role = 'admin' AND NOT disabled AND user_id <> ?"
)

// ChangeUser implements [account.Store].
func (s *Store) ChangeUser(ctx context.Context, userID string, c account.UserChange) (u account.User, err error) {
	err = s.write(ctx, full, "change user "+userID, func(ctx context.Context, t tx) error {
		var row engine.UserRow
		if err := t.row(ctx, row.Dest(), selectUser, userID); err != nil {
			return missing(err, account.ErrNotFound)
		}
		var password string
		if err := t.row(ctx, []any{&password}, selectPassword, userID); err != nil {
			return err
		}
		u = row.User()
		next := engine.Changed(u, c)
		if engine.LosesAdmin(u, next) {
			var others int
			if err := t.row(ctx, []any{&others}, otherAdmins, userID); err != nil {
				return err
			}
			if others == 0 {
				return account.ErrLastAdmin
			}
		}
		if c.Unclaimed {
			var passkeys int
			if err := t.row(ctx, []any{&passkeys}, countPasskeys, userID); err != nil {
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
			if _, err := t.exec(ctx, endSignIns, userID, p.Keep); err != nil {
				return err
			}
		}
		if p := c.Passkey; p != nil {
			_, err := t.exec(ctx, insertPasskey, engine.PasskeyValues(p.Passkey)...)
			if unique(err) {
				return account.ErrExists
			}
			if err != nil {
				return err
			}
			if _, err := t.exec(ctx, endSignIns, userID, p.Keep); err != nil {
				return err
			}
		}
		if next.Disabled && !u.Disabled {
			if _, err := t.exec(ctx, "UPDATE credentials SET revoked = 1 WHERE user_id = ?", userID); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, engine.EndBound); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE users SET name = ?, role = ?, disabled = ?, password = ?, password_by = ?, password_at = ?,
			canonical_name = CASE WHEN ? THEN ? ELSE canonical_name END WHERE user_id = ?`,
			engine.Shown(next.Name), string(next.Role), next.Disabled, password, next.PasswordBy, engine.Micros(next.PasswordAt),
			c.Name != nil, account.CanonicalName(next.Name), userID)
		if unique(err) {
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

// Password implements [account.Store].
func (s *Store) Password(ctx context.Context, userID string) (string, error) {
	return engine.One(ctx, s.query, "password of "+userID, selectPassword, account.ErrNotFound, engine.Value[string], userID)
}
