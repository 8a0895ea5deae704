package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
)

// How long credentials live. An API token lives as long as its maker said.
const (
	SignInLinkTTL = 10 * time.Minute
	CookieLife    = 30 * 24 * time.Hour
)

// MinBootstrapToken is how long a bootstrap token must be, in bytes: it is
// chosen outside and never runs out, so it must not be guessable.
const MinBootstrapToken = 32

// bootstrapName is the name of the token that [Directory.Prepare] stores.
const bootstrapName = "bootstrap"

// touchEvery is how often a use of one credential is written down.
const touchEvery = time.Minute

// A Directory knows who may come in. All methods may be called from any
// goroutine; no lock is held across a call to the store.
type Directory struct {
	store  Store
	checks chan struct{} // passwords that are checked

	mu       sync.Mutex
	touched  map[string]time.Time // credential id → when its last use was stored
	known    map[string]known     // by hash of the credential
	failures failureLog
	changed  []func() // called after a sign-in ended or a role changed
}

// NewDirectory returns a directory over a store.
func NewDirectory(store Store) *Directory {
	return &Directory{store: store, checks: make(chan struct{}, checksAtOnce), touched: map[string]time.Time{}, known: map[string]known{}}
}

// Identity is a person together with the credential that proved it.
type Identity struct {
	User       User
	Credential Credential
	From       string // the address they speak from, "" when nobody said
}

// Device says with what the person acts: the device of a cookie or the name of
// a token.
func (id Identity) Device() string {
	if id.Credential.Kind == APIToken {
		return "token " + id.Credential.Name
	}
	return id.Credential.Name
}

// OnChange adds a function that is called after a credential was revoked here,
// so that whoever holds open connections looks again. It must not block. Call it
// before the directory is in use.
func (d *Directory) OnChange(f func()) { d.changed = append(d.changed, f) }

// Prepare makes the directory fit for use and returns its first admin, which it
// creates when there is none. bootstrapToken, when not "", becomes an API token
// of that admin; one that an admin revoked stays revoked, and the one of an
// earlier start with another value is revoked.
func (d *Directory) Prepare(ctx context.Context, bootstrapToken string) (User, error) {
	if bootstrapToken != "" && len(bootstrapToken) < MinBootstrapToken {
		return User{}, fmt.Errorf("account: the bootstrap token must have at least %d characters", MinBootstrapToken)
	}
	if isExampleSecret(bootstrapToken) {
		return User{}, errors.New("account: the bootstrap token is an example that everybody knows; make one of your own, such as with: openssl rand -hex 32")
	}
	admin, err := d.FirstAdmin(ctx)
	if err != nil {
		return User{}, err
	}
	all, err := d.store.Credentials(ctx, "")
	if err != nil {
		return User{}, fmt.Errorf("account: list credentials: %w", err)
	}
	hash := Hash(bootstrapToken)
	known := bootstrapToken == ""
	for _, c := range all {
		if c.Kind != APIToken || c.Name != bootstrapName {
			continue
		}
		if bootstrapToken != "" && subtle.ConstantTimeCompare(c.Hash, hash) == 1 {
			known = true
		} else if !c.Revoked {
			if err := d.store.RevokeCredential(ctx, c.CredentialID); err != nil {
				return User{}, fmt.Errorf("account: revoke the former bootstrap token: %w", err)
			}
			if err := d.ended(ctx, c); err != nil {
				return User{}, err
			}
		}
	}
	if !known {
		c := Credential{
			CredentialID: uuid.NewString(), Kind: APIToken, UserID: admin.UserID, Name: bootstrapName,
			Hash: hash, CreatedAt: time.Now(),
		}
		if err := d.store.AddCredential(ctx, c); err != nil {
			return User{}, fmt.Errorf("account: store the bootstrap token: %w", err)
		}
		if err := d.recordToken(ctx, Identity{User: admin, Credential: c}); err != nil {
			return User{}, err
		}
	}
	return admin, nil
}

// isExampleSecret reports whether a secret was copied from an example, here or of
// other programs: they all say so somewhere in them.
func isExampleSecret(secret string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(secret))
	for _, mark := range []string{"changeme", "changeinproduction", "changethis", "replaceme", "yoursecret"} {
		if strings.Contains(plain, mark) {
			return true
		}
	}
	return false
}

