// Package account knows the users of this server and how they prove who they are.
//
// A [User] has a [Role]. Whoever acts has an [Identity]: a user and the [Credential] that
// came with the request, which is a cookie, an API token, a sign-in link or the token of
// an agent. The [Directory] creates, checks and revokes credentials: by password, passkey,
// link, or an identity provider. A [SignInLimiter] slows down guessing. Every change of an
// account goes into the audit trail as an [Incident], in the name of its actor, which
// [WithActor] puts into the context.
//
// Generated secrets are 256 random bits and stored as SHA-256 hashes; passwords are stored
// as argon2id. The package stores nothing itself: see [Store].
package account

import (
	"context"
	"errors"
	"time"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("no such account or credential")
	// ErrRefused: the credential is unknown, used, expired or revoked. It never
	// says which.
	ErrRefused = errors.New("credential refused")
	// ErrExists: another user has that name, or the credential is known already.
	ErrExists = errors.New("name or credential exists already")
	// ErrLastAdmin: nobody would be left who manages people.
	ErrLastAdmin = errors.New("the last admin cannot go")
	// ErrChanged: the password is not what the change takes it for.
	ErrChanged = errors.New("password was changed meanwhile")
	// ErrTooMany: a bound of what is kept for one person is reached.
	ErrTooMany = errors.New("too many are kept already")
	// ErrCloned: the counter of a passkey did not grow, so there are two of it.
	ErrCloned = errors.New("counter of the passkey did not grow")
)

// Role is what a user may do. Each includes the one before.
type Role string

const (
	Viewer Role = "viewer" // sees
	Member Role = "member" // also runs and answers
	Admin  Role = "admin"  // also kills any session and manages people and tokens
)

var rank = map[Role]int{Viewer: 1, Member: 2, Admin: 3}

// AtLeast reports whether r includes want. An unknown role includes nothing.
func (r Role) AtLeast(want Role) bool { return rank[r] > 0 && rank[r] >= rank[want] }

// User is a person.
type User struct {
	UserID    string // UUID
	Name      string // unique, shown to others
	Role      Role
	CreatedAt time.Time
	Disabled  bool // nothing of theirs lets anybody in
	// HasPassword says whether there is one; only [Store.ChangeUser] changes it.
	HasPassword bool
	// CreatedBy is the user who made this one, "" when that was the command line, an
	// identity provider, or is not known.
	CreatedBy string
	// PasswordBy and PasswordAt say who set the password and when, as far as is known;
	// only [Store.ChangeUser] changes them.
	PasswordBy string
	PasswordAt time.Time
}

// UserChange is what [Store.ChangeUser] is to change; nil is left as it is.
type UserChange struct {
	Name     *string
	Role     *Role
	Disabled *bool
	Password *PasswordChange
	// Unclaimed: the change is refused when the user has a password or a passkey.
	Unclaimed bool
	Passkey   *FirstPasskey
}

// FirstPasskey adds the first passkey of a user; it goes with Unclaimed.
type FirstPasskey struct {
	Passkey
	Keep string // id of the credential that does not end with it
}

// PasswordChange replaces a stored password by another; "" is none.
type PasswordChange struct {
	From *string // the change is refused when another is stored; nil: whatever is stored
	To   string
	Keep string // id of the credential that does not end with it
	By   string // id of the user who sets it, "" for the command line
	At   time.Time
}

// CredentialKind says what a [Credential] is good for.
type CredentialKind string

const (
	SignInLink CredentialKind = "sign_in_link" // one use, exchanged for a cookie
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
	ExpiresAt    time.Time // zero when it does not
	LastUsedAt   time.Time
	Revoked      bool
	Role         Role   // the most its bearer may do, "" for what the user may
	Address      string // from which a cookie was asked for
	Method       Method // by which a cookie was got, "" of one that is older than this field
	MethodID     string // of the passkey or token that made a cookie, "" of other methods
	// ParentID is the credential with which this one was made, "" when none was.
	ParentID string
	// CreatedBy is the user who made it or holds what it was made with; see
	// [Directory.CredentialMakers]. It is "" when the command line made it, or when
	// nobody wrote it down.
	CreatedBy string
	// Bound: it ends with its parent. Whatever a token made is bound, and whatever is
	// made with that.
	Bound bool
	// BoundUntil is when the token ends from which a bound credential descends, zero
	// when that has no end. Nothing made with it outlives that.
	BoundUntil time.Time
	// PageKey is the SHA-256 of the secret that a page must show beside a cookie. A
	// cookie without one is worth nothing.
	PageKey []byte
}

