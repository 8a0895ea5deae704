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

// ErrNoRole: an identity provider vouches for a person, and none of what it says
// gives them a role here.
var ErrNoRole = errors.New("the identity provider gives this person no role")

// Link says who a user is to an identity provider. Issuer and subject together
// name one person for ever; names and e-mail addresses do not.
type Link struct {
	Issuer, Subject string
	UserID          string
	CreatedAt       time.Time
	// ByHand: a person linked the account that they had. It signs them in and gives
	// no role; what made the account says its role at each sign-in.
	ByHand bool
	// CreatedBy: see [Credential.CreatedBy].
	CreatedBy string
}

// ID names a link to the person whose it is.
func (l Link) ID() string {
	return hex.EncodeToString(Hash(l.Issuer + "\x00" + l.Subject))[:32]
}

// LinkStore remembers links. Writes survive a power cut before they return.
type LinkStore interface {
	// LinkedUser returns the user whom an issuer knows by a subject, or ErrNotFound.
	LinkedUser(ctx context.Context, issuer, subject string) (User, error)
	// AddLinkedUser stores a new user together with their link, or neither.
	// ErrExists when the name or the link is known.
	AddLinkedUser(ctx context.Context, u User, l Link) error
	// AddLink stores the link of a known user and puts body on record, or neither.
	// ErrExists when somebody has the link, ErrNotFound when there is no such user.
	AddLink(ctx context.Context, l Link, body []byte) error
	// Links lists those of a user, the oldest first.
	Links(ctx context.Context, userID string) ([]Link, error)
	// RemoveLink forgets a link of its user, ends the cookies that an identity
	// provider opened for them but keep, and puts body on record. ErrNotFound.
	RemoveLink(ctx context.Context, l Link, keep string, body []byte) error
	// Linked reports whether there is any link.
	Linked(ctx context.Context) (bool, error)
}

// ExternalIdentity is a person as an identity provider vouches for them.
type ExternalIdentity struct {
	Issuer, Subject string
	Name            string
	Role            Role // that they are to have here, "" for none
}

// SignInByOIDC makes a cookie for a person for whom an identity provider vouches.
// Who is new becomes a user; the role of who is known becomes what the provider
// says now. ErrNoRole ends what they had, ErrRefused is who was shut out.
func (d *Directory) SignInByOIDC(ctx context.Context, v ExternalIdentity, device, address string) (Identity, string, error) {
	maker := ""
	user, err := d.store.LinkedUser(ctx, v.Issuer, v.Subject)
	if err == nil && !user.Disabled {
		if v.Role, maker, err = d.roleOf(ctx, user, v); err != nil {
			return Identity{}, "", err
		}
	}
	switch {
	case errors.Is(err, ErrNotFound) && v.Role == "":
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrNoRole)
	case errors.Is(err, ErrNotFound):
		if user, err = d.addExternal(ctx, v); err != nil {
			return Identity{}, "", err
		}
	case err != nil:
		return Identity{}, "", fmt.Errorf("account: sign in: %w", err)
	case user.Disabled:
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrRefused)
	case v.Role == "":
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", ErrNoRole), d.endOIDC(ctx, user))
	}
	if user.Role != v.Role {
		if err := d.SetRole(WithActor(ctx, Identity{User: User{Name: "identity provider"}, From: address}), user.UserID, v.Role); err != nil {
			return Identity{}, "", err
		}
		user.Role = v.Role
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByOIDC, CreatedBy: maker}, CookieLife)
	if err != nil {
		return Identity{}, "", err
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.signedIn(ctx, id)
}

// roleOf is the role with which a known user comes in: what the provider says,
// unless they linked the account that they had. maker is who is behind the link.
func (d *Directory) roleOf(ctx context.Context, user User, v ExternalIdentity) (role Role, maker string, err error) {
	links, err := d.Links(ctx, user.UserID)
	for _, l := range links {
		if l.ByHand && l.Issuer == v.Issuer && l.Subject == v.Subject {
			return user.Role, responsibleUser(user.UserID, l.CreatedBy, l.CreatedAt), nil
		}
	}
	return v.Role, user.UserID, err
}

// Links lists the identities of a user at providers, the oldest first.
func (d *Directory) Links(ctx context.Context, userID string) ([]Link, error) {
	list, err := d.store.Links(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list links: %w", err)
	}
	return list, nil
}

// Link adds the identity for which a provider vouches as a way in for who asks.
// It never looks at names or e-mail addresses, and takes nothing from anybody.
func (d *Directory) Link(ctx context.Context, who Identity, v ExternalIdentity) (Link, error) {
	have, err := d.Links(ctx, who.User.UserID)
	if err != nil {
		return Link{}, err
	}
	for _, l := range have {
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

// Unlink takes a link back that who asks made. The sign-ins through it end, but
// for the one that asks. The last way in stays.
func (d *Directory) Unlink(ctx context.Context, who Identity, linkID string) error {
	have, err := d.Links(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	for _, l := range have {
		if l.ID() != linkID {
			continue
		}
		if !l.ByHand {
			return problem.New("cannot_unlink")
		}
		if len(have) == 1 {
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
		d.announce()
		return nil
	}
	return fmt.Errorf("account: unlink: %w", ErrNotFound)
}

// requireOtherMethod refuses when a user has neither a password nor more passkeys than
// those that go.
func (d *Directory) requireOtherMethod(ctx context.Context, userID string, going int) error {
	user, err := d.User(ctx, userID)
	if err != nil || user.HasPassword {
		return err
	}
	keys, err := d.Passkeys(ctx, userID)
	if err == nil && len(keys) <= going {
		err = problem.New("last_sign_in_way")
	}
	return err
}

func (d *Directory) linkIncident(who Identity, what string, l Link) ([]byte, error) {
	return incident(Incident{
		What: what, By: IncidentPerson{UserID: who.User.UserID, Name: who.User.Name, Device: who.Device(), Address: who.From},
		Issuer: l.Issuer, Subject: l.Subject,
	})
}

// addExternal makes a user. Of two sign-ins at once of one person, one makes them.
func (d *Directory) addExternal(ctx context.Context, v ExternalIdentity) (User, error) {
	name := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(v.Name, ""))
	if len(name) > maxName-10 { // room for a number
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
			return u, d.note(WithActor(ctx, Identity{User: User{Name: "identity provider"}}), Incident{What: EventUserCreated, User: about(u), Role: u.Role, Issuer: v.Issuer, Subject: v.Subject})
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

// endOIDC ends the sign-ins of a user that an identity provider opened.
func (d *Directory) endOIDC(ctx context.Context, u User) error {
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
