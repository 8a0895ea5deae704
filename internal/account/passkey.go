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
	// FreshSignIn is how long after a sign-in a person without a password may add a
	// passkey, because they cannot prove their identity otherwise.
	FreshSignIn = 10 * time.Minute
)

// Passkey is the stored part of a key pair whose private key is in an authenticator.
type Passkey struct {
	PasskeyID  string // UUID
	UserID     string
	Name       string
	KeyID      []byte // the authenticator's id for it, unique
	RPID       string // the domain it works on
	Data       []byte // the public key and more, encoded by package httpapi
	SignCount  uint32 // the highest seen; 0 for authenticators that do not count
	CreatedAt  time.Time
	LastUsedAt time.Time // zero before the first sign-in
	CreatedBy  string    // see [Credential.CreatedBy]
}

// PasskeyStore stores passkeys. Writes survive a power cut before they return.
type PasskeyStore interface {
	// AddPasskey stores a new passkey. It returns ErrExists for a known id or key and
	// ErrNotFound for an unknown user.
	AddPasskey(ctx context.Context, p Passkey) error
	// Passkeys lists the passkeys of a user, or of all users if userID is "", oldest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// UsePasskey records a use with its counter and data. It returns ErrCloned if the
	// counter does not grow, unless the old and the new value are 0, or ErrNotFound.
	UsePasskey(ctx context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error
	// RemovePasskey removes a user's passkey and ends the cookies created with it
	// except keep. It returns ErrNotFound if the user does not have it.
	RemovePasskey(ctx context.Context, userID, passkeyID, keep string) error
}

// ProveOwner checks that a person may add a sign-in method: they know their password
// or, without one, have just signed in. It returns ErrRefused for a wrong password and
// a [problem.Error] if the sign-in is too old.
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
	matches, err := d.checkPassword(ctx, stored, password)
	if err != nil {
		return err
	}
	if !matches {
		return fmt.Errorf("account: prove owner: %w", ErrRefused)
	}
	return nil
}

// refuseTokenHolder refuses a new sign-in method to a holder of a token, or of a
// credential created with one, if the user already has a method: only the token proves
// their identity, and the method would outlive it.
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

// Passkeys lists the passkeys of a user, or of all users if userID is "", oldest first.
func (d *Directory) Passkeys(ctx context.Context, userID string) ([]Passkey, error) {
	list, err := d.store.Passkeys(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list passkeys: %w", err)
	}
	return list, nil
}

// AddPasskey stores a passkey of who. The caller sets KeyID, RPID, Data and SignCount of p.
func (d *Directory) AddPasskey(ctx context.Context, who Identity, name string, p Passkey) (Passkey, error) {
	p, err := newPasskey(p, who, name)
	if err != nil {
		return Passkey{}, err
	}
	existing, err := d.Passkeys(ctx, who.User.UserID)
	if err != nil {
		return Passkey{}, err
	}
	if len(existing) >= maxPasskeys {
		return Passkey{}, problem.For("name", "too_many_passkeys", "max", maxPasskeys)
	}
	err = d.store.AddPasskey(ctx, p)
	if errors.Is(err, ErrExists) {
		return Passkey{}, problem.New("passkey_exists")
	}
	if err != nil {
		return Passkey{}, fmt.Errorf("account: add passkey: %w", err)
	}
	return p, d.recordByActor(WithActor(ctx, who), Incident{What: EventPasskeyAdded, User: incidentUser(who.User), PasskeyID: p.PasskeyID, PasskeyName: p.Name})
}

// newPasskey completes p as a new passkey of who.
func newPasskey(p Passkey, who Identity, name string) (Passkey, error) {
	name = strings.TrimSpace(name)
	isUnprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, isUnprintable) {
		return Passkey{}, problem.For("name", "passkey_name", "max", maxName)
	}
	p.PasskeyID, p.UserID, p.Name, p.CreatedAt, p.CreatedBy = uuid.NewString(), who.User.UserID, name, time.Now(), who.responsibleUser()
	return p, nil
}

// RemovePasskey removes a passkey of who and ends the sign-ins created with it except
// the current one. The last sign-in method cannot be removed.
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
	d.notifyChange()
	return d.recordByActor(WithActor(ctx, who), Incident{What: EventPasskeyRemoved, User: incidentUser(who.User), PasskeyID: passkeyID})
}

// PasskeyOf returns a passkey and its owner, or ErrRefused if the user does not have it
// or is disabled.
func (d *Directory) PasskeyOf(ctx context.Context, userID string, keyID []byte) (Passkey, User, error) {
	user, err := d.store.User(ctx, userID)
	if err != nil {
		return Passkey{}, User{}, refusedError("passkey", err)
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

// SignInByPasskey creates a cookie for the owner of a passkey whose signature the
// caller has verified. signCount and data come from the signature. A counter that does
// not grow is recorded and refused with ErrCloned.
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
		return Identity{}, "", refusedError("sign in", err)
	}
	c, secret, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByPasskey, MethodID: p.PasskeyID,
		CreatedBy: responsibleUser(user.UserID, p.CreatedBy, p.CreatedAt),
	}, CookieTTL)
	if err != nil {
		return Identity{}, "", err
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.recordSignIn(ctx, id)
}

// Incident is an audit entry about accounts, not about an answer to a request.
type Incident struct {
	What        string         `json:"what"`
	At          time.Time      `json:"at"`
	By          IncidentPerson `json:"by"`
	PasskeyID   string         `json:"passkey_id,omitempty"`
	PasskeyName string         `json:"passkey_name,omitempty"`
	Issuer      string         `json:"issuer,omitempty"` // of a linked or unlinked identity
	Subject     string         `json:"subject,omitempty"`
	Why         string         `json:"why"`
	// User is the user whom an account event concerns; Role is their new role.
	User           *IncidentUser `json:"user,omitempty"`
	Role           Role          `json:"role,omitempty"`
	Method         Method        `json:"method,omitempty"` // of a sign-in
	CredentialID   string        `json:"credential_id,omitempty"`
	CredentialName string        `json:"credential_name,omitempty"`
	ExpiresAt      *time.Time    `json:"expires_at,omitempty"`
	Count          int           `json:"count,omitempty"` // failures since the last entry about them
}

// IncidentPerson is who acted, and from where.
type IncidentPerson struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address"`
}

// encodeIncident returns the JSON of an incident, with the current time.
func encodeIncident(i Incident) ([]byte, error) {
	i.At = time.Now().UTC().Truncate(time.Microsecond)
	return json.Marshal(i)
}

func (d *Directory) record(ctx context.Context, i Incident) error {
	body, err := encodeIncident(i)
	if err == nil {
		err = d.store.AddIncident(ctx, body)
	}
	if err != nil {
		return fmt.Errorf("account: put on record: %w", err)
	}
	for _, f := range d.onIncident {
		f(ctx, i)
	}
	return nil
}
