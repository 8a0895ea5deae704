package engine

import "github.com/sayso-dev/sayso/internal/account"

// UserColumns is the select list of [UserRow.Dest] over users u.
const UserColumns = `u.user_id, u.name, u.role, u.created_at, u.disabled, u.password <> '', u.created_by, u.password_by, u.password_at`

// UserRow takes one row of [UserColumns].
type UserRow struct {
	u                     account.User
	createdAt, passwordAt int64
}

// Dest is what to scan into.
func (x *UserRow) Dest() []any {
	return []any{&x.u.UserID, &x.u.Name, (*string)(&x.u.Role), &x.createdAt, &x.u.Disabled, &x.u.HasPassword,
		&x.u.CreatedBy, &x.u.PasswordBy, &x.passwordAt}
}

// User is the row that was scanned.
func (x *UserRow) User() account.User {
	u := x.u
	u.CreatedAt, u.PasswordAt = Time(x.createdAt), Time(x.passwordAt)
	return u
}

// ReadUser reads a row of [UserColumns].
func ReadUser(row Row) (account.User, error) {
	var x UserRow
	err := row.Scan(x.Dest()...)
	return x.User(), err
}

// UserValues are the arguments of an insertion of user_id, name, role,
// created_at, disabled, created_by, canonical_name.
func UserValues(u account.User) []any {
	return []any{u.UserID, Shown(u.Name), string(u.Role), Micros(u.CreatedAt), u.Disabled, u.CreatedBy, account.CanonicalName(u.Name)}
}

// CredentialColumns is the select list of [CredentialRow.Dest] over
// credentials c.
const CredentialColumns = `c.credential_id, c.kind, c.user_id, c.name, c.hash, c.created_at, c.expires_at, c.last_used_at, c.revoked, c.role, c.address, c.method, c.method_id,
	c.parent_id, c.created_by, c.bound, c.bound_until, c.page_key`

// CredentialRow takes one row of [CredentialColumns].
type CredentialRow struct {
	c                                            account.Credential
	createdAt, expiresAt, lastUsedAt, boundUntil int64
}

// Dest is what to scan into.
func (x *CredentialRow) Dest() []any {
	return []any{&x.c.CredentialID, (*string)(&x.c.Kind), &x.c.UserID, &x.c.Name, &x.c.Hash, &x.createdAt, &x.expiresAt,
		&x.lastUsedAt, &x.c.Revoked, (*string)(&x.c.Role), &x.c.Address, (*string)(&x.c.Method), &x.c.MethodID,
		&x.c.ParentID, &x.c.CreatedBy, &x.c.Bound, &x.boundUntil, &x.c.PageKey}
}

// Credential is the row that was scanned.
func (x *CredentialRow) Credential() account.Credential {
	c := x.c
	c.CreatedAt, c.ExpiresAt, c.LastUsedAt = Time(x.createdAt), Time(x.expiresAt), Time(x.lastUsedAt)
	c.BoundUntil = Time(x.boundUntil)
	return c
}

// ReadCredential reads a row of [CredentialColumns].
func ReadCredential(row Row) (account.Credential, error) {
	var x CredentialRow
	err := row.Scan(x.Dest()...)
	return x.Credential(), err
}

// CredentialValues are the arguments of an insertion of all columns of
// credentials.
func CredentialValues(c account.Credential) []any {
	return []any{c.CredentialID, string(c.Kind), c.UserID, Shown(c.Name), c.Hash, Micros(c.CreatedAt), Micros(c.ExpiresAt),
		Micros(c.LastUsedAt), c.Revoked, string(c.Role), c.Address, string(c.Method), c.MethodID,
		c.ParentID, c.CreatedBy, c.Bound, Micros(c.BoundUntil), c.PageKey}
}

