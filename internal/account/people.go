package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/secure/precis"

	"github.com/sayso-dev/sayso/internal/problem"
)

// maxName is the length of a user's name in bytes.
const maxName = 100

// SignInByPassword makes a cookie for who has this name and password, or returns
// ErrRefused. It takes as long for a name that nobody has. address is where the
// person comes from.
func (d *Directory) SignInByPassword(ctx context.Context, name, password, device, address string) (Identity, string, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return Identity{}, "", fmt.Errorf("account: list users: %w", err)
	}
	user, found := FindUser(users, name)
	if !found {
		user = User{UserID: uuid.NewString()}
	}
	stored, err := d.store.Password(ctx, user.UserID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Identity{}, "", fmt.Errorf("account: sign in: %w", err)
	}
	known := stored != "" && !user.Disabled
	if !known {
		stored = nobodysPassword()
	}
	right, err := d.checkPassword(ctx, stored, password)
	if err != nil {
		return Identity{}, "", err
	}
	if !right || !known {
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrRefused)
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByPassword,
		CreatedBy: responsibleUser(user.UserID, user.PasswordBy, user.PasswordAt)}, CookieLife)
	if err != nil {
		return Identity{}, "", err
	}
	// A change of the password ends all sign-ins, and this one began before it
	// was there to be ended.
	if now, err := d.store.Password(ctx, user.UserID); err != nil || now != stored {
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", ErrRefused), d.revoke(ctx, c))
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.signedIn(ctx, id)
}

// Unclaimed reports whether nobody can sign in yet but by a link: no user has a
// password or a passkey, none came from an identity provider, and there is no live API token of an admin.
func (d *Directory) Unclaimed(ctx context.Context) (bool, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return false, fmt.Errorf("account: list users: %w", err)
	}
	admins := map[string]bool{}
	for _, u := range users {
		if u.HasPassword && !u.Disabled {
			return false, nil
		}
		admins[u.UserID] = u.Role == Admin && !u.Disabled
	}
	keys, err := d.Passkeys(ctx, "")
	if err != nil || len(keys) > 0 {
		return false, err
	}
	linked, err := d.store.Linked(ctx)
	if err != nil || linked {
		return false, err
	}
	all, err := d.store.Credentials(ctx, "")
	if err != nil {
		return false, fmt.Errorf("account: list credentials: %w", err)
	}
	now := time.Now()
	for _, c := range all {
		if c.Kind == APIToken && admins[c.UserID] && c.Role == "" && c.live(now) {
			return false, nil
		}
	}
	return true, nil
}

func (c Credential) live(now time.Time) bool {
	return !c.Revoked && (c.ExpiresAt.IsZero() || now.Before(c.ExpiresAt))
}

// SetUp gives the first admin, who came by the link of an unclaimed server, a
// name and a password. Every other link and sign-in of theirs ends. Of several
// callers one wins; the others get ErrChanged.
func (d *Directory) SetUp(ctx context.Context, who Identity, name, password string) (User, error) {
	name, err := d.CheckSetUpName(ctx, who, name)
	if err != nil {
		return User{}, err
	}
	to, err := d.newPassword(ctx, name, password)
	if err != nil {
		return User{}, err
	}
	return d.setUp(ctx, who, UserChange{
		Name: &name, Unclaimed: true, Password: &PasswordChange{To: to, Keep: who.Credential.CredentialID, By: who.responsibleUser(), At: time.Now()},
	})
}

// SetUpByPasskey is SetUp with a passkey instead of a password; p is as for
// [Directory.AddPasskey].
func (d *Directory) SetUpByPasskey(ctx context.Context, who Identity, name, passkeyName string, p Passkey) (User, error) {
	name, err := d.CheckSetUpName(ctx, who, name)
	if err != nil {
		return User{}, err
	}
	p, err = newPasskey(p, who, passkeyName)
	if err != nil {
		return User{}, err
	}
	return d.setUp(ctx, who, UserChange{
		Name: &name, Unclaimed: true, Passkey: &FirstPasskey{Passkey: p, Keep: who.Credential.CredentialID},
	})
}

