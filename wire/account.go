package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/account"
)

// Login signs a person in: with the secret of a sign-in link, or with a name
// and a password.
type Login struct {
	Token    string `json:"token,omitempty" validate:"required_without=Username,excluded_with=Username,max=512"`
	Username string `json:"username,omitempty" validate:"max=200"`
	Password string `json:"password,omitempty" validate:"required_with=Username,excluded_without=Username,max=1000"`
}

// Me describes who is signed in.
type Me struct {
	User        User   `json:"user"`
	UserID      string `json:"user_id"`
	HasPassword bool   `json:"has_password"`
	// SetUp reports that nobody can sign in yet: POST /api/set_up makes this person the
	// first admin.
	SetUp bool `json:"set_up"`
	// NeedsWay reports that this person signed in by a link and has no other way to sign in
	// again.
	NeedsWay bool `json:"needs_way,omitempty"`
	// PageKey is returned once, by a sign-in. Every request with the cookie sends it in
	// X-Sayso-Page-Key, and a WebSocket names it as the subprotocol "sayso.page-key.KEY".
	PageKey string `json:"page_key,omitempty"`
}

// SetUp makes the person who opened the first sign-in link the first admin.
type SetUp struct {
	Name     string `json:"name" validate:"required,max=100"`
	Password string `json:"password" validate:"required,max=1000"`
}

// PasskeySetUp starts a SetUp with a passkey instead of a password. A PasskeyCreate
// completes it.
type PasskeySetUp struct {
	Name string `json:"name" validate:"required,max=100"`
}

// NewPassword changes the caller's password. It requires the current one if there is one.
type NewPassword struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
	Password        string `json:"password" validate:"required,max=1000"`
}

// SignIn is a browser in which a person is signed in.
type SignIn struct {
	SignInID   string   `json:"sign_in_id"`
	Device     string   `json:"device"`
	Address    string   `json:"address"`
	CreatedAt  float64  `json:"created_at"`
	LastUsedAt *float64 `json:"last_used_at"`
	ExpiresAt  *float64 `json:"expires_at"`
	Current    bool     `json:"current"`
	// Method is how the cookie was obtained; absent if unknown.
	Method account.Method `json:"method,omitempty"`
}

// SignInList lists the caller's sign-ins, oldest first.
type SignInList struct {
	SignIns []SignIn `json:"sign_ins"`
}

// SignInWays lists the ways to sign in at the requested address.
type SignInWays struct {
	Passkey PasskeyWay `json:"passkey"`
	OIDC    *OIDCWay   `json:"oidc,omitempty"` // absent without an identity provider
}

// OIDCWay names an identity provider for people.
type OIDCWay struct {
	Name string `json:"name"`
}

// OIDCBegun contains the address at which the browser continues the sign-in.
type OIDCBegun struct {
	Address string `json:"address"`
}

// OIDCLogin contains the parameters with which the identity provider redirected the browser.
type OIDCLogin struct {
	Code  string `json:"code" validate:"required,max=4096"`
	State string `json:"state" validate:"required,max=512"`
}

// LinkNew starts to link an identity. It requires the password if there is one.
type LinkNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// Link is an identity at a provider with which a person signs in. Unless by_hand is set,
// the provider created the account and sets its role.
type Link struct {
	LinkID    string  `json:"link_id"`
	Issuer    string  `json:"issuer"`
	CreatedAt float64 `json:"created_at"`
	ByHand    bool    `json:"by_hand"`
}

// LinkList lists the caller's identities, and the provider at which one can be linked.
type LinkList struct {
	Links    []Link  `json:"links"`
	Provider *string `json:"provider"` // its name; null without one
}

// PasskeyWay reports whether passkeys work at this address. Problem is a sentence with the
// reason why not.
type PasskeyWay struct {
	Available bool    `json:"available"`
	Problem   *string `json:"problem"`
	Reasons   Reasons `json:"reasons,omitempty"` // of problem
}

// PasskeyChallenge is what the browser must sign: the WebAuthn options in their JSON form.
type PasskeyChallenge struct {
	PublicKey json.RawMessage `json:"public_key"`
}

// PasskeyLogin completes a sign-in by passkey with the credential from the browser, in the
// JSON form of WebAuthn.
type PasskeyLogin struct {
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// PasskeyNew starts to create a passkey. It requires the password if there is one.
type PasskeyNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// PasskeyCreate stores a passkey that the browser created.
type PasskeyCreate struct {
	Name       string          `json:"name" validate:"required,max=100"`
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// Passkey is a passkey of the caller. It works only at Domain.
type Passkey struct {
	PasskeyID  string   `json:"passkey_id"`
	Name       string   `json:"name"`
	Domain     string   `json:"domain"`
	CreatedAt  float64  `json:"created_at"`
	LastUsedAt *float64 `json:"last_used_at"`
}

// PasskeyList lists the caller's passkeys, oldest first. Problem is the reason why none can
// be created at this address.
type PasskeyList struct {
	Passkeys []Passkey `json:"passkeys"`
	Problem  *string   `json:"problem"`
	Reasons  Reasons   `json:"reasons,omitempty"` // of problem
}

// Person is a user as admins see them.
type Person struct {
	UserID      string       `json:"user_id"`
	Name        string       `json:"name"`
	Role        account.Role `json:"role"`
	Disabled    bool         `json:"disabled"`
	HasPassword bool         `json:"has_password"`
	CreatedAt   float64      `json:"created_at"`
}

// PersonList lists all users, oldest first.
type PersonList struct {
	Users []Person `json:"users"`
}

// PersonCreate creates a user. Without a password, the person signs in by a link.
type PersonCreate struct {
	Name     string       `json:"name" validate:"required,max=100"`
	Role     account.Role `json:"role" validate:"oneof=viewer member admin"`
	Password string       `json:"password,omitempty" validate:"max=1000"`
}

// PersonChange changes the fields that are present.
type PersonChange struct {
	Role     *account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Disabled *bool         `json:"disabled,omitempty"`
	Password *string       `json:"password,omitempty" validate:"omitempty,max=1000"`
	Limits   *OwnLimits    `json:"limits,omitempty"` // replaces all exceptions of this person
}

// SignInLink contains the secret of a link that signs in one browser once.
type SignInLink struct {
	Token     string  `json:"token"`
	ExpiresAt float64 `json:"expires_at"`
}

// Token is an API token without its secret.
type Token struct {
	TokenID    string       `json:"token_id"`
	Name       string       `json:"name"`
	User       string       `json:"user"`
	Role       account.Role `json:"role"`
	CreatedAt  float64      `json:"created_at"`
	ExpiresAt  *float64     `json:"expires_at"`
	LastUsedAt *float64     `json:"last_used_at"`
	Revoked    bool         `json:"revoked"`
}

// TokenList lists the tokens that the caller may see.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}

// TokenCreate creates a token. Without Role it acts as its creator, limited to Scope. With
// Role, which only admins may set, it acts as a separate user with this role and the name
// of the token.
type TokenCreate struct {
	Name      string       `json:"name" validate:"required,max=100"`
	Role      account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Scope     account.Role `json:"scope,omitempty" validate:"excluded_with=Role,omitempty,oneof=viewer member admin metrics"`
	ExpiresIn float64      `json:"expires_in,omitempty" validate:"min=0,max=315360000"` // seconds; absent: never
}

// TokenCreated contains the secret, which is shown only once.
type TokenCreated struct {
	Token
	Secret string `json:"token"`
}
