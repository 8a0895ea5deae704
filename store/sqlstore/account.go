package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// UserColumns is the select list that [UserRow.Dest] scans, over users u.
const UserColumns = `u.user_id, u.name, u.role, u.created_at, u.disabled, u.password <> '', u.created_by, u.password_by, u.password_at`

// UserRow scans one row of [UserColumns].
type UserRow struct {
	u                     account.User
	createdAt, passwordAt int64
}

// Dest returns the destinations for Scan.
func (x *UserRow) Dest() []any {
	return []any{&x.u.UserID, &x.u.Name, (*string)(&x.u.Role), &x.createdAt, &x.u.Disabled, &x.u.HasPassword,
		&x.u.CreatedBy, &x.u.PasswordBy, &x.passwordAt}
}

// User returns the scanned row.
func (x *UserRow) User() account.User {
	u := x.u
	u.CreatedAt, u.PasswordAt = Time(x.createdAt), Time(x.passwordAt)
	return u
}

// readUser reads a row of [UserColumns].
func readUser(row Row) (account.User, error) {
	var x UserRow
	err := row.Scan(x.Dest()...)
	return x.User(), err
}

// userValues returns the arguments for an insertion of [newUserColumns].
func userValues(u account.User) []any {
	return []any{u.UserID, SanitizeText(u.Name), string(u.Role), Micros(u.CreatedAt), u.Disabled, u.CreatedBy, account.CanonicalName(u.Name)}
}

// CredentialColumns is the select list that [CredentialRow.Dest] scans, over credentials c.
const CredentialColumns = `c.credential_id, c.kind, c.user_id, c.name, c.hash, c.created_at, c.expires_at, c.last_used_at, c.revoked, c.role, c.address, c.method, c.method_id,
	c.parent_id, c.created_by, c.bound, c.bound_until, c.page_key`

// CredentialRow scans one row of [CredentialColumns].
type CredentialRow struct {
	c                                            account.Credential
	createdAt, expiresAt, lastUsedAt, boundUntil int64
}

// Dest returns the destinations for Scan.
func (x *CredentialRow) Dest() []any {
	return []any{&x.c.CredentialID, (*string)(&x.c.Kind), &x.c.UserID, &x.c.Name, &x.c.Hash, &x.createdAt, &x.expiresAt,
		&x.lastUsedAt, &x.c.Revoked, (*string)(&x.c.Role), &x.c.Address, (*string)(&x.c.Method), &x.c.MethodID,
		&x.c.ParentID, &x.c.CreatedBy, &x.c.Bound, &x.boundUntil, &x.c.PageKey}
}

// Credential returns the scanned row.
func (x *CredentialRow) Credential() account.Credential {
	c := x.c
	c.CreatedAt, c.ExpiresAt, c.LastUsedAt = Time(x.createdAt), Time(x.expiresAt), Time(x.lastUsedAt)
	c.BoundUntil = Time(x.boundUntil)
	return c
}

// readCredential reads a row of [CredentialColumns].
func readCredential(row Row) (account.Credential, error) {
	var x CredentialRow
	err := row.Scan(x.Dest()...)
	return x.Credential(), err
}

// CredentialValues returns the arguments of [InsertCredential].
func CredentialValues(c account.Credential) []any {
	return []any{c.CredentialID, string(c.Kind), c.UserID, SanitizeText(c.Name), c.Hash, Micros(c.CreatedAt), Micros(c.ExpiresAt),
		Micros(c.LastUsedAt), c.Revoked, string(c.Role), c.Address, string(c.Method), c.MethodID,
		c.ParentID, c.CreatedBy, c.Bound, Micros(c.BoundUntil), c.PageKey}
}