// Method is a way to get a cookie.
type Method string

const (
	ByLink     Method = "link"
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	ByOIDC     Method = "oidc"
	ByToken    Method = "token"
)

// AgentToken lets its bearer ask people in the name of one session. It is no
// [Credential]: nothing that a person can do can be done with it, least of all
// answering. Only Hash is stored.
type AgentToken struct {
	TokenID   string // UUID
	SessionID string
	Name      string // of the agent, for people; "" for the session's own Claude
	Hash      []byte // SHA-256 of the secret, 32 bytes
	CreatedAt time.Time
	ExpiresAt time.Time // zero when it does not
	RevokedAt time.Time // zero while it is good
	// StreamProject is the number of the project that a stream belongs to; nil for any
	// other agent, and for streams from before there was this field.
	StreamProject *int64
}

// OfProject reports whether a stream belongs to the project of that number.
func (t AgentToken) OfProject(number int64) bool {
	return t.StreamProject == nil || *t.StreamProject == number
}

// Store remembers accounts. Writes survive a power cut before they return.
type Store interface {
	// PutUser stores a user by UserID, without a password; that of a known user
	// stays.
	PutUser(ctx context.Context, u User) error
	// ChangeUser changes a user, all or nothing, and returns what is stored then.
	// A new password and a first passkey end the user's cookies and sign-in links
	// but Keep, being disabled ends all credentials, both in the same transaction.
	// ErrNotFound, ErrExists, ErrChanged, or ErrLastAdmin when no enabled admin would
	// be left.
	ChangeUser(ctx context.Context, userID string, c UserChange) (User, error)
	// Password returns the stored password of a user, "" when there is none.
	Password(ctx context.Context, userID string) (string, error)
	User(ctx context.Context, userID string) (User, error)
	Users(ctx context.Context) ([]User, error)

	// AddCredential stores a new one. ErrExists when its id or hash is known,
	// ErrNotFound when there is no such user, or when it is bound and its parent has
	// ended.
	AddCredential(ctx context.Context, c Credential) error
	// Credential finds a live credential by hash: not revoked, not expired at now,
	// and of a user who is not disabled. ErrNotFound otherwise.
	Credential(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// UseOnce revokes a live credential and returns it; of several callers one
	// wins, the others get ErrNotFound.
	UseOnce(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// CredentialByID finds one whether it is live or not. ErrNotFound.
	CredentialByID(ctx context.Context, credentialID string) (Credential, error)
	// Credentials lists those of a user, or of all users when userID is "".
	Credentials(ctx context.Context, userID string) ([]Credential, error)
	// RevokeCredential ends a credential with all that is bound to it, as everything
	// does that ends credentials.
	RevokeCredential(ctx context.Context, credentialID string) error
	// Touch records a use; it need not survive a power cut.
	Touch(ctx context.Context, credentialID string, at time.Time) error

	// AddAgentToken stores a new token. ErrExists when its id or hash is known,
	// ErrNotFound when there is no such session.
	AddAgentToken(ctx context.Context, t AgentToken) error
	// AgentToken finds a live token by hash: not revoked and not expired at now.
	// ErrNotFound otherwise.
	AgentToken(ctx context.Context, hash []byte, now time.Time) (AgentToken, error)
	// AgentTokens lists those of a session, or of all sessions when sessionID is "",
	// oldest first.
	AgentTokens(ctx context.Context, sessionID string) ([]AgentToken, error)
	// RevokeAgentTokens ends the tokens of a session that are not revoked yet, and
	// returns how many there were.
	RevokeAgentTokens(ctx context.Context, sessionID string, at time.Time) (int, error)

	// Command returns the stored ack of a command of this user, or ErrNotFound.
	// SaveCommand keeps the first ack only and returns the one that is kept.
	Command(ctx context.Context, userID, commandID string) (ack []byte, err error)
	SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) (kept []byte, err error)

	PasskeyStore
	LinkStore
	// AddIncident puts something on record that is no answer; body is one JSON
	// object, see [Incident].
	AddIncident(ctx context.Context, body []byte) error
}

// Setting is what was changed while the server runs.
type Setting struct {
	Name, Value string
	ChangedBy   string // name
	ChangedAt   time.Time
}

// SettingStore remembers settings. Writes survive a power cut before they return.
type SettingStore interface {
	Settings(ctx context.Context) ([]Setting, error)
	// ChangeSetting stores one and puts body on record, all or nothing.
	ChangeSetting(ctx context.Context, s Setting, body []byte) error
}