func (d *Directory) setUp(ctx context.Context, who Identity, c UserChange) (User, error) {
	u, err := d.change(ctx, who.User.UserID, c)
	if err == nil {
		err = d.note(WithActor(ctx, who), Incident{What: EventSetUp, User: about(u)})
	}
	return u, err
}

// CheckSetUpName returns the name as it is stored, when who asks can become the first
// admin under it; else ErrChanged or a [problem.Error].
func (d *Directory) CheckSetUpName(ctx context.Context, who Identity, name string) (string, error) {
	unclaimed, err := d.Unclaimed(ctx)
	if err != nil {
		return "", err
	}
	if !unclaimed || who.User.Role != Admin {
		return "", fmt.Errorf("account: set up: %w", ErrChanged)
	}
	return d.validName(ctx, name, who.User.UserID)
}

// NeedsSignInMethod reports whether a person came by a sign-in link and has no other way
// to come again: no password, passkey, linked identity or live API token.
func (d *Directory) NeedsSignInMethod(ctx context.Context, who Identity) (bool, error) {
	if who.User.HasPassword || who.Credential.Kind != Cookie || who.Credential.Method != ByLink {
		return false, nil
	}
	keys, err := d.Passkeys(ctx, who.User.UserID)
	if err != nil || len(keys) > 0 {
		return false, err
	}
	links, err := d.Links(ctx, who.User.UserID)
	if err != nil || len(links) > 0 {
		return false, err
	}
	all, err := d.store.Credentials(ctx, who.User.UserID)
	if err != nil {
		return false, fmt.Errorf("account: list credentials: %w", err)
	}
	now := time.Now()
	return !slices.ContainsFunc(all, func(c Credential) bool { return c.Kind == APIToken && c.live(now) }), nil
}

// ChangePassword replaces the password of who asks, who must know the present
// one if there is one. Their other sign-ins end.
func (d *Directory) ChangePassword(ctx context.Context, who Identity, present, next string) error {
	stored, err := d.store.Password(ctx, who.User.UserID)
	if err != nil {
		return fmt.Errorf("account: change password: %w", err)
	}
	if stored != "" {
		right, err := d.checkPassword(ctx, stored, present)
		if err != nil {
			return err
		}
		if !right {
			return fmt.Errorf("account: change password: %w", ErrRefused)
		}
	}
	if stored == "" {
		if err := d.refuseTokenHolder(ctx, who); err != nil {
			return err
		}
	}
	to, err := d.newPassword(ctx, who.User.Name, next)
	if err != nil {
		return err
	}
	u, err := d.change(ctx, who.User.UserID, UserChange{Password: &PasswordChange{
		From: &stored, To: to, Keep: who.Credential.CredentialID, By: who.responsibleUser(), At: time.Now(),
	}})
	if err == nil {
		err = d.note(WithActor(ctx, who), Incident{What: EventPasswordSet, User: about(u)})
	}
	return err
}

// ResetPassword gives a user another password, and ends all their sign-ins.
func (d *Directory) ResetPassword(ctx context.Context, userID, password string) (User, error) {
	u, err := d.store.User(ctx, userID)
	if err != nil {
		return User{}, fmt.Errorf("account: reset password: %w", err)
	}
	to, err := d.newPassword(ctx, u.Name, password)
	if err != nil {
		return User{}, err
	}
	u, err = d.change(ctx, u.UserID, UserChange{Password: &PasswordChange{To: to, By: actor(ctx).responsibleUser(), At: time.Now()}})
	if err == nil {
		err = d.note(ctx, Incident{What: EventPasswordSet, User: about(u)})
	}
	return u, err
}

// newPassword is what is stored of a password that is good for a user of that name.
func (d *Directory) newPassword(ctx context.Context, name, password string) (string, error) {
	if err := validPassword(name, password); err != nil {
		return "", err
	}
	return d.hashPassword(ctx, password)
}

// Users lists everybody, the oldest first.
func (d *Directory) Users(ctx context.Context) ([]User, error) {
	list, err := d.store.Users(ctx)
	if err != nil {
		return nil, fmt.Errorf("account: list users: %w", err)
	}
	return list, nil
}

