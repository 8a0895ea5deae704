package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
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
}

// LinkStore remembers links. Writes survive a power cut before they return.
type LinkStore interface {
	// LinkedUser returns the user whom an issuer knows by a subject, or ErrNotFound.
	LinkedUser(ctx context.Context, issuer, subject string) (User, error)
	// AddLinkedUser stores a new user together with their link, or neither.
	// ErrExists when the name or the link is known.
	AddLinkedUser(ctx context.Context, u User, l Link) error
	// Linked reports whether there is any link.
	Linked(ctx context.Context) (bool, error)
}

// Vouched is a person as an identity provider vouches for them.
type Vouched struct {
	Issuer, Subject string
	Name            string
	Role            Role // that they are to have here, "" for none
}

// SignInByOIDC makes a cookie for a person for whom an identity provider vouches.
// Who is new becomes a user; the role of who is known becomes what the provider
// says now. ErrNoRole ends what they had, ErrRefused is who was shut out.
func (d *Directory) SignInByOIDC(ctx context.Context, v Vouched, device, address string) (Identity, string, error) {
	user, err := d.store.LinkedUser(ctx, v.Issuer, v.Subject)
	switch {
	case errors.Is(err, ErrNotFound) && v.Role == "":
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrNoRole)
	case errors.Is(err, ErrNotFound):
		if user, err = d.addVouched(ctx, v); err != nil {
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
		if err := d.SetRole(ctx, user.UserID, v.Role); err != nil {
			return Identity{}, "", err
		}
		user.Role = v.Role
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByOIDC}, CookieLife)
	if err != nil {
		return Identity{}, "", err
	}
	return Identity{User: user, Credential: c}, secret, nil
}

// addVouched makes a user. Of two sign-ins at once of one person, one makes them.
func (d *Directory) addVouched(ctx context.Context, v Vouched) (User, error) {
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
			return u, nil
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
			if err := d.revoke(ctx, c.CredentialID); err != nil {
				return err
			}
		}
	}
	return nil
}