// FirstAdmin returns the oldest admin, which it makes when there is none.
func (d *Directory) FirstAdmin(ctx context.Context) (User, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return User{}, fmt.Errorf("account: list users: %w", err)
	}
	var first User
	for _, u := range users {
		if u.Role == Admin && !u.Disabled && (first.UserID == "" || u.CreatedAt.Before(first.CreatedAt)) {
			first = u
		}
	}
	if first.UserID != "" {
		return first, nil
	}
	first = User{UserID: uuid.NewString(), Name: freeName(users, "admin"), Role: Admin, CreatedAt: time.Now()}
	if err := d.store.PutUser(ctx, first); err != nil {
		return User{}, fmt.Errorf("account: create the first user: %w", err)
	}
	return first, d.note(ctx, Incident{What: EventUserCreated, User: about(first), Role: Admin})
}

// freeName returns a name that nobody has yet.
func freeName(users []User, name string) string {
	taken := func(candidate string) bool {
		return slices.ContainsFunc(users, func(u User) bool { return sameName(u.Name, candidate) })
	}
	candidate := name
	for n := 2; taken(candidate); n++ {
		candidate = fmt.Sprintf("%s %d", name, n)
	}
	return candidate
}

// NewSignInLink returns the secret of a link that signs a user in once, within
// [SignInLinkTTL].
func (d *Directory) NewSignInLink(ctx context.Context, userID string) (secret string, err error) {
	_, secret, err = d.addCredential(ctx, Credential{Kind: SignInLink, UserID: userID}.boundedBy(actor(ctx)), SignInLinkTTL)
	if err != nil {
		return "", err
	}
	u, err := d.User(ctx, userID)
	if err != nil {
		return "", err
	}
	return secret, d.note(ctx, Incident{What: EventLinkCreated, User: about(u)})
}

// SignIn exchanges the secret of a link for a cookie; of several callers one
// gets it, the others ErrRefused. device and address are what the person
// recognises their sign-in by.
func (d *Directory) SignIn(ctx context.Context, linkSecret, device, address string) (id Identity, cookie string, err error) {
	link, user, err := d.store.UseOnce(ctx, SignInLink, Hash(linkSecret), time.Now())
	if err != nil {
		return Identity{}, "", refused("sign in", err)
	}
	c, secret, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByLink,
	}.boundedBy(Identity{User: user, Credential: link}), CookieLife)
	if err != nil {
		return Identity{}, "", err
	}
	id = Identity{User: user, Credential: c}
	return id, secret, d.signedIn(ctx, id)
}

// SignInByToken makes a cookie for the bearer of an API token, as a program needs
// that drives a browser. The cookie does not outlive the token, nor may it do more.
func (d *Directory) SignInByToken(ctx context.Context, secret, device, address string) (id Identity, cookie string, err error) {
	token, err := d.Identify(ctx, APIToken, secret)
	if err != nil {
		return Identity{}, "", err
	}
	c, value, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: token.User.UserID, Name: strings.TrimSpace(device + " (token " + token.Credential.Name + ")"), Address: address,
		Method: ByToken, MethodID: token.Credential.CredentialID,
	}.boundedBy(token), CookieLife)
	if err != nil {
		return Identity{}, "", refused("sign in", err)
	}
	id = Identity{User: token.User, Credential: c}
	return id, value, d.signedIn(ctx, id)
}

// Identify returns who holds a secret of one kind, or ErrRefused. While the store is out
// of order it knows those whom it has let in during the last minutes.
func (d *Directory) Identify(ctx context.Context, kind CredentialKind, secret string) (Identity, error) {
	if kind != Cookie {
		return d.identify(ctx, kind, Hash(secret))
	}
	cookie, pageKey := SplitCookie(secret)
	id, err := d.identify(ctx, kind, Hash(cookie))
	if err == nil && subtle.ConstantTimeCompare(id.Credential.PageKey, Hash(pageKey)) != 1 {
		return Identity{}, fmt.Errorf("account: identify: %w", ErrRefused)
	}
	return id, err
}

// ReplaceCookie ends the sign-in whose cookie a browser shows while it signs in
// anew. It needs no page key: who signs in has proven more.
func (d *Directory) ReplaceCookie(ctx context.Context, cookie string) error {
	old, err := d.identify(ctx, Cookie, Hash(cookie))
	if errors.Is(err, ErrRefused) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.SignOut(ctx, old)
}

