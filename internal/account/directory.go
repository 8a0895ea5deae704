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

// Lifetimes of credentials. The maker of an API token chooses its lifetime.
const (
	SignInLinkTTL = 10 * time.Minute
	CookieTTL     = 30 * 24 * time.Hour
)

// MinBootstrapToken is the minimum length of a bootstrap token, in bytes. It never
// expires and people choose it, so it must be hard to guess.
const MinBootstrapToken = 32

// bootstrapName is the name of the token that [Directory.Prepare] stores.
const bootstrapName = "bootstrap"

// touchEvery limits how often the use of a credential is stored.
const touchEvery = time.Minute

// A Directory authenticates people and manages their accounts. Its methods are safe for
// concurrent use; no lock is held across a call to the store.
type Directory struct {
	store          Store
	passwordChecks chan struct{} // semaphore of concurrent password checks

	mu          sync.Mutex
	lastTouched map[string]time.Time        // credential id → last stored use
	recalled    map[string]recalledIdentity // by hash of the credential
	onChange    []func()                    // see OnChange
	onIncident  []func(context.Context, Incident)

	failures failureLog
}

// NewDirectory returns a directory over a store.
func NewDirectory(store Store) *Directory {
	return &Directory{store: store, passwordChecks: make(chan struct{}, maxPasswordChecks), lastTouched: map[string]time.Time{}, recalled: map[string]recalledIdentity{}}
}

// Identity is a person together with the credential that authenticated them.
type Identity struct {
	User       User
	Credential Credential
	From       string // the address of the request, or ""
}

// Device returns the device of a cookie, or the name of a token.
func (id Identity) Device() string {
	if id.Credential.Kind == APIToken {
		return "token " + id.Credential.Name
	}
	return id.Credential.Name
}

// OnChange adds a function to call after a credential was revoked or a user changed, so
// that open connections can be checked again. It must not block. Call OnChange before
// the directory is in use.
func (d *Directory) OnChange(f func()) { d.onChange = append(d.onChange, f) }

// OnIncident adds a function to call with each incident after it was recorded. It must not block.
// Call OnIncident before the directory is in use.
func (d *Directory) OnIncident(f func(context.Context, Incident)) {
	d.onIncident = append(d.onIncident, f)
}

// Prepare returns the first admin, whom it creates if there is none. bootstrapToken,
// unless "", becomes an API token of that admin; if an admin has revoked it, it stays
// revoked. Prepare revokes any other bootstrap token of an earlier start.
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
	isStored := bootstrapToken == ""
	for _, c := range all {
		if c.Kind != APIToken || c.Name != bootstrapName {
			continue
		}
		if bootstrapToken != "" && subtle.ConstantTimeCompare(c.Hash, hash) == 1 {
			isStored = true
		} else if !c.Revoked {
			if err := d.store.RevokeCredential(ctx, c.CredentialID); err != nil {
				return User{}, fmt.Errorf("account: revoke the former bootstrap token: %w", err)
			}
			if err := d.recordEnd(ctx, c); err != nil {
				return User{}, err
			}
		}
	}
	if !isStored {
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

// isExampleSecret reports whether a secret was copied from an example of this or
// another program.
func isExampleSecret(secret string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(secret))
	for _, mark := range []string{"changeme", "changeinproduction", "changethis", "replaceme", "yoursecret"} {
		if strings.Contains(plain, mark) {
			return true
		}
	}
	return false
}

// FirstAdmin returns the oldest enabled admin, whom it creates if there is none.
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
	return first, d.recordByActor(ctx, Incident{What: EventUserCreated, User: incidentUser(first), Role: Admin})
}

// freeName returns name, with a number if it is taken.
func freeName(users []User, name string) string {
	isTaken := func(candidate string) bool {
		return slices.ContainsFunc(users, func(u User) bool { return sameName(u.Name, candidate) })
	}
	candidate := name
	for n := 2; isTaken(candidate); n++ {
		candidate = fmt.Sprintf("%s %d", name, n)
	}
	return candidate
}

// NewSignInLink returns the secret of a link that signs a user in once, within
// [SignInLinkTTL].
func (d *Directory) NewSignInLink(ctx context.Context, userID string) (secret string, err error) {
	_, secret, err = d.addCredential(ctx, Credential{Kind: SignInLink, UserID: userID}.derivedFrom(actorOf(ctx)), SignInLinkTTL)
	if err != nil {
		return "", err
	}
	u, err := d.User(ctx, userID)
	if err != nil {
		return "", err
	}
	return secret, d.recordByActor(ctx, Incident{What: EventLinkCreated, User: incidentUser(u)})
}

