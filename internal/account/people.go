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

// maxName is the maximum length of a user's name, in bytes.
const maxName = 100

// SignInByPassword creates a cookie for the user with this name and password, or
// returns ErrRefused. It takes as long for unknown names. device and address describe the
// browser.
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
	canSignIn := stored != "" && !user.Disabled
	if !canSignIn {
		stored = dummyPassword()
	}
	matches, err := d.checkPassword(ctx, stored, password)
	if err != nil {
		return Identity{}, "", err
	}
	if !matches || !canSignIn {
		return Identity{}, "", fmt.Errorf("account: sign in: %w", ErrRefused)
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByPassword,
		CreatedBy: responsibleUser(user.UserID, user.PasswordBy, user.PasswordAt)}, CookieTTL)
	if err != nil {
		return Identity{}, "", err
	}
	// If the password was changed meanwhile, that change may have been too early to end this
	// sign-in.
	if now, err := d.store.Password(ctx, user.UserID); err != nil || now != stored {
		return Identity{}, "", errors.Join(fmt.Errorf("account: sign in: %w", ErrRefused), d.revoke(ctx, c))
	}
	id := Identity{User: user, Credential: c}
	return id, secret, d.recordSignIn(ctx, id)
}

// Unclaimed reports whether the server still waits for its first admin: no user has a
// password, passkey or linked identity, and no admin a live API token.
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
		if c.Kind == APIToken && admins[c.UserID] && c.Role == "" && c.isLive(now) {
			return false, nil
		}
	}
	return true, nil
}

func (c Credential) isLive(now time.Time) bool {
	return !c.Revoked && (c.ExpiresAt.IsZero() || now.Before(c.ExpiresAt))
}

// SetUp gives the first admin, who signed in by the link of an unclaimed server, a name and
// a password. It ends their other links and sign-ins. If several callers try, only one
// succeeds; the others get ErrChanged.
func (d *Directory) SetUp(ctx context.Context, who Identity, name, password string) (User, error) {
	name, err := d.CheckSetUpName(ctx, who, name)
	if err != nil {
		return User{}, err
	}
	hash, err := d.hashNewPassword(ctx, name, password)
	if err != nil {
		return User{}, err
	}
	return d.setUp(ctx, who, UserChange{
		Name: &name, Unclaimed: true, Password: &PasswordChange{To: hash, KeepCredentialID: who.Credential.CredentialID, By: who.responsibleUser(), At: time.Now()},
	})
}

// SetUpByPasskey is SetUp with a passkey instead of a password; for p, see
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
		Name: &name, Unclaimed: true, Passkey: &FirstPasskey{Passkey: p, KeepCredentialID: who.Credential.CredentialID},
	})
}

func (d *Directory) setUp(ctx context.Context, who Identity, c UserChange) (User, error) {
	u, err := d.changeUser(ctx, who.User.UserID, c)
	if err == nil {
		err = d.recordByActor(WithActor(ctx, who), Incident{What: EventSetUp, User: incidentUser(u)})
	}
	return u, err
}

// CheckSetUpName returns the stored form of a name if who can become the first admin
// under it, otherwise ErrChanged or a [problem.Error].
func (d *Directory) CheckSetUpName(ctx context.Context, who Identity, name string) (string, error) {
	unclaimed, err := d.Unclaimed(ctx)
	if err != nil {
		return "", err
	}
	if !unclaimed || who.User.Role != Admin {
		return "", fmt.Errorf("account: set up: %w", ErrChanged)
	}
	return d.checkName(ctx, name, who.User.UserID)
}

// NeedsSignInMethod reports whether a person signed in by a sign-in link and has no other
// way to sign in: no password, passkey, linked identity or live API token.
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
	return !slices.ContainsFunc(all, func(c Credential) bool { return c.Kind == APIToken && c.isLive(now) }), nil
}

// ChangePassword replaces the password of who, who must know the current one if there
// is one. It ends their other sign-ins.
func (d *Directory) ChangePassword(ctx context.Context, who Identity, current, next string) error {
	stored, err := d.store.Password(ctx, who.User.UserID)
	if err != nil {
		return fmt.Errorf("account: change password: %w", err)
	}
	if stored != "" {
		matches, err := d.checkPassword(ctx, stored, current)
		if err != nil {
			return err
		}
		if !matches {
			return fmt.Errorf("account: change password: %w", ErrRefused)
		}
	}
	if stored == "" {
		if err := d.refuseTokenHolder(ctx, who); err != nil {
			return err
		}
	}
	hash, err := d.hashNewPassword(ctx, who.User.Name, next)
	if err != nil {
		return err
	}
	u, err := d.changeUser(ctx, who.User.UserID, UserChange{Password: &PasswordChange{
		From: &stored, To: hash, KeepCredentialID: who.Credential.CredentialID, By: who.responsibleUser(), At: time.Now(),
	}})
	if err == nil {
		err = d.recordByActor(WithActor(ctx, who), Incident{What: EventPasswordSet, User: incidentUser(u)})
	}
	return err
}