// User returns a user, or ErrNotFound.
func (d *Directory) User(ctx context.Context, userID string) (User, error) {
	u, err := d.store.User(ctx, userID)
	if err != nil {
		return User{}, fmt.Errorf("account: user: %w", err)
	}
	return u, nil
}

// CreateUser makes a person. Without a password they come in by a sign-in link.
func (d *Directory) CreateUser(ctx context.Context, name string, role Role, password string) (User, error) {
	name, err := d.validName(ctx, name, "")
	if err != nil {
		return User{}, err
	}
	if rank[role] == 0 {
		return User{}, problem.For("role", "role_unknown")
	}
	if password != "" {
		if err := validPassword(name, password); err != nil {
			return User{}, err
		}
	}
	u := User{UserID: uuid.NewString(), Name: name, Role: role, CreatedAt: time.Now(), CreatedBy: actor(ctx).responsibleUser()}
	err = d.store.PutUser(ctx, u)
	if errors.Is(err, ErrExists) {
		return User{}, nameTaken()
	}
	if err != nil {
		return User{}, fmt.Errorf("account: create user: %w", err)
	}
	if err := d.note(ctx, Incident{What: EventUserCreated, User: about(u), Role: role}); err != nil || password == "" {
		return u, err
	}
	return d.ResetPassword(ctx, u.UserID, password)
}

// SetRole changes what a user may do, also on their open connections.
func (d *Directory) SetRole(ctx context.Context, userID string, role Role) error {
	if rank[role] == 0 {
		return problem.For("role", "role_unknown")
	}
	u, err := d.change(ctx, userID, UserChange{Role: &role})
	if err == nil {
		err = d.note(ctx, Incident{What: EventRoleChanged, User: about(u), Role: role})
	}
	return err
}

// SetDisabled shuts a user out, with all credentials they have, or lets them make
// new ones.
func (d *Directory) SetDisabled(ctx context.Context, userID string, disabled bool) error {
	u, err := d.change(ctx, userID, UserChange{Disabled: &disabled})
	if err != nil {
		return err
	}
	what := EventUserEnabled
	if disabled {
		what = EventUserDisabled
	}
	return d.note(ctx, Incident{What: what, User: about(u)})
}

func (d *Directory) change(ctx context.Context, userID string, c UserChange) (User, error) {
	u, err := d.store.ChangeUser(ctx, userID, c)
	switch {
	case errors.Is(err, ErrExists):
		return User{}, nameTaken()
	case errors.Is(err, ErrLastAdmin):
		return User{}, problem.For("role", "last_admin")
	case err != nil:
		return User{}, fmt.Errorf("account: change user: %w", err)
	}
	d.announce()
	return u, nil
}

// validName returns a name as it is stored, when nobody but except has it.
func (d *Directory) validName(ctx context.Context, name, except string) (string, error) {
	name = strings.TrimSpace(name)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return "", problem.For("name", "user_name_invalid", "max", maxName)
	}
	if _, err := precis.Nickname.CompareKey(name); err != nil || mixesScripts(name) {
		return "", problem.For("name", "user_name_confusing")
	}
	users, err := d.Users(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range users {
		if u.UserID != except && sameName(u.Name, name) {
			return "", nameTaken()
		}
	}
	return name, nil
}

// SignIns lists the browsers in which a user is signed in, the oldest first.
func (d *Directory) SignIns(ctx context.Context, userID string) ([]Credential, error) {
	all, err := d.store.Credentials(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list credentials: %w", err)
	}
	now := time.Now()
	var list []Credential
	for _, c := range all {
		if c.Kind == Cookie && c.UserID == userID && c.live(now) {
			list = append(list, c)
		}
	}
	return list, nil
}

// EndSignIn ends a sign-in of a user; ErrNotFound when they have none of that id.
func (d *Directory) EndSignIn(ctx context.Context, userID, credentialID string) error {
	list, err := d.SignIns(ctx, userID)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.CredentialID == credentialID {
			return d.revoke(ctx, c)
		}
	}
	return fmt.Errorf("account: end sign-in: %w", ErrNotFound)
}
