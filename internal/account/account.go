// Package account manages the users of this server and how they prove who they are.
//
// A [User] is a person with a name and a [Role]. People sign in with a password, a passkey,
// a sign-in link or at an identity provider; each way ends in a [Credential], whose secret
// the browser keeps as a cookie. An API token is a credential for scripts. Every request of
// a person presents one, and becomes an [Identity]: the user and that credential. Agents
// have an [AgentToken] instead, with which they can only ask.
//
// [Directory] is the entry point: it creates users, and creates, checks and revokes
// credentials. A [SignInLimiter] slows down guessing. Every change of an account is written
// to the audit log as an [Incident], in the name of the actor that [WithActor] puts into
// the context.
//
// The package contains no database: [Store] is the interface of the one that it uses.
// Generated secrets have 256 random bits and are stored as SHA-256 hashes, passwords as
// argon2id hashes.
package account

import (
	"context"
	"errors"
	"time"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("no such account or credential")
	// ErrRefused: the credential is unknown, used, expired or revoked. Callers do not
	// learn which.
	ErrRefused = errors.New("credential refused")
	// ErrExists: another user has that name, or the credential already exists.
	ErrExists = errors.New("name or credential exists already")
	// ErrLastAdmin: the change would leave no enabled admin.
	ErrLastAdmin = errors.New("the last admin cannot be removed or disabled")
	// ErrChanged: the account was changed since it was read.
	ErrChanged = errors.New("password was changed meanwhile")
	// ErrTooMany: the person has reached the maximum number of stored entries.
	ErrTooMany = errors.New("the maximum number of entries is stored already")
	// ErrCloned: the counter of a passkey did not grow, so there may be a copy of it.
	ErrCloned = errors.New("counter of the passkey did not grow")
)

// Role is what a user may do. Each role includes the one before.
type Role string

const (
	Viewer Role = "viewer" // reads
	Member Role = "member" // also starts sessions and answers
	Admin  Role = "admin"  // also kills any session and manages people and tokens
)

// MetricsScope is the scope of an admin's token that can only read the metrics. It is not a role:
// no user has it, and it includes none.
const MetricsScope = "metrics"

var rank = map[Role]int{Viewer: 1, Member: 2, Admin: 3}

// AtLeast reports whether r includes want. An unknown role includes nothing.
func (r Role) AtLeast(want Role) bool { return rank[r] > 0 && rank[r] >= rank[want] }

// User is a person.
type User struct {
	UserID    string // UUID
	Name      string // unique, shown to others
	Role      Role
	CreatedAt time.Time
	Disabled  bool // cannot sign in with any credential
	// HasPassword reports whether a password is stored; only [Store.ChangeUser] changes
	// it.
	HasPassword bool
	// CreatedBy is the id of the user who created this one, or "" for the command line,
	// an identity provider, or if unknown.
	CreatedBy string
	// PasswordBy and PasswordAt record who set the password and when, if known; only
	// [Store.ChangeUser] changes them.
	PasswordBy string
	PasswordAt time.Time
}

// UserChange is a change for [Store.ChangeUser]; nil fields stay as they are.
type UserChange struct {
	Name     *string
	Role     *Role
	Disabled *bool
	Password *PasswordChange
	// Unclaimed refuses the change if the user has a password or a passkey.
	Unclaimed bool
	Passkey   *FirstPasskey
}

// FirstPasskey adds a user's first passkey; it requires Unclaimed.
type FirstPasskey struct {
	Passkey
	KeepCredentialID string // the credential that stays valid
}

// PasswordChange replaces a stored password hash; "" means none.
type PasswordChange struct {
	From             *string // refuse the change if another hash is stored; nil: do not check
	To               string
	KeepCredentialID string // the credential that stays valid
	By               string // id of the user who sets it, "" for the command line
	At               time.Time
}

// CredentialKind is what a [Credential] is used for.
type CredentialKind string

const (
	SignInLink CredentialKind = "sign_in_link" // works once, exchanged for a cookie
	Cookie     CredentialKind = "cookie"       // a browser
	APIToken   CredentialKind = "api_token"    // a script
)

// Credential lets its bearer act as a user. Only Hash is stored.
type Credential struct {
	CredentialID string // UUID
	Kind         CredentialKind
	UserID       string
	Name         string // of a token, or the device of a cookie
	Hash         []byte // SHA-256 of the secret, 32 bytes
	CreatedAt    time.Time
	ExpiresAt    time.Time // zero for never
	LastUsedAt   time.Time
	Revoked      bool
	Role         Role   // upper limit of the bearer's rights, "" for those of the user
	Address      string // of the browser that got a cookie
	Method       Method // how a cookie was obtained, "" if unknown
	MethodID     string // of the passkey or token that created a cookie, or ""
	// ParentID is the credential that created this one, or "".
	ParentID string
	// CreatedBy is the id of the user who created it or owns its parent; see
	// [Directory.CredentialMakers]. It is "" for the command line, or if unknown.
	CreatedBy string
	// Bound credentials end with their parent. All descendants of a token are bound.
	Bound bool
	// BoundUntil is when the token from which a bound credential descends expires, zero
	// for never. No descendant outlives that token.
	BoundUntil time.Time
	// PageKey is the SHA-256 of the secret that a page must send with a cookie. A
	// cookie without one is invalid.
	PageKey []byte
}

