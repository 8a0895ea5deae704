package account

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
)

// ErrNoRole: the claims of an identity provider give a person no role here.
var ErrNoRole = errors.New("the identity provider gives this person no role")

// Link connects a user to an identity at a provider. Issuer and subject together
// identify a person permanently; names and e-mail addresses do not.
type Link struct {
	Issuer, Subject string
	UserID          string
	CreatedAt       time.Time
	// ByHand is set if a person linked an existing account. The link then signs them in but
	// sets no role; otherwise the provider's claims set the role at each sign-in.
	ByHand bool
	// CreatedBy is as in [Credential.CreatedBy].
	CreatedBy string
}

// ID identifies a link among those of its user.
func (l Link) ID() string {
	return hex.EncodeToString(Hash(l.Issuer + "\x00" + l.Subject))[:32]
}

// LinkStore stores links. Writes survive a power cut before they return.
type LinkStore interface {
	// LinkedUser returns the user of an identity, or ErrNotFound.
	LinkedUser(ctx context.Context, issuer, subject string) (User, error)
	// AddLinkedUser stores a new user and their link, atomically. It returns ErrExists
	// for a known name or link.
	AddLinkedUser(ctx context.Context, u User, l Link) error
	// AddLink stores the link of an existing user and writes body to the audit log,
	// atomically. It returns ErrExists for a known link and ErrNotFound for an unknown
	// user.
	AddLink(ctx context.Context, l Link, body []byte) error
	// Links lists the links of a user, oldest first.
	Links(ctx context.Context, userID string) ([]Link, error)
	// RemoveLink removes a link, ends the user's cookies obtained through an identity provider
	// except keep, and writes body to the audit log, atomically. It returns ErrNotFound for
	// an unknown link.
	RemoveLink(ctx context.Context, l Link, keep string, body []byte) error
	// Linked reports whether any link exists.
	Linked(ctx context.Context) (bool, error)
}

// ExternalIdentity is a person as described by an identity provider.
type ExternalIdentity struct {
	Issuer, Subject string
	Name            string
	Role            Role // their role here, "" for none
}

// SignInByOIDC creates a cookie for a person whom an identity provider has
// authenticated. It creates a user for a new identity, and sets the role of a known
// user to the provider's. It returns ErrNoRole, after ending existing sign-ins, and
// ErrRefused for a disabled user.
func (d *Directory) SignInByOIDC(ctx context.Context, v ExternalIdentity, device, address string) (Identity, string, error) {
	maker := ""
	user, err := d.store.LinkedUser(ctx, v.Issuer, v.Subject)
	if err == nil && !user.Disabled {
		if v.Role, maker, err = d.roleAtSignIn(ctx, user, v); err != nil {
			return Identity{}, "", err
		}
	}
	switch {
	case errors.Is(err, ErrNotFound) && v.Role == "":
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrNoRole)
	case errors.Is(err, ErrNotFound):
		if user, err = d.createExternalUser(ctx, v); err != nil {
			return Identity{}, "", err
		}
	case err != nil:
		return Identity{}, "", fmt.Errorf("account: sign in: %w", err)
	case user.Disabled:
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrRefused)
	case v.Role == "":
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", ErrNoRole), d.endOIDCSignIns(ctx, user))
	}
	if user.Role != v.Role {
		if err := d.SetRole(WithActor(ctx, Identity{User: User{Name: "identity provider"}, From: address}), user.UserID, v.Role); err != nil {
			return Identity{}, "", err
		}
		user.Role = v.Role
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByOIDC, CreatedBy: maker}, CookieTTL)
	if err != nil {
		return Identity{}, "", err
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.recordSignIn(ctx, id)
}

// roleAtSignIn returns the role with which a known user signs in: the provider's or,
// for a link made by hand, the user's own. maker is responsible for the link.
func (d *Directory) roleAtSignIn(ctx context.Context, user User, v ExternalIdentity) (role Role, maker string, err error) {
	links, err := d.Links(ctx, user.UserID)
	for _, l := range links {
		if l.ByHand && l.Issuer == v.Issuer && l.Subject == v.Subject {
			return user.Role, responsibleUser(user.UserID, l.CreatedBy, l.CreatedAt), nil
		}
	}
	return v.Role, user.UserID, err
}

// Links lists the linked identities of a user, oldest first.
func (d *Directory) Links(ctx context.Context, userID string) ([]Link, error) {
	list, err := d.store.Links(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list links: %w", err)
	}
	return list, nil
}