// SignIn exchanges the secret of a link for a cookie. If several callers use the link, only
// one succeeds; the others get ErrRefused. People recognize the sign-in by device and address.
func (d *Directory) SignIn(ctx context.Context, linkSecret, device, address string) (id Identity, cookie string, err error) {
	link, user, err := d.store.UseOnce(ctx, SignInLink, Hash(linkSecret), time.Now())
	if err != nil {
		return Identity{}, "", refusedError("sign in", err)
	}
	c, secret, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: user.UserID, Name: device, Address: address, Method: ByLink,
	}.derivedFrom(Identity{User: user, Credential: link}), CookieTTL)
	if err != nil {
		return Identity{}, "", err
	}
	id = Identity{User: user, Credential: c}
	return id, secret, d.recordSignIn(ctx, id)
}

// SignInByToken creates a cookie for the bearer of an API token, for programs that drive
// a browser. The cookie has no more rights than the token and does not outlive it.
func (d *Directory) SignInByToken(ctx context.Context, secret, device, address string) (id Identity, cookie string, err error) {
	token, err := d.Identify(ctx, APIToken, secret)
	if err != nil {
		return Identity{}, "", err
	}
	c, value, err := d.addCredential(ctx, Credential{
		Kind: Cookie, UserID: token.User.UserID, Name: strings.TrimSpace(device + " (token " + token.Credential.Name + ")"), Address: address,
		Method: ByToken, MethodID: token.Credential.CredentialID,
	}.derivedFrom(token), CookieTTL)
	if err != nil {
		return Identity{}, "", refusedError("sign in", err)
	}
	id = Identity{User: token.User, Credential: c}
	return id, value, d.recordSignIn(ctx, id)
}

// Identify returns the holder of a secret, or ErrRefused. While the store fails, it
// accepts credentials that it accepted in the last minutes.
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

// ReplaceCookie ends the previous sign-in of a browser that signs in again. It needs no
// page key, because the new sign-in is a stronger proof.
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

// Renew returns the current state of an identity, such as a changed role, or ErrRefused
// if its credential is no longer valid.
func (d *Directory) Renew(ctx context.Context, id Identity) (Identity, error) {
	renewed, err := d.identify(ctx, id.Credential.Kind, id.Credential.Hash)
	renewed.From = id.From
	return renewed, err
}

// lookUp returns the current holder of a credential from the store.
func (d *Directory) lookUp(ctx context.Context, kind CredentialKind, hash []byte, now time.Time) (Identity, error) {
	c, user, err := d.store.Credential(ctx, kind, hash, now)
	if err != nil {
		return Identity{}, refusedError("identify", err)
	}
	if c.Kind != kind || subtle.ConstantTimeCompare(c.Hash, hash) != 1 {
		return Identity{}, fmt.Errorf("account: identify: %w", ErrRefused)
	}
	if d.touchDue(c.CredentialID, now) {
		// If the write is lost, people only see an older date of last use.
		_ = d.store.Touch(ctx, c.CredentialID, now)
	}
	user.Role = c.limit(user.Role)
	return Identity{User: user, Credential: c}, nil
}

// touchDue reports whether the use of a credential must be stored now.
func (d *Directory) touchDue(credentialID string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.lastTouched[credentialID]; ok && now.Sub(last) < touchEvery {
		return false
	}
	if len(d.lastTouched) > 10_000 {
		clear(d.lastTouched) // costs one extra write for each credential
	}
	d.lastTouched[credentialID] = now
	return true
}

// CredentialIsLive reports whether a credential is neither revoked nor expired.
func (d *Directory) CredentialIsLive(ctx context.Context, credentialID string) (bool, error) {
	c, err := d.store.CredentialByID(ctx, credentialID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("account: credential: %w", err)
	}
	return c.isLive(time.Now()), nil
}

// SignOut ends the sign-in of an identity.
func (d *Directory) SignOut(ctx context.Context, id Identity) error {
	return d.revoke(ctx, id.Credential)
}