// limit returns the role of a credential's bearer if its user has the given role, or "" if the
// bearer may do nothing.
func (c Credential) limit(role Role) Role {
	switch {
	case c.Role == MetricsScope && role.AtLeast(Admin):
		return MetricsScope
	case c.Role == MetricsScope:
		return ""
	case c.Role != "" && role.AtLeast(c.Role):
		return c.Role
	}
	return role
}

// Method is how a cookie was obtained.
type Method string

const (
	ByLink     Method = "link"
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	ByOIDC     Method = "oidc"
	ByToken    Method = "token"
)

// AgentToken lets its bearer ask people in the name of one session, and nothing else.
// It is not a [Credential]. Only Hash is stored.
type AgentToken struct {
	TokenID   string // UUID
	SessionID string
	Name      string // of the agent, for people; "" for the session's own Claude
	Hash      []byte // SHA-256 of the secret, 32 bytes
	CreatedAt time.Time
	ExpiresAt time.Time // zero for never
	RevokedAt time.Time // zero if not revoked
	// StreamProject is the project number of a stream; nil for other agents and for
	// streams older than this field.
	StreamProject *int64
}

// OfProject reports whether a stream belongs to a project.
func (t AgentToken) OfProject(number int64) bool {
	return t.StreamProject == nil || *t.StreamProject == number
}

// Store stores accounts. Writes survive a power cut before they return.
type Store interface {
	// PutUser creates or replaces a user by UserID, but never changes the password.
	PutUser(ctx context.Context, u User) error
	// ChangeUser changes a user atomically and returns the new state. A new password
	// and a first passkey end the user's cookies and sign-in links except
	// KeepCredentialID; disabling ends all credentials. It returns ErrNotFound,
	// ErrExists, ErrChanged, or ErrLastAdmin.
	ChangeUser(ctx context.Context, userID string, c UserChange) (User, error)
	// Password returns the stored password hash of a user, or "".
	Password(ctx context.Context, userID string) (string, error)
	User(ctx context.Context, userID string) (User, error)
	Users(ctx context.Context) ([]User, error)

	// AddCredential stores a new credential. It returns ErrExists for a known id or
	// hash, and ErrNotFound for an unknown user or a bound credential whose parent has
	// ended.
	AddCredential(ctx context.Context, c Credential) error
	// Credential finds a credential by hash. It returns ErrNotFound unless the
	// credential is live: not revoked, not expired at now, and its user enabled.
	Credential(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// UseOnce revokes a live credential and returns it. If several callers use it, only
	// one succeeds; the others get ErrNotFound.
	UseOnce(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// CredentialByID returns a credential even if it is not live, or ErrNotFound.
	CredentialByID(ctx context.Context, credentialID string) (Credential, error)
	// Credentials lists the credentials of a user, or of all users if userID is "".
	Credentials(ctx context.Context, userID string) ([]Credential, error)
	// RevokeCredential ends a credential and all credentials bound to it.
	RevokeCredential(ctx context.Context, credentialID string) error
	// Touch records a use, which need not survive a power cut.
	Touch(ctx context.Context, credentialID string, at time.Time) error

	// AddAgentToken stores a new token. It returns ErrExists for a known id or hash,
	// and ErrNotFound for an unknown session.
	AddAgentToken(ctx context.Context, t AgentToken) error
	// AgentToken finds a token by hash. It returns ErrNotFound if the token is revoked
	// or expired at now.
	AgentToken(ctx context.Context, hash []byte, now time.Time) (AgentToken, error)
	// AgentTokens lists the tokens of a session, or of all sessions if sessionID is "",
	// oldest first.
	AgentTokens(ctx context.Context, sessionID string) ([]AgentToken, error)
	// RevokeAgentTokens revokes the tokens of a session and returns how many it
	// revoked.
	RevokeAgentTokens(ctx context.Context, sessionID string, at time.Time) (int, error)

	// Command returns the stored ack of a command of this user, or ErrNotFound.
	// SaveCommand stores only the first ack of a command and returns it.
	Command(ctx context.Context, userID, commandID string) (ack []byte, err error)
	SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) (kept []byte, err error)

	PasskeyStore
	LinkStore
	// AddIncident writes a JSON object to the audit log, see [Incident].
	AddIncident(ctx context.Context, body []byte) error
}

// Setting is a setting that was changed at run time.
type Setting struct {
	Name, Value string
	ChangedBy   string // name
	ChangedAt   time.Time
}

// SettingStore stores settings. Writes survive a power cut before they return.
type SettingStore interface {
	Settings(ctx context.Context) ([]Setting, error)
	// ChangeSetting stores a setting and writes body to the audit log, atomically.
	ChangeSetting(ctx context.Context, s Setting, body []byte) error
}
