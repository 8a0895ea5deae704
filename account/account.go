// Package account holds who may do what: users, their roles, their sign-ins and
// API tokens. Secrets are kept only as SHA-256 hashes of 256-bit random values.
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
}

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
}

// Store remembers accounts. Writes survive a power cut before they return.
type Store interface {
	// PutUser stores a user by UserID.
	PutUser(ctx context.Context, u User) error
	User(ctx context.Context, userID string) (User, error)
	Users(ctx context.Context) ([]User, error)

	AddCredential(ctx context.Context, c Credential) error
	// Credential finds a live credential by hash: not revoked and not expired at
	// now. ErrNotFound otherwise.
	Credential(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// UseOnce revokes a live credential and returns it; of several callers one
	// wins, the others get ErrNotFound.
	UseOnce(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Credential, User, error)
	// Credentials lists those of a user, or of all users when userID is "".
	Credentials(ctx context.Context, userID string) ([]Credential, error)
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
}
