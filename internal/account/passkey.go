package account

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Limits of passkeys.
const (
	maxPasskeys = 20
	// FreshSignIn is how long after a sign-in somebody without a password may make
	// a passkey: there is nothing else by which they could prove who they are.
	FreshSignIn = 10 * time.Minute
)

// Passkey is what is kept of a key pair of which an authenticator has the secret
// half.
type Passkey struct {
	PasskeyID  string // UUID
	UserID     string
	Name       string
	KeyID      []byte // by which its authenticator knows it, unique
	RPID       string // the domain it is good for
	Data       []byte // the public half and more, as package httpapi stores it
	SignCount  uint32 // the highest that was seen; 0 of an authenticator that does not count
	CreatedAt  time.Time
	LastUsedAt time.Time // zero before the first sign-in
	CreatedBy  string    // see [Credential.CreatedBy]
}

// PasskeyStore remembers passkeys. Writes survive a power cut before they return.
type PasskeyStore interface {
	// AddPasskey stores a new one. ErrExists when its id or key is known,
	// ErrNotFound when there is no such user.
	AddPasskey(ctx context.Context, p Passkey) error
	// Passkeys lists those of a user, or of all users when userID is "", oldest
	// first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// UsePasskey notes a use with its counter and data. ErrCloned when the counter
	// does not grow, unless both are 0; ErrNotFound.
	UsePasskey(ctx context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error
	// RemovePasskey forgets a passkey of a user and ends the cookies it made but
	// keep. ErrNotFound when they have none of that id.
	RemovePasskey(ctx context.Context, userID, passkeyID, keep string) error
}

// ProveOwner reports whether a person may add a way to sign in: they know their
// password or, without one, have signed in just now. ErrRefused when they do not;
// a [problem.Error] when the sign-in is too old.
func (d *Directory) ProveOwner(ctx context.Context, who Identity, password string) error {
	stored, err := d.store.Password(ctx, who.User.UserID)
	if err != nil {
		return fmt.Errorf("account: prove owner: %w", err)
	}
	if stored == "" {
		if err := d.refuseTokenHolder(ctx, who); err != nil {
			return err
		}
		if time.Since(who.Credential.CreatedAt) > FreshSignIn {
			return problem.New("sign_in_too_old")
		}
		return nil
	}
	right, err := d.checkPassword(ctx, stored, password)
	if err != nil {
		return err
	}
	if !right {
		return fmt.Errorf("account: prove owner: %w", ErrRefused)
	}
	return nil
}

// refuseTokenHolder refuses who came by a token, or by what one made, a new way to sign in
// when they have one: nothing but the token says who they are, and the way would
// outlive it. Who has none yet gets the first.
func (d *Directory) refuseTokenHolder(ctx context.Context, who Identity) error {
	if who.Credential.Kind != APIToken && !who.Credential.Bound {
		return nil
	}
	keys, err := d.Passkeys(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	links, err := d.Links(ctx, who.User.UserID)
	if err == nil && len(keys)+len(links) > 0 {
		err = problem.New("sign_in_without_token")
	}
	return err
}

// Passkeys lists those of a user, the oldest first.
func (d *Directory) Passkeys(ctx context.Context, userID string) ([]Passkey, error) {
	list, err := d.store.Passkeys(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list passkeys: %w", err)
	}
	return list, nil
}

// AddPasskey keeps a passkey of who asks; p has its key, domain, data and count.
func (d *Directory) AddPasskey(ctx context.Context, who Identity, name string, p Passkey) (Passkey, error) {
	p, err := newPasskey(p, who, name)
	if err != nil {
		return Passkey{}, err
	}
	have, err := d.Passkeys(ctx, who.User.UserID)
	if err != nil {
		return Passkey{}, err
	}
	if len(have) >= maxPasskeys {
		return Passkey{}, problem.For("name", "too_many_passkeys", "max", maxPasskeys)
	}
	err = d.store.AddPasskey(ctx, p)
	if errors.Is(err, ErrExists) {
		return Passkey{}, problem.New("passkey_exists")
	}
	if err != nil {
		return Passkey{}, fmt.Errorf("account: add passkey: %w", err)
	}
	return p, d.note(WithActor(ctx, who), Incident{What: EventPasskeyAdded, User: about(who.User), PasskeyID: p.PasskeyID, PasskeyName: p.Name})
}

// newPasskey makes p a new passkey of who asks.
func newPasskey(p Passkey, who Identity, name string) (Passkey, error) {
	name = strings.TrimSpace(name)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return Passkey{}, problem.For("name", "passkey_name", "max", maxName)
	}
	p.PasskeyID, p.UserID, p.Name, p.CreatedAt, p.CreatedBy = uuid.NewString(), who.User.UserID, name, time.Now(), who.responsibleUser()
	return p, nil
}

// RemovePasskey forgets a passkey of who asks. The sign-ins it made end, but for
// the one that asks. The last way in stays.
func (d *Directory) RemovePasskey(ctx context.Context, who Identity, passkeyID string) error {
	links, err := d.Links(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	if len(links) == 0 {
		if err := d.requireOtherMethod(ctx, who.User.UserID, 1); err != nil {
			return err
		}
	}
	if err := d.store.RemovePasskey(ctx, who.User.UserID, passkeyID, who.Credential.CredentialID); err != nil {
		return fmt.Errorf("account: remove passkey: %w", err)
	}
	d.announce()
	return d.note(WithActor(ctx, who), Incident{What: EventPasskeyRemoved, User: about(who.User), PasskeyID: passkeyID})
}

// PasskeyOf returns the passkey of that key with its owner, or ErrRefused when
// the user does not have it or may not come in.
func (d *Directory) PasskeyOf(ctx context.Context, userID string, keyID []byte) (Passkey, User, error) {
	user, err := d.store.User(ctx, userID)
	if err != nil {
		return Passkey{}, User{}, refused("passkey", err)
	}
	list, err := d.Passkeys(ctx, userID)
	if err != nil {
		return Passkey{}, User{}, err
	}
	for _, p := range list {
		if subtle.ConstantTimeCompare(p.KeyID, keyID) == 1 && !user.Disabled {
			return p, user, nil
		}
	}
	return Passkey{}, User{}, fmt.Errorf("account: passkey: %w", ErrRefused)
}

// SignInByPasskey makes a cookie for the owner of a passkey whose signature the
// handler has found good. signCount and data are those of the signature. A counter
// that does not grow is put on record and refused with ErrCloned.
func (d *Directory) SignInByPasskey(ctx context.Context, p Passkey, signCount uint32, data []byte, device, address string) (Identity, string, error) {
	user, err := d.store.User(ctx, p.UserID)
	if err != nil || user.Disabled {
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", ErrRefused), err)
	}
	err = d.store.UsePasskey(ctx, p.PasskeyID, signCount, data, time.Now())
	if errors.Is(err, ErrCloned) {
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", err), d.record(ctx, Incident{
			What: "passkey_refused", By: IncidentPerson{UserID: user.UserID, Name: user.Name, Device: device, Address: address},
			PasskeyID: p.PasskeyID, PasskeyName: p.Name,
			Why: fmt.Sprintf("the counter of the passkey was %d and is now %d: there may be a copy of it", p.SignCount, signCount),
		}))
	}
	if err != nil {
		return Identity{}, "", refused("sign in", err)
	}
	c, secret, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByPasskey, MethodID: p.PasskeyID,
		CreatedBy: responsibleUser(user.UserID, p.CreatedBy, p.CreatedAt),
	}, CookieLife)
	if err != nil {
		return Identity{}, "", err
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.signedIn(ctx, id)
}