// Link adds an authenticated identity as a sign-in method of who. It compares no names
// or e-mail addresses.
func (d *Directory) Link(ctx context.Context, who Identity, v ExternalIdentity) (Link, error) {
	existing, err := d.Links(ctx, who.User.UserID)
	if err != nil {
		return Link{}, err
	}
	for _, l := range existing {
		if l.Issuer == v.Issuer {
			return Link{}, problem.New("already_linked")
		}
	}
	l := Link{Issuer: v.Issuer, Subject: v.Subject, UserID: who.User.UserID, CreatedAt: time.Now(), ByHand: true, CreatedBy: who.responsibleUser()}
	body, err := d.linkIncident(who, "identity_linked", l)
	if err == nil {
		err = d.store.AddLink(ctx, l, body)
	}
	if errors.Is(err, ErrExists) {
		return Link{}, problem.New("identity_taken")
	}
	if err != nil {
		return Link{}, fmt.Errorf("account: link: %w", err)
	}
	return l, nil
}

// Unlink removes a link that who created by hand, and ends the sign-ins through it
// except the current one. The last sign-in method cannot be removed.
func (d *Directory) Unlink(ctx context.Context, who Identity, linkID string) error {
	existing, err := d.Links(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	for _, l := range existing {
		if l.ID() != linkID {
			continue
		}
		if !l.ByHand {
			return problem.New("cannot_unlink")
		}
		if len(existing) == 1 {
			if err := d.requireOtherMethod(ctx, who.User.UserID, 0); err != nil {
				return err
			}
		}
		body, err := d.linkIncident(who, "identity_unlinked", l)
		if err == nil {
			err = d.store.RemoveLink(ctx, l, who.Credential.CredentialID, body)
		}
		if err != nil {
			return fmt.Errorf("account: unlink: %w", err)
		}
		d.notifyChange()
		return nil
	}
	return fmt.Errorf("account: unlink: %w", ErrNotFound)
}

// requireOtherMethod returns an error if a user has no password and at most removed
// passkeys.
func (d *Directory) requireOtherMethod(ctx context.Context, userID string, removed int) error {
	user, err := d.User(ctx, userID)
	if err != nil || user.HasPassword {
		return err
	}
	keys, err := d.Passkeys(ctx, userID)
	if err == nil && len(keys) <= removed {
		err = problem.New("last_sign_in_way")
	}
	return err
}

func (d *Directory) linkIncident(who Identity, what string, l Link) ([]byte, error) {
	return encodeIncident(Incident{
		What: what, By: IncidentPerson{UserID: who.User.UserID, Name: who.User.Name, Device: who.Device(), Address: who.From},
		Issuer: l.Issuer, Subject: l.Subject,
	})
}

// createExternalUser creates a user for an identity. Parallel sign-ins of one person
// create one user.
func (d *Directory) createExternalUser(ctx context.Context, v ExternalIdentity) (User, error) {
	name := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(v.Name, ""))
	if len(name) > maxName-10 { // leave space for a number
		name = strings.ToValidUTF8(name[:maxName-10], "")
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "somebody"
	}
	for try := 0; ; try++ {
		users, err := d.Users(ctx)
		if err != nil {
			return User{}, err
		}
		now := time.Now()
		u := User{UserID: uuid.NewString(), Name: freeName(users, name), Role: v.Role, CreatedAt: now}
		err = d.store.AddLinkedUser(ctx, u, Link{Issuer: v.Issuer, Subject: v.Subject, UserID: u.UserID, CreatedAt: now})
		if !errors.Is(err, ErrExists) {
			if err != nil {
				return User{}, fmt.Errorf("account: add a person of an identity provider: %w", err)
			}
			return u, d.recordByActor(WithActor(ctx, Identity{User: User{Name: "identity provider"}}), Incident{What: EventUserCreated, User: incidentUser(u), Role: u.Role, Issuer: v.Issuer, Subject: v.Subject})
		}
		known, lookErr := d.store.LinkedUser(ctx, v.Issuer, v.Subject)
		if lookErr == nil && known.Disabled {
			return User{}, fmt.Errorf("account: sign in: %w", ErrRefused)
		}
		if lookErr == nil || try == 10 || !errors.Is(lookErr, ErrNotFound) {
			return known, lookErr
		}
	}
}

// endOIDCSignIns ends the sign-ins of a user through an identity provider.
func (d *Directory) endOIDCSignIns(ctx context.Context, u User) error {
	list, err := d.SignIns(ctx, u.UserID)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Method == ByOIDC {
			if err := d.revoke(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}