// CreateOwnToken creates an API token that acts as who, and returns its secret, which
// is not stored. scope bounds its rights; with "" they are those of who's credential, which
// they never exceed. Only an admin can use [MetricsScope]. lifetime 0 means no expiry.
func (d *Directory) CreateOwnToken(ctx context.Context, who Identity, name string, scope Role, lifetime time.Duration) (Identity, string, error) {
	name, err := tokenName(name)
	if err != nil {
		return Identity{}, "", err
	}
	need := scope
	if scope == MetricsScope {
		need = Admin
	}
	if need != "" && !who.User.Role.AtLeast(need) {
		return Identity{}, "", problem.For("scope", "token_role")
	}
	if scope == "" {
		scope = who.Credential.Role
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: APIToken, UserID: who.User.UserID, Name: name, Role: scope}.derivedFrom(who), lifetime)
	if err != nil {
		return Identity{}, "", err
	}
	created := Identity{User: who.User, Credential: c}
	if scope != "" {
		created.User.Role = scope
	}
	return created, secret, d.recordToken(WithActor(ctx, who), created)
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

// CreateToken creates an API token and returns its secret, which is not stored. With
// role "" the token acts as maker, otherwise as a new user with the token's name and
// this role, which must not exceed the maker's. lifetime 0 means no expiry.
func (d *Directory) CreateToken(ctx context.Context, maker User, name string, role Role, lifetime time.Duration) (Identity, string, error) {
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
				return Identity{}, "", tokenNameTaken(u.Name)
			}
		}
		owner = User{UserID: uuid.NewString(), Name: name, Role: role, CreatedAt: time.Now(), CreatedBy: actorOf(ctx).responsibleUser()}
		err = d.store.PutUser(ctx, owner)
		if errors.Is(err, ErrExists) {
			return Identity{}, "", tokenNameTaken(name)
		}
		if err != nil {
			return Identity{}, "", fmt.Errorf("account: create user of token: %w", err)
		}
		if err := d.recordByActor(ctx, Incident{What: EventUserCreated, User: incidentUser(owner), Role: role}); err != nil {
			return Identity{}, "", err
		}
	}
	c, secret, err := d.addCredential(ctx, Credential{Kind: APIToken, UserID: owner.UserID, Name: name}.derivedFrom(actorOf(ctx)), lifetime)
	if err != nil {
		return Identity{}, "", err
	}
	created := Identity{User: owner, Credential: c}
	return created, secret, d.recordToken(ctx, created)
}

func (d *Directory) recordToken(ctx context.Context, t Identity) error {
	i := Incident{What: EventTokenCreated, User: incidentUser(t.User), Role: t.User.Role, CredentialID: t.Credential.CredentialID, CredentialName: t.Credential.Name}
	if at := t.Credential.ExpiresAt; !at.IsZero() {
		at = at.UTC()
		i.ExpiresAt = &at
	}
	return d.recordByActor(ctx, i)
}

func nameTaken() error {
	return problem.For("name", "user_name_taken")
}

// tokenNameTaken is the error for a token that cannot become a new user, because a user has its
// name.
func tokenNameTaken(name string) error {
	return problem.For("name", "token_name_taken", "name", name)
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
			u.Role = c.limit(u.Role)
			tokens = append(tokens, Identity{User: u, Credential: c})
		}
	}
	return tokens, nil
}

// RevokeToken ends an API token and all credentials created with it, or returns
// ErrNotFound. Revoking a token twice is not an error.
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
	d.notifyChange()
	return d.recordEnd(ctx, c)
}

// ChangedElsewhere drops recalled identities, after another server may have changed users or
// credentials.
func (d *Directory) ChangedElsewhere() { d.forgetAll() }

func (d *Directory) notifyChange() {
	d.forgetAll()
	for _, f := range d.onChange {
		f()
	}
}

// addCredential sets the id, secret and times of a credential and stores it. The
// returned secret of a cookie has the form of [JoinCookie].
func (d *Directory) addCredential(ctx context.Context, c Credential, lifetime time.Duration) (Credential, string, error) {
	secret, err := newSecret()
	if err != nil {
		return Credential{}, "", err
	}
	now := time.Now()
	c.CredentialID, c.Hash, c.CreatedAt = uuid.NewString(), Hash(secret), now
	if lifetime > 0 {
		c.ExpiresAt = now.Add(lifetime)
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

// JoinCookie returns the secret of a sign-in: the cookie and its page key. Browsers
// send a cookie to all ports of a host, so a cookie alone is not enough; only pages of one
// origin can read the page key.
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

// Hash returns the stored form of a secret. Secrets are random, so one round of SHA-256
// is enough. Looking them up by hash reveals nothing about them through timing.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// refusedError replaces ErrNotFound by ErrRefused, which does not reveal the reason.
func refusedError(what string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("account: %s: %w", what, ErrRefused)
	}
	return fmt.Errorf("account: %s: %w", what, err)
}