// Incident is an entry of the audit trail that is no answer.
type Incident struct {
	What        string         `json:"what"`
	At          time.Time      `json:"at"`
	By          IncidentPerson `json:"by"`
	PasskeyID   string         `json:"passkey_id,omitempty"`
	PasskeyName string         `json:"passkey_name,omitempty"`
	Issuer      string         `json:"issuer,omitempty"` // of an identity that was linked or unlinked
	Subject     string         `json:"subject,omitempty"`
	Why         string         `json:"why"`
	// User is whom an account event is about; with Role, what they may do since.
	User           *IncidentUser `json:"user,omitempty"`
	Role           Role          `json:"role,omitempty"`
	Method         Method        `json:"method,omitempty"` // of a sign-in
	CredentialID   string        `json:"credential_id,omitempty"`
	CredentialName string        `json:"credential_name,omitempty"`
	ExpiresAt      *time.Time    `json:"expires_at,omitempty"`
	Count          int           `json:"count,omitempty"` // of failures since the last entry about them
}

// IncidentPerson is in whose name something was tried, and from where.
type IncidentPerson struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address"`
}

// incident is the body of an entry, of this moment.
func incident(i Incident) ([]byte, error) {
	i.At = time.Now().UTC().Truncate(time.Microsecond)
	return json.Marshal(i)
}

func (d *Directory) record(ctx context.Context, i Incident) error {
	body, err := incident(i)
	if err == nil {
		err = d.store.AddIncident(ctx, body)
	}
	if err != nil {
		return fmt.Errorf("account: put on record: %w", err)
	}
	return nil
}