// Renew looks an identity up again and returns it as it is now: with the role
// of this moment, or ErrRefused when its credential is no longer good.
func (d *Directory) Renew(ctx context.Context, id Identity) (Identity, error) {
	now, err := d.identify(ctx, id.Credential.Kind, id.Credential.Hash)
	now.From = id.From
	return now, err
}

// lookUp returns who holds a credential now.
func (d *Directory) lookUp(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Identity, error) {
	c, user, err := d.store.Credential(ctx, kind, hash, now)
	if err != nil {
		return Identity{}, refused("identify", err)
	}
	if c.Kind != kind || subtle.ConstantTimeCompare(c.Hash, hash) != 1 {
		return Identity{}, fmt.Errorf("account: identify: %w", ErrRefused)
	}
	if d.touchDue(c.CredentialID, now) {
		// A use that is not written down costs a wrong date in a list.
		_ = d.store.Touch(ctx, c.CredentialID, now)
	}
	if c.Role != "" && user.Role.AtLeast(c.Role) {
		user.Role = c.Role
	}
	return Identity{User: user, Credential: c}, nil
}

// touchDue reports whether the use of a credential must be stored again.
func (d *Directory) touchDue(credentialID string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.touched[credentialID]; ok && now.Sub(last) < touchEvery {
		return false
	}
	if len(d.touched) > 10_000 {
		clear(d.touched) // costs one more write for each
	}
	d.touched[credentialID] = now
	return true
}

// CredentialIsLive reports whether a credential is still good.
func (d *Directory) CredentialIsLive(ctx context.Context, credentialID string) (bool, error) {
	c, err := d.store.CredentialByID(ctx, credentialID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("account: credential: %w", err)
	}
	return c.live(time.Now()), nil
}

// SignOut ends the sign-in that an identity came with.
func (d *Directory) SignOut(ctx context.Context, id Identity) error {
	return d.revoke(ctx, id.Credential)
}

// CreateOwnToken makes an API token that acts as who asks and returns its
// secret, which is stored nowhere. scope is the most it may do, "" for what its
// maker may; it is never more than the credential of who asks may. life 0 means
// that it does not run out.
func (d *Directory) CreateOwnToken(ctx context.Context, who Identity, name string, scope Role, life time.Duration) (Identity, string, error) {
	name, err := tokenName(name)
	if err != nil {
		return Identity{}, "", err
	}
	if scope != "" && !who.User.Role.AtLeast(scope) {
		return Identity{}, "", problem.For("scope", "token_role")
	}
	if scope == "" {
		scope = who.Credential.Role
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: APIToken, UserID: who.User.UserID, Name: name, Role: scope}.boundedBy(who), life)
	if err != nil {
		return Identity{}, "", err
	}
	made := Identity{User: who.User, Credential: c}
	if scope != "" {
		made.User.Role = scope
	}
	return made, secret, d.recordToken(WithActor(ctx, who), made)
}

func tokenName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", problem.For("name", "token_name_missing")
	}
	if name == bootstrapName {
		return "", problem.For("name", "token_name_reserved")
	}
	return name, nil
}

// CreateToken makes an API token and returns its secret, which is stored
// nowhere. With role "" the token acts as maker; else as a new user with the
// name of the token and this role, which must not be above the maker's. life 0
// means that it does not run out.
func (d *Directory) CreateToken(ctx context.Context, maker User, name string, role Role, life time.Duration) (Identity, string, error) {
	name, err := tokenName(name)
	if err != nil {
		return Identity{}, "", err
	}
	owner := maker
	if role != "" {
		if !maker.Role.AtLeast(role) {
			return Identity{}, "", problem.For("role", "role_above_own")
		}
		users, err := d.store.Users(ctx)
		if err != nil {
			return Identity{}, "", fmt.Errorf("account: list users: %w", err)
		}
		for _, u := range users {
			if sameName(u.Name, name) {
				return Identity{}, "", nameTaken()
			}
		}
		owner = User{UserID: uuid.NewString(), Name: name, Role: role, CreatedAt: time.Now(), CreatedBy: actor(ctx).responsibleUser()}
		err = d.store.PutUser(ctx, owner)
		if errors.Is(err, ErrExists) {
			return Identity{}, "", nameTaken()
		}
		if err != nil {
			return Identity{}, "", fmt.Errorf("account: create user of token: %w", err)
		}
		if err := d.note(ctx, Incident{What: EventUserCreated, User: about(owner), Role: role}); err != nil {
			return Identity{}, "", err
		}
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: APIToken, UserID: owner.UserID, Name: name}.boundedBy(actor(ctx)), life)
	if err != nil {
		return Identity{}, "", err
	}
	made := Identity{User: owner, Credential: c}
	return made, secret, d.recordToken(ctx, made)
}