// Changed is a user as a change leaves them.
func Changed(u account.User, c account.UserChange) account.User {
	if c.Name != nil {
		u.Name = *c.Name
	}
	if c.Role != nil {
		u.Role = *c.Role
	}
	if c.Disabled != nil {
		u.Disabled = *c.Disabled
	}
	if c.Password != nil {
		u.HasPassword = c.Password.To != ""
		u.PasswordBy, u.PasswordAt = c.Password.By, Time(Micros(c.Password.At))
	}
	return u
}

// LosesAdmin reports whether an admin stops being one by a change.
func LosesAdmin(before, after account.User) bool {
	is := func(u account.User) bool { return u.Role == account.Admin && !u.Disabled }
	return is(before) && !is(after)
}

// AgentTokenColumns is the select list of [ReadAgentToken].
const AgentTokenColumns = `token_id, session_id, name, hash, created_at, expires_at, revoked_at, stream_project`

// ReadAgentToken reads a row of [AgentTokenColumns].
func ReadAgentToken(row Row) (t account.AgentToken, err error) {
	var createdAt, expiresAt, revokedAt int64
	err = row.Scan(&t.TokenID, &t.SessionID, &t.Name, &t.Hash, &createdAt, &expiresAt, &revokedAt, &t.StreamProject)
	t.CreatedAt, t.ExpiresAt, t.RevokedAt = Time(createdAt), Time(expiresAt), Time(revokedAt)
	return t, err
}

// AgentTokenValues are the arguments of an insertion of [AgentTokenColumns].
func AgentTokenValues(t account.AgentToken) []any {
	return []any{t.TokenID, t.SessionID, Shown(t.Name), t.Hash, Micros(t.CreatedAt), Micros(t.ExpiresAt), Micros(t.RevokedAt), t.StreamProject}
}

// LinkColumns is the select list of [ReadLink].
const LinkColumns = "issuer, subject, user_id, created_at, by_hand, created_by"

// LinkValues are the arguments of an insertion of [LinkColumns].
func LinkValues(l account.Link) []any {
	return []any{l.Issuer, l.Subject, l.UserID, Micros(l.CreatedAt), l.ByHand, l.CreatedBy}
}

// ParentLives is the condition under which a credential bound to p can be added. A
// sign-in link has been used by then, and what it was bound to must live.
const ParentLives = `(NOT p.revoked OR p.kind = 'sign_in_link' AND (NOT p.bound
	OR EXISTS (SELECT 1 FROM credentials g WHERE g.credential_id = p.parent_id AND NOT g.revoked)))`

// EndBound ends what is bound to a credential that has ended. A sign-in link has
// also ended when it was used, which ends nothing else.
const EndBound = `WITH RECURSIVE ended AS (
	SELECT c.credential_id FROM credentials c JOIN credentials p ON p.credential_id = c.parent_id
		WHERE c.bound AND p.revoked AND p.kind <> 'sign_in_link'
	UNION SELECT c.credential_id FROM credentials c JOIN ended e ON c.parent_id = e.credential_id WHERE c.bound)
	UPDATE credentials SET revoked = true WHERE NOT revoked AND credential_id IN (SELECT credential_id FROM ended)`

// ReadLink reads a row of [LinkColumns].
func ReadLink(row Row) (l account.Link, err error) {
	var createdAt int64
	err = row.Scan(&l.Issuer, &l.Subject, &l.UserID, &createdAt, &l.ByHand, &l.CreatedBy)
	l.CreatedAt = Time(createdAt)
	return l, err
}

// SelectSettings is every setting that was changed, for [ReadSetting].
const SelectSettings = "SELECT name, value, changed_by, changed_at FROM settings ORDER BY name"

// ReadSetting reads a row of [SelectSettings].
func ReadSetting(row Row) (one account.Setting, err error) {
	var changedAt int64
	err = row.Scan(&one.Name, &one.Value, &one.ChangedBy, &changedAt)
	one.ChangedAt = Time(changedAt)
	return one, err
}