// ResetPassword sets a user's password and ends all their sign-ins.
func (d *Directory) ResetPassword(ctx context.Context, userID, password string) (User, error) {
	u, err := d.store.User(ctx, userID)
	if err != nil {
		return User{}, fmt.Errorf("account: reset password: %w", err)
	}
	hash, err := d.hashNewPassword(ctx, u.Name, password)
	if err != nil {
		return User{}, err
	}
	u, err = d.changeUser(ctx, u.UserID, UserChange{Password: &PasswordChange{To: hash, By: actorOf(ctx).responsibleUser(), At: time.Now()}})
	if err == nil {
		err = d.recordByActor(ctx, Incident{What: EventPasswordSet, User: incidentUser(u)})
	}
	return u, err
}

// hashNewPassword checks and hashes a new password for a user of that name.
func (d *Directory) hashNewPassword(ctx context.Context, name, password string) (string, error) {
	if err := checkNewPassword(name, password); err != nil {
		return "", err
	}
	return d.hashPassword(ctx, password)
}

// Users lists all users, oldest first.
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

// CreateUser creates a user. Without a password they need a sign-in link.
func (d *Directory) CreateUser(ctx context.Context, name string, role Role, password string) (User, error) {
	name, err := d.checkName(ctx, name, "")
	if err != nil {
		return User{}, err
	}
	if rank[role] == 0 {
		return User{}, problem.For("role", "role_unknown")
	}
	if password != "" {
		if err := checkNewPassword(name, password); err != nil {
			return User{}, err
		}
	}
	u := User{UserID: uuid.NewString(), Name: name, Role: role, CreatedAt: time.Now(), CreatedBy: actorOf(ctx).responsibleUser()}
	err = d.store.PutUser(ctx, u)
	if errors.Is(err, ErrExists) {
		return User{}, nameTaken()
	}
	if err != nil {
		return User{}, fmt.Errorf("account: create user: %w", err)
	}
	if err := d.recordByActor(ctx, Incident{What: EventUserCreated, User: incidentUser(u), Role: role}); err != nil || password == "" {
		return u, err
	}
	return d.ResetPassword(ctx, u.UserID, password)
}

// SetRole changes a user's role, also on open connections.
func (d *Directory) SetRole(ctx context.Context, userID string, role Role) error {
	if rank[role] == 0 {
		return problem.For("role", "role_unknown")
	}
	u, err := d.changeUser(ctx, userID, UserChange{Role: &role})
	if err == nil {
		err = d.recordByActor(ctx, Incident{What: EventRoleChanged, User: incidentUser(u), Role: role})
	}
	return err
}

// SetDisabled disables a user, which ends all their credentials, or enables them.
func (d *Directory) SetDisabled(ctx context.Context, userID string, disabled bool) error {
	u, err := d.changeUser(ctx, userID, UserChange{Disabled: &disabled})
	if err != nil {
		return err
	}
	what := EventUserEnabled
	if disabled {
		what = EventUserDisabled
	}
	return d.recordByActor(ctx, Incident{What: what, User: incidentUser(u)})
}

func (d *Directory) changeUser(ctx context.Context, userID string, c UserChange) (User, error) {
	u, err := d.store.ChangeUser(ctx, userID, c)
	switch {
	case errors.Is(err, ErrExists):
		return User{}, nameTaken()
	case errors.Is(err, ErrLastAdmin):
		return User{}, problem.For("role", "last_admin")
	case err != nil:
		return User{}, fmt.Errorf("account: change user: %w", err)
	}
	d.notifyChange()
	return u, nil
}

// checkName returns the stored form of a name that no user except exceptUserID has.
func (d *Directory) checkName(ctx context.Context, name, exceptUserID string) (string, error) {
	name = strings.TrimSpace(name)
	isUnprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, isUnprintable) {
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
		if u.UserID != exceptUserID && sameName(u.Name, name) {
			return "", nameTaken()
		}
	}
	return name, nil
}

// SignIns lists the live cookies of a user, oldest first.
func (d *Directory) SignIns(ctx context.Context, userID string) ([]Credential, error) {
	all, err := d.store.Credentials(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: list credentials: %w", err)
	}
	now := time.Now()
	var list []Credential
	for _, c := range all {
		if c.Kind == Cookie && c.UserID == userID && c.isLive(now) {
			list = append(list, c)
		}
	}
	return list, nil
}

// EndSignIn ends a sign-in of a user, or returns ErrNotFound.
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