func (d *Directory) recordToken(ctx context.Context, t Identity) error {
	i := Incident{What: EventTokenCreated, User: about(t.User), Role: t.User.Role, CredentialID: t.Credential.CredentialID, CredentialName: t.Credential.Name}
	if at := t.Credential.ExpiresAt; !at.IsZero() {
		at = at.UTC()
		i.ExpiresAt = &at
	}
	return d.note(ctx, i)
}

func nameTaken() error {
	return problem.For("name", "user_name_taken")
}

// Tokens lists all API tokens with their users.
func (d *Directory) Tokens(ctx context.Context) ([]Identity, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return nil, fmt.Errorf("account: list users: %w", err)
	}
	byID := map[string]User{}
	for _, u := range users {
		byID[u.UserID] = u
	}
	all, err := d.store.Credentials(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("account: list credentials: %w", err)
	}
	var tokens []Identity
	for _, c := range all {
		if c.Kind == APIToken {
			u := byID[c.UserID]
			if c.Role != "" && u.Role.AtLeast(c.Role) {
				u.Role = c.Role
			}
			tokens = append(tokens, Identity{User: u, Credential: c})
		}
	}
	return tokens, nil
}

// RevokeToken ends an API token and all that was made with it; ErrNotFound when there
// is none of that id. Revoking it again changes nothing.
func (d *Directory) RevokeToken(ctx context.Context, credentialID string) error {
	tokens, err := d.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Credential.CredentialID != credentialID {
			continue
		}
		if t.Credential.Revoked {
			return nil
		}
		return d.revoke(ctx, t.Credential)
	}
	return fmt.Errorf("account: revoke token: %w", ErrNotFound)
}

func (d *Directory) revoke(ctx context.Context, c Credential) error {
	if err := d.store.RevokeCredential(ctx, c.CredentialID); err != nil {
		return fmt.Errorf("account: revoke credential: %w", err)
	}
	d.announce()
	return d.ended(ctx, c)
}

func (d *Directory) announce() {
	d.forgetAll()
	for _, f := range d.changed {
		f()
	}
}

// addCredential gives a credential its id, secret and times, and stores it. The
// secret of a cookie is that of [JoinCookie].
func (d *Directory) addCredential(ctx context.Context, c Credential, life time.Duration) (Credential, string, error) {
	secret, err := newSecret()
	if err != nil {
		return Credential{}, "", err
	}
	now := time.Now()
	c.CredentialID, c.Hash, c.CreatedAt = uuid.NewString(), Hash(secret), now
	if life > 0 {
		c.ExpiresAt = now.Add(life)
	}
	if end := c.BoundUntil; !end.IsZero() && (c.ExpiresAt.IsZero() || end.Before(c.ExpiresAt)) {
		c.ExpiresAt = end
	}
	if c.Kind == Cookie {
		pageKey, err := newSecret()
		if err != nil {
			return Credential{}, "", err
		}
		c.PageKey, secret = Hash(pageKey), JoinCookie(secret, pageKey)
	}
	if err := d.store.AddCredential(ctx, c); err != nil {
		return Credential{}, "", fmt.Errorf("account: store %s: %w", c.Kind, err)
	}
	return c, secret, nil
}

// JoinCookie returns the secret of a sign-in. Browsers send the cookie to every
// server on a host, whatever its port, so it alone is worth nothing: with it goes the
// page key, which only pages of one origin can read.
func JoinCookie(cookie, pageKey string) string { return cookie + "." + pageKey }

// SplitCookie is the reverse of [JoinCookie].
func SplitCookie(secret string) (cookie, pageKey string) {
	cookie, pageKey, _ = strings.Cut(secret, ".")
	return cookie, pageKey
}

// newSecret returns 256 random bits as 64 hexadecimal digits.
func newSecret() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("account: random secret: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Hash is what is stored of a secret. The secrets are random, so one round of
// SHA-256 is enough; finding by hash also tells nobody how much of a wrong
// secret was right.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// refused hides from the caller which of the reasons it was.
func refused(what string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("account: %s: %w", what, ErrRefused)
	}
	return fmt.Errorf("account: %s: %w", what, err)
}
