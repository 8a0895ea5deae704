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

// Me says who is signed in.
type Me struct {
	User        User   `json:"user"`
	UserID      string `json:"user_id"`
	HasPassword bool   `json:"has_password"`
	// SetUp: nobody else can sign in yet, and POST /api/set_up makes this the
	// first admin.
	SetUp bool `json:"set_up"`
	// NeedsWay: this person came by a sign-in address and has no way to come again.
	NeedsWay bool `json:"needs_way,omitempty"`
	// PageKey is in the answer to a sign-in: beside the cookie every request sends it
	// in X-Sayso-Page-Key, and a WebSocket as the subprotocol "sayso.page-key." with it.
	PageKey string `json:"page_key,omitempty"`
}

// SetUp makes whoever came by the first sign-in link the first admin.
type SetUp struct {
	Name     string `json:"name" validate:"required,max=100"`
	Password string `json:"password" validate:"required,max=1000"`
}

// PasskeySetUp begins what SetUp does, with a passkey instead of a password; the
// end is a PasskeyCreate.
type PasskeySetUp struct {
	Name string `json:"name" validate:"required,max=100"`
}

// NewPassword changes one's own password; the present one is needed when there
// is one.
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
	// Method is the way it was got; absent of one that is older than this field.
	Method account.Method `json:"method,omitempty"`
}

// SignInList holds one's own sign-ins, the oldest first.
type SignInList struct {
	SignIns []SignIn `json:"sign_ins"`
}

// SignInWays says how one can sign in at the address that was asked.
type SignInWays struct {
	Passkey PasskeyWay `json:"passkey"`
	OIDC    *OIDCWay   `json:"oidc,omitempty"` // absent without an identity provider
}

// OIDCWay is an identity provider by the name that people know it under.
type OIDCWay struct {
	Name string `json:"name"`
}

// OIDCBegun says where the browser is to sign in.
type OIDCBegun struct {
	Address string `json:"address"`
}

// OIDCLogin is what the browser brought back from there.
type OIDCLogin struct {
	Code  string `json:"code" validate:"required,max=4096"`
	State string `json:"state" validate:"required,max=512"`
}

// LinkNew begins to link an identity; the password is needed when there is one.
type LinkNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// Link is an identity at a provider by which a person signs in. Not by_hand, it
// made the account and says its role.
type Link struct {
	LinkID    string  `json:"link_id"`
	Issuer    string  `json:"issuer"`
	CreatedAt float64 `json:"created_at"`
	ByHand    bool    `json:"by_hand"`
}

// LinkList is one's own identities, and the provider at which one can be linked.
type LinkList struct {
	Links    []Link  `json:"links"`
	Provider *string `json:"provider"` // its name; null without one
}

// PasskeyWay says whether passkeys work at this address; Problem is a sentence
// that says why not.
type PasskeyWay struct {
	Available bool    `json:"available"`
	Problem   *string `json:"problem"`
	Reasons   Reasons `json:"reasons,omitempty"` // of problem
}

// PasskeyChallenge is what the browser is to sign: the options of WebAuthn in
// their JSON form.
type PasskeyChallenge struct {
	PublicKey json.RawMessage `json:"public_key"`
}

// PasskeyLogin ends a sign-in by passkey with what the browser signed, in the JSON
// form of WebAuthn.
type PasskeyLogin struct {
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// PasskeyNew begins to make a passkey; the password is needed when there is one.
type PasskeyNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// PasskeyCreate keeps a passkey that the browser made.
type PasskeyCreate struct {
	Name       string          `json:"name" validate:"required,max=100"`
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// Passkey is one's own way to sign in without a password. It works at Domain.
type Passkey struct {
	PasskeyID  string   `json:"passkey_id"`
	Name       string   `json:"name"`
	Domain     string   `json:"domain"`
	CreatedAt  float64  `json:"created_at"`
	LastUsedAt *float64 `json:"last_used_at"`
}

// PasskeyList holds one's own passkeys, the oldest first. Problem says why none
// can be made at this address.
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

// PersonList holds everybody, the oldest first.
type PersonList struct {
	Users []Person `json:"users"`
}

// PersonCreate makes a user. Without a password they come in by a sign-in link.
type PersonCreate struct {
	Name     string       `json:"name" validate:"required,max=100"`
	Role     account.Role `json:"role" validate:"oneof=viewer member admin"`
	Password string       `json:"password,omitempty" validate:"max=1000"`
}

// PersonChange changes what is there of it.
type PersonChange struct {
	Role     *account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Disabled *bool         `json:"disabled,omitempty"`
	Password *string       `json:"password,omitempty" validate:"omitempty,max=1000"`
	Limits   *OwnLimits    `json:"limits,omitempty"` // replaces all that were different
}

// SignInLink holds the secret of a link, which signs a browser in once.
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

// TokenList holds all tokens.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}

// TokenCreate asks for a new token. Without Role it acts as its maker, and Scope
// is the most it may do; with Role, which is for admins, it acts as a user of its
// own that has this role and the name of the token.
type TokenCreate struct {
	Name      string       `json:"name" validate:"required,max=100"`
	Role      account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Scope     account.Role `json:"scope,omitempty" validate:"excluded_with=Role,omitempty,oneof=viewer member admin"`
	ExpiresIn float64      `json:"expires_in,omitempty" validate:"min=0,max=315360000"` // seconds; absent: it does not
}

// TokenCreated holds the secret, which is shown this once.
type TokenCreated struct {
	Token
	Secret string `json:"token"`
}
