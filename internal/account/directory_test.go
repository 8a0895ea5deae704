package account_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		role, want account.Role
		ok         bool
	}{
		{account.Viewer, account.Viewer, true},
		{account.Viewer, account.Member, false},
		{account.Member, account.Admin, false},
		{account.Admin, account.Member, true},
		{"", account.Viewer, false},
		{"root", account.Viewer, false},
	} {
		if got := row.role.AtLeast(row.want); got != row.ok {
			t.Errorf("%q at least %q: got %v, want %v", row.role, row.want, got, row.ok)
		}
	}
}

// prepared returns a directory with its first admin.
func prepared(t *testing.T, bootstrap string) (*account.Directory, *memory, account.User) {
	t.Helper()
	store := &memory{}
	d := account.NewDirectory(store)
	admin, err := d.Prepare(t.Context(), bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	return d, store, admin
}

func TestFirstStartMakesOneAdmin(t *testing.T) {
	t.Parallel()
	d, store, admin := prepared(t, "")
	if admin.Role != account.Admin || admin.Name == "" {
		t.Fatalf("got %+v, want an admin with a name", admin)
	}
	again, err := d.Prepare(t.Context(), "")
	if err != nil || again.UserID != admin.UserID {
		t.Fatalf("second start: got %v, %v, want the same admin", again, err)
	}
	if len(store.users) != 1 || len(store.credentials) != 0 {
		t.Fatalf("got %d users and %d credentials, want 1 and no default secret", len(store.users), len(store.credentials))
	}
}

func TestSignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	d, store, admin := prepared(t, "")
	link, err := d.NewSignInLink(t.Context(), admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	if len(link) != 64 {
		t.Errorf("got a secret of %d characters, want 256 bits as 64", len(link))
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			id, cookie, err := d.SignIn(t.Context(), link, "Chrome on Linux", "")
			switch {
			case err == nil:
				won.Add(1)
				if got, err := d.Identify(t.Context(), account.Cookie, cookie); err != nil || got.User.UserID != admin.UserID || got.Device() != "Chrome on Linux" {
					t.Errorf("cookie: got %+v, %v", got, err)
				}
				if id.User.UserID != admin.UserID {
					t.Errorf("got user %q, want %q", id.User.UserID, admin.UserID)
				}
			case !errors.Is(err, account.ErrRefused):
				t.Errorf("got %v, want ErrRefused", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d sign-ins with one link, want 1", won.Load())
	}
	for _, c := range store.credentials {
		if bytes.Contains(c.Hash, []byte(link)) || len(c.Hash) != 32 {
			t.Errorf("credential %s stores more than a hash", c.Kind)
		}
	}
}

func TestSecretsOfOneKindAreNoneOfAnother(t *testing.T) {
	t.Parallel()
	d, _, admin := prepared(t, "")
	link, err := d.NewSignInLink(t.Context(), admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []account.CredentialKind{account.Cookie, account.APIToken} {
		if _, err := d.Identify(t.Context(), kind, link); !errors.Is(err, account.ErrRefused) {
			t.Errorf("a sign-in link as %s: got %v, want ErrRefused", kind, err)
		}
	}
}

func TestCredentialsRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, _, admin := prepared(t, "")
		link, err := d.NewSignInLink(t.Context(), admin.UserID)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := d.NewSignInLink(t.Context(), admin.UserID)
		if err != nil {
			t.Fatal(err)
		}
		_, cookie, err := d.SignIn(t.Context(), fresh, "", "")
		if err != nil {
			t.Fatal(err)
		}
		_, token, err := d.CreateToken(t.Context(), admin, "ci", "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(account.SignInLinkTTL)
		if _, _, err := d.SignIn(t.Context(), link, "", ""); !errors.Is(err, account.ErrRefused) {
			t.Errorf("link after ten minutes: got %v, want ErrRefused", err)
		}
		if _, err := d.Identify(t.Context(), account.APIToken, token); err != nil {
			t.Errorf("token within its hour: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := d.Identify(t.Context(), account.APIToken, token); !errors.Is(err, account.ErrRefused) {
			t.Errorf("token after its hour: got %v, want ErrRefused", err)
		}
		if _, err := d.Identify(t.Context(), account.Cookie, cookie); err != nil {
			t.Errorf("cookie within thirty days: %v", err)
		}
		time.Sleep(account.CookieTTL)
		if _, err := d.Identify(t.Context(), account.Cookie, cookie); !errors.Is(err, account.ErrRefused) {
			t.Errorf("cookie after thirty days: got %v, want ErrRefused", err)
		}
	})
}

func TestSignOutAndRoleChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	store := &memory{}
	d := account.NewDirectory(store)
	var calls int
	d.OnChange(func() { calls++ })
	admin, err := d.Prepare(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	link, err := d.NewSignInLink(t.Context(), admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := d.SignIn(t.Context(), link, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.CreateUser(t.Context(), "Ada", account.Admin, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.SetRole(t.Context(), admin.UserID, account.Viewer); err != nil {
		t.Fatal(err)
	}
	if now, err := d.Renew(t.Context(), id); err != nil || now.User.Role != account.Viewer {
		t.Fatalf("renewed: got %+v, %v, want a viewer", now.User, err)
	}
	if err := d.SignOut(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(t.Context(), id); !errors.Is(err, account.ErrRefused) {
		t.Fatalf("after signing out: got %v, want ErrRefused", err)
	}
	if calls != 2 {
		t.Fatalf("announced %d times, want 2", calls)
	}
}

func TestUsesAreWrittenDownOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, store, admin := prepared(t, "")
		_, token, err := d.CreateToken(t.Context(), admin, "ci", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 180 {
			if _, err := d.Identify(t.Context(), account.APIToken, token); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if store.touches != 3 {
			t.Fatalf("stored %d uses in three minutes, want 3", store.touches)
		}
	})
}

func TestBootstrapToken(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 40)
	store := &memory{}
	d := account.NewDirectory(store)
	if _, err := d.Prepare(t.Context(), strings.Repeat("a", 31)); err == nil {
		t.Fatal("31 characters were accepted")
	}
	for _, start := range []struct{ token, dead string }{{first, ""}, {first, ""}, {second, first}} {
		if _, err := d.Prepare(t.Context(), start.token); err != nil {
			t.Fatal(err)
		}
		id, err := d.Identify(t.Context(), account.APIToken, start.token)
		if err != nil || id.User.Role != account.Admin {
			t.Fatalf("got %+v, %v, want an admin", id.User, err)
		}
		if start.dead != "" {
			if _, err := d.Identify(t.Context(), account.APIToken, start.dead); !errors.Is(err, account.ErrRefused) {
				t.Fatalf("the former token: got %v, want ErrRefused", err)
			}
		}
	}
	id, err := d.Identify(t.Context(), account.APIToken, second)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.RevokeToken(t.Context(), id.Credential.CredentialID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Prepare(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Identify(t.Context(), account.APIToken, second); !errors.Is(err, account.ErrRefused) {
		t.Fatalf("a revoked token after a start: got %v, want ErrRefused", err)
	}
}

func TestKnownSecretsAreRefused(t *testing.T) {
	t.Parallel()
	d := account.NewDirectory(&memory{})
	for _, secret := range []string{"claude-ui-dev-secret-change-in-production", "please_change_me_please_change_me_", "YOUR-SECRET-TOKEN-OF-AT-LEAST-32-CHARACTERS"} {
		if _, err := d.Prepare(t.Context(), secret); err == nil || !strings.Contains(err.Error(), "everybody knows") {
			t.Errorf("%s: got %v, want it refused", secret, err)
		}
		if _, err := d.Identify(t.Context(), account.APIToken, secret); !errors.Is(err, account.ErrRefused) {
			t.Errorf("%s: it lets somebody in: %v", secret, err)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	d, _, admin := prepared(t, "")
	own, ownSecret, err := d.CreateToken(t.Context(), admin, "laptop", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	other, otherSecret, err := d.CreateToken(t.Context(), admin, "dashboard", account.Viewer, 0)
	if err != nil {
		t.Fatal(err)
	}
	if own.User.UserID != admin.UserID || other.User.UserID == admin.UserID {
		t.Fatal("a token without a role acts as its maker, one with a role as its own user")
	}
	if id, err := d.Identify(t.Context(), account.APIToken, otherSecret); err != nil || id.User.Role != account.Viewer || id.User.Name != "dashboard" {
		t.Fatalf("got %+v, %v, want the viewer dashboard", id.User, err)
	}
	for _, row := range []struct {
		maker account.User
		name  string
		role  account.Role
		field string
	}{
		{admin, " ", "", "name"},
		{admin, "bootstrap", "", "name"},
		{admin, "Dashboard", account.Member, "name"},
		{other.User, "x", account.Member, "role"},
	} {
		_, _, err := d.CreateToken(t.Context(), row.maker, row.name, row.role, 0)
		var invalid *problem.Error
		if !errors.As(err, &invalid) || !errors.Is(err, problem.Invalid) || invalid.Field != row.field || invalid.Error() == "" {
			t.Errorf("token %q of role %q: got %v, want the field %s refused", row.name, row.role, err, row.field)
		}
	}
	if err := d.RevokeToken(t.Context(), own.Credential.CredentialID); err != nil {
		t.Fatal(err)
	}
	if err := d.RevokeToken(t.Context(), own.Credential.CredentialID); err != nil {
		t.Fatalf("revoking again: %v", err)
	}
	if err := d.RevokeToken(t.Context(), "nothing"); !errors.Is(err, account.ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
	if _, err := d.Identify(t.Context(), account.APIToken, ownSecret); !errors.Is(err, account.ErrRefused) {
		t.Fatalf("revoked token: got %v, want ErrRefused", err)
	}
	tokens, err := d.Tokens(t.Context())
	if err != nil || len(tokens) != 2 {
		t.Fatalf("got %d tokens, %v, want 2", len(tokens), err)
	}
}

func TestSignInByToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, _, admin := prepared(t, "")
		token, secret, err := d.CreateToken(t.Context(), admin, "e2e", "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var cookies []string
		for _, device := range []string{"Chrome on Linux", ""} {
			id, cookie, err := d.SignInByToken(t.Context(), secret, device, "")
			if err != nil || id.User.UserID != admin.UserID {
				t.Fatalf("got %+v, %v, want the token's user", id.User, err)
			}
			cookies = append(cookies, cookie)
		}
		if cookies[0] == cookies[1] || cookies[0] == secret {
			t.Error("a cookie is not new at every sign-in")
		}
		link, err := d.NewSignInLink(t.Context(), admin.UserID)
		if err != nil {
			t.Fatal(err)
		}
		_, other, err := d.SignIn(t.Context(), link, "Chrome on Linux", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.SignInByToken(t.Context(), other, "", ""); !errors.Is(err, account.ErrRefused) {
			t.Errorf("a cookie as a token: got %v, want ErrRefused", err)
		}
		if err := d.RevokeToken(t.Context(), token.Credential.CredentialID); err != nil {
			t.Fatal(err)
		}
		for _, cookie := range cookies {
			if _, err := d.Identify(t.Context(), account.Cookie, cookie); !errors.Is(err, account.ErrRefused) {
				t.Errorf("a cookie of a revoked token: got %v, want ErrRefused", err)
			}
		}
		if _, err := d.Identify(t.Context(), account.Cookie, other); err != nil {
			t.Errorf("a cookie that no token made: %v", err)
		}
		_, secret, err = d.CreateToken(t.Context(), admin, "short", "", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		_, cookie, err := d.SignInByToken(t.Context(), secret, "", "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := d.Identify(t.Context(), account.Cookie, cookie); !errors.Is(err, account.ErrRefused) {
			t.Errorf("a cookie outlived its token: %v", err)
		}
	})
}

// While the store does not reply, those are known who were let in shortly before, for as
// long as nothing was revoked and their credential lasts.
func TestSignInsAreCachedDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		d := account.NewDirectory(store)
		admin, err := d.Prepare(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		who := account.Identity{User: admin}
		token := func(life time.Duration) string {
			_, secret, err := d.CreateOwnToken(t.Context(), who, "token", "", life)
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		identify := func(secret string) (account.Identity, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			return d.Identify(ctx, account.APIToken, secret)
		}
		lasting, short, unknown := token(0), token(time.Minute), token(0)
		for _, secret := range []string{lasting, short} {
			if _, err := identify(secret); err != nil {
				t.Fatal(err)
			}
		}
		store.hangs.Store(true)
		began := time.Now()
		if id, err := identify(lasting); err != nil || id.User.UserID != admin.UserID || time.Since(began) > time.Second {
			t.Errorf("got %+v, %v after %s", id.User, err, time.Since(began))
		}
		if _, err := identify(unknown); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that was never used: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := identify(short); err == nil {
			t.Error("one that has run out is known")
		}
		time.Sleep(10 * time.Minute)
		if _, err := identify(lasting); err == nil {
			t.Error("it is known after 12 minutes")
		}
		store.hangs.Store(false)
		if _, err := identify(lasting); err != nil {
			t.Fatal(err)
		}
		if err := d.SetRole(account.WithActor(t.Context(), who), admin.UserID, account.Admin); err != nil {
			t.Fatal(err)
		}
		store.hangs.Store(true)
		if _, err := identify(lasting); err == nil {
			t.Error("it is known after roles were changed")
		}
	})
}