// ApplyUserChange returns u with the changes of c applied.
func ApplyUserChange(u account.User, c account.UserChange) account.User {
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

// LosesAdmin reports whether a change takes an admin's role away or disables them.
func LosesAdmin(before, after account.User) bool {
	is := func(u account.User) bool { return u.Role == account.Admin && !u.Disabled }
	return is(before) && !is(after)
}

// AgentTokenColumns is the select list that [readAgentToken] scans.
const AgentTokenColumns = `token_id, session_id, name, hash, created_at, expires_at, revoked_at, stream_project`

// readAgentToken reads a row of [AgentTokenColumns].
func readAgentToken(row Row) (t account.AgentToken, err error) {
	var createdAt, expiresAt, revokedAt int64
	err = row.Scan(&t.TokenID, &t.SessionID, &t.Name, &t.Hash, &createdAt, &expiresAt, &revokedAt, &t.StreamProject)
	t.CreatedAt, t.ExpiresAt, t.RevokedAt = Time(createdAt), Time(expiresAt), Time(revokedAt)
	return t, err
}

// agentTokenValues returns the arguments for an insertion of [AgentTokenColumns].
func agentTokenValues(t account.AgentToken) []any {
	return []any{t.TokenID, t.SessionID, SanitizeText(t.Name), t.Hash, Micros(t.CreatedAt), Micros(t.ExpiresAt), Micros(t.RevokedAt), t.StreamProject}
}

// LinkColumns is the select list that [readLink] scans.
const LinkColumns = "issuer, subject, user_id, created_at, by_hand, created_by"

// linkValues returns the arguments for an insertion of [LinkColumns].
func linkValues(l account.Link) []any {
	return []any{l.Issuer, l.Subject, l.UserID, Micros(l.CreatedAt), l.ByHand, l.CreatedBy}
}

// ParentIsLive is the condition under which a credential may be bound to its parent p: p is not
// revoked. A sign-in link is revoked by its use, so for a link the condition applies to the
// credential that the link itself is bound to.
const ParentIsLive = `(NOT p.revoked OR p.kind = 'sign_in_link' AND (NOT p.bound
	OR EXISTS (SELECT 1 FROM credentials g WHERE g.credential_id = p.parent_id AND NOT g.revoked)))`

// RevokeBound revokes every credential whose parent was revoked. A used sign-in link is revoked too,
// but the credentials bound to it stay valid.
var RevokeBound = define(`WITH RECURSIVE ended AS (
	SELECT c.credential_id FROM credentials c JOIN credentials p ON p.credential_id = c.parent_id
		WHERE c.bound AND p.revoked AND p.kind <> 'sign_in_link'
	UNION SELECT c.credential_id FROM credentials c JOIN ended e ON c.parent_id = e.credential_id WHERE c.bound)
	UPDATE credentials SET revoked = true WHERE NOT revoked AND credential_id IN (SELECT credential_id FROM ended)`)

// readLink reads a row of [LinkColumns].
func readLink(row Row) (l account.Link, err error) {
	var createdAt int64
	err = row.Scan(&l.Issuer, &l.Subject, &l.UserID, &createdAt, &l.ByHand, &l.CreatedBy)
	l.CreatedAt = Time(createdAt)
	return l, err
}

// readSetting reads a row of name, value, changed_by and changed_at.
func readSetting(row Row) (one account.Setting, err error) {
	var changedAt int64
	err = row.Scan(&one.Name, &one.Value, &one.ChangedBy, &changedAt)
	one.ChangedAt = Time(changedAt)
	return one, err
}

const (
	newUserColumns       = "user_id, name, role, created_at, disabled, created_by, canonical_name"
	NewCredentialColumns = `credential_id, kind, user_id, name, hash, created_at, expires_at,
		last_used_at, revoked, role, address, method, method_id, parent_id, created_by, bound, bound_until, page_key`
	LiveCredential = "c.kind = $1 AND c.hash = $2 AND NOT c.revoked AND NOT u.disabled AND (c.expires_at = 0 OR c.expires_at > $3)"
)

// InsertCredential inserts a row of [CredentialValues].
var InsertCredential = insertInto("credentials", NewCredentialColumns)

var (
	SelectUser           = query("SELECT " + UserColumns + " FROM users u WHERE u.user_id = $1")
	selectUsers          = query("SELECT " + UserColumns + " FROM users u ORDER BY u.created_at, u.user_id").onAnswerPath()
	SelectPassword       = query("SELECT u.password FROM users u WHERE u.user_id = $1")
	SelectCredential     = query("SELECT " + CredentialColumns + ", " + UserColumns + " FROM credentials c JOIN users u ON u.user_id = c.user_id WHERE " + LiveCredential).onAnswerPath()
	selectCredentialByID = query("SELECT " + CredentialColumns + " FROM credentials c WHERE c.credential_id = $1")
	selectCredentials    = query("SELECT " + CredentialColumns + " FROM credentials c WHERE $1 IN ('', c.user_id) ORDER BY c.created_at, c.credential_id")
	selectAgentToken     = query("SELECT " + AgentTokenColumns + " FROM agent_tokens WHERE hash = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)")
	selectAgentTokens    = query("SELECT " + AgentTokenColumns + " FROM agent_tokens WHERE $1 IN ('', session_id) ORDER BY created_at, token_id")
	selectCommand        = query("SELECT ack FROM commands WHERE user_id = $1 AND command_id = $2")
	selectSettings       = query("SELECT name, value, changed_by, changed_at FROM settings ORDER BY name")
	selectLinked         = query("SELECT " + UserColumns + " FROM links l JOIN users u ON u.user_id = l.user_id WHERE l.issuer = $1 AND l.subject = $2")
	selectLinks          = query("SELECT " + LinkColumns + " FROM links WHERE user_id = $1 ORDER BY created_at, issuer, subject")
	selectAnyLink        = query("SELECT EXISTS (SELECT 1 FROM links)")

	insertUser = define(insertInto("users", newUserColumns))
	putUser    = define(insertInto("users", newUserColumns) + ` ON CONFLICT (user_id) DO UPDATE SET name = excluded.name, role = excluded.role,
		created_at = excluded.created_at, disabled = excluded.disabled, created_by = excluded.created_by, canonical_name = excluded.canonical_name`)
	revokeCredential  = define("UPDATE credentials SET revoked = true WHERE credential_id = $1").Require(account.ErrNotFound)
	touchCredential   = define("UPDATE credentials SET last_used_at = CASE WHEN last_used_at < $1 THEN $1 ELSE last_used_at END WHERE credential_id = $2").Require(account.ErrNotFound)
	insertAgentToken  = define(insertInto("agent_tokens", AgentTokenColumns))
	revokeAgentTokens = define("UPDATE agent_tokens SET revoked_at = $1 WHERE session_id = $2 AND revoked_at = 0")
	insertCommand     = define(insertInto("commands", "user_id, command_id, ack, created_at") + " ON CONFLICT (user_id, command_id) DO NOTHING")
	changeSetting     = define(insertInto("settings", "name, value, changed_by, changed_at") + ` ON CONFLICT (name)
		DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = excluded.changed_at`)
	insertLink = define(insertInto("links", LinkColumns))
	deleteLink = define("DELETE FROM links WHERE user_id = $1 AND issuer = $2 AND subject = $3").Require(account.ErrNotFound)
	endByOIDC  = define("UPDATE credentials SET revoked = true WHERE user_id = $1 AND kind = 'cookie' AND method = 'oidc' AND credential_id <> $2")
)

// PutUser implements [account.Store].
func (s Shared) PutUser(ctx context.Context, u account.User) error {
	return s.e.Apply(ctx, Change{What: "put user " + u.UserID, Durability: Durable, Duplicate: account.ErrExists,
		Steps: []Step{step(putUser, userValues(u)...)}})
}

// User implements [account.Store].
func (s Shared) User(ctx context.Context, userID string) (account.User, error) {
	return queryOne(ctx, s, "user "+userID, SelectUser, account.ErrNotFound, readUser, userID)
}

// Users implements [account.Store].
func (s Shared) Users(ctx context.Context) ([]account.User, error) {
	return queryAll(ctx, s, "users", selectUsers, readUser)
}

// Password implements [account.Store].
func (s Shared) Password(ctx context.Context, userID string) (string, error) {
	return queryOne(ctx, s, "password of "+userID, SelectPassword, account.ErrNotFound, scanValue[string], userID)
}

// Credential implements [account.Store].
func (s Shared) Credential(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (c account.Credential, u account.User, err error) {
	known := false
	err = s.e.Query(ctx, "credential", SelectCredential, func(row Row) error {
		var credential CredentialRow
		var user UserRow
		if err := row.Scan(append(credential.Dest(), user.Dest()...)...); err != nil {
			return err
		}
		c, u, known = credential.Credential(), user.User(), true
		return nil
	}, string(kind), hash, now.UnixMicro())
	if err == nil && !known {
		err = fmt.Errorf("store: credential: %w", account.ErrNotFound)
	}
	if err != nil {
		return account.Credential{}, account.User{}, err
	}
	return c, u, nil
}

// CredentialByID implements [account.Store].
func (s Shared) CredentialByID(ctx context.Context, credentialID string) (account.Credential, error) {
	return queryOne(ctx, s, "credential", selectCredentialByID, account.ErrNotFound, readCredential, credentialID)
}

// Credentials implements [account.Store].
func (s Shared) Credentials(ctx context.Context, userID string) ([]account.Credential, error) {
	return queryAll(ctx, s, "credentials of "+userID, selectCredentials, readCredential, userID)
}

// RevokeCredential implements [account.Store].
func (s Shared) RevokeCredential(ctx context.Context, credentialID string) error {
	return s.e.Apply(ctx, Change{What: "revoke credential " + credentialID, Durability: Durable,
		Steps: []Step{step(revokeCredential, credentialID), step(RevokeBound)}})
}

// Touch implements [account.Store].
func (s Shared) Touch(ctx context.Context, credentialID string, at time.Time) error {
	return s.e.Apply(ctx, Change{What: "touch credential " + credentialID, LeavesRequests: true,
		Steps: []Step{step(touchCredential, at.UnixMicro(), credentialID)}})
}

// AddAgentToken implements [account.Store].
func (s Shared) AddAgentToken(ctx context.Context, t account.AgentToken) error {
	return s.e.Apply(ctx, Change{What: "add token of an agent", Durability: Durable, Duplicate: account.ErrExists, Orphan: account.ErrNotFound,
		Steps: []Step{step(insertAgentToken, agentTokenValues(t)...)}})
}

// AgentToken implements [account.Store].
func (s Shared) AgentToken(ctx context.Context, hash []byte, now time.Time) (account.AgentToken, error) {
	return queryOne(ctx, s, "token of an agent", selectAgentToken, account.ErrNotFound, readAgentToken, hash, now.UnixMicro())
}

// AgentTokens implements [account.Store].
func (s Shared) AgentTokens(ctx context.Context, sessionID string) ([]account.AgentToken, error) {
	return queryAll(ctx, s, "tokens of agents", selectAgentTokens, readAgentToken, sessionID)
}

// RevokeAgentTokens implements [account.Store].
func (s Shared) RevokeAgentTokens(ctx context.Context, sessionID string, at time.Time) (int, error) {
	return s.applyAndCount(ctx, Change{What: "revoke tokens of agents of " + sessionID, Durability: Durable,
		Steps: []Step{step(revokeAgentTokens, at.UnixMicro(), sessionID)}})
}

// Command implements [account.Store].
func (s Shared) Command(ctx context.Context, userID, commandID string) ([]byte, error) {
	return queryOne(ctx, s, "command "+commandID, selectCommand, account.ErrNotFound, scanValue[[]byte], userID, commandID)
}

// SaveCommand implements [account.Store].
func (s Shared) SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) ([]byte, error) {
	n, err := s.applyAndCount(ctx, Change{What: "save command " + commandID, Durability: Durable,
		Steps: []Step{step(insertCommand, userID, commandID, s.e.Bind(append([]byte{}, ack...)), at.UnixMicro())}})
	if err != nil {
		return nil, err
	}
	if n > 0 {
		return ack, nil
	}
	return s.Command(ctx, userID, commandID)
}

// Settings implements [account.SettingStore].
func (s Shared) Settings(ctx context.Context) ([]account.Setting, error) {
	return queryAll(ctx, s, "settings", selectSettings, readSetting)
}

// ChangeSetting implements [account.SettingStore].
func (s Shared) ChangeSetting(ctx context.Context, one account.Setting, body []byte) error {
	return s.e.Apply(ctx, Change{What: "change setting " + one.Name, Durability: Durable, Audit: body,
		Steps: []Step{step(changeSetting, one.Name, SanitizeText(one.Value), SanitizeText(one.ChangedBy), Micros(one.ChangedAt))}})
}

// LinkedUser implements [account.LinkStore].
func (s Shared) LinkedUser(ctx context.Context, issuer, subject string) (account.User, error) {
	return queryOne(ctx, s, "linked user", selectLinked, account.ErrNotFound, readUser, issuer, subject)
}

// AddLinkedUser implements [account.LinkStore].
func (s Shared) AddLinkedUser(ctx context.Context, u account.User, l account.Link) error {
	l.UserID = u.UserID
	return s.e.Apply(ctx, Change{What: "add linked user " + u.UserID, Durability: Durable, Duplicate: account.ErrExists,
		Steps: []Step{step(insertUser, userValues(u)...), step(insertLink, linkValues(l)...)}})
}

// AddLink implements [account.LinkStore].
func (s Shared) AddLink(ctx context.Context, l account.Link, body []byte) error {
	return s.e.Apply(ctx, Change{What: "link " + l.UserID, Durability: Durable, Duplicate: account.ErrExists, Orphan: account.ErrNotFound,
		Audit: body, Steps: []Step{step(insertLink, linkValues(l)...)}})
}

// Links implements [account.LinkStore].
func (s Shared) Links(ctx context.Context, userID string) ([]account.Link, error) {
	return queryAll(ctx, s, "links of "+userID, selectLinks, readLink, userID)
}

// Linked implements [account.LinkStore].
func (s Shared) Linked(ctx context.Context) (bool, error) {
	return queryOne(ctx, s, "links", selectAnyLink, account.ErrNotFound, scanValue[bool])
}

// RemoveLink implements [account.LinkStore].
func (s Shared) RemoveLink(ctx context.Context, l account.Link, keep string, body []byte) error {
	return s.e.Apply(ctx, Change{What: "unlink " + l.UserID, Durability: Durable, Audit: body,
		Steps: []Step{step(deleteLink, l.UserID, l.Issuer, l.Subject), step(endByOIDC, l.UserID, keep), step(RevokeBound)}})
}
