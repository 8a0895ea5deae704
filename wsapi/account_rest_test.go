package wsapi_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

// link returns the secret of a sign-in link of the admin.
func (h *house) link() string {
	h.t.Helper()
	secret, err := h.directory.NewSignInLink(h.t.Context(), h.admin.UserID)
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		tls   bool
		attrs []string
	}{
		{"http", false, []string{"sayso=", "Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=2592000"}},
		{"https", true, []string{"__Host-sayso=", "Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=2592000", "Secure"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"), func(o *wsapi.Options) { o.TLS = row.tls })
			secret := h.link()
			a := h.call("POST", "/api/login", map[string]string{"token": secret}, header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"))
			var me wire.Me
			a.into(t, &me)
			if a.status != 200 || me.User.Role != account.Admin || me.User.Name != "admin" {
				t.Fatalf("got %d %s, want the admin", a.status, a.body)
			}
			set := a.header.Get("Set-Cookie")
			for _, attr := range row.attrs {
				if !strings.Contains(set, attr) {
					t.Errorf("cookie lacks %s: %s", attr, set)
				}
			}
			if strings.Contains(set, "Domain") || !row.tls && strings.Contains(set, "Secure") {
				t.Errorf("got cookie %s", set)
			}
			if strings.Contains(string(a.body), secret) {
				t.Error("the answer repeats the secret")
			}
			if hsts := a.header.Get("Strict-Transport-Security"); (hsts != "") != row.tls {
				t.Errorf("Strict-Transport-Security is %q", hsts)
			}
			cookie := signedIn(a)
			if got := h.call("GET", "/api/me", nil, cookie); got.status != 200 {
				t.Fatalf("with the cookie: got %d", got.status)
			}
			checkRefusal(t, h.call("POST", "/api/login", map[string]string{"token": secret}), 401, "not_signed_in")
		})
	}
}

func TestSigningInAgainEndsTheFormerSignIn(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	first := h.cookie()
	a := h.call("POST", "/api/login", map[string]string{"token": h.link()}, first)
	second := signedIn(a)
	checkRefusal(t, h.call("GET", "/api/me", nil, first), 401, "not_signed_in")
	if got := h.call("GET", "/api/me", nil, second); got.status != 200 {
		t.Fatalf("got %d, want the new cookie to work", got.status)
	}
}

// TestSignInWithAToken is for programs that drive a browser.
func TestSignInWithAToken(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	a := h.call("POST", "/api/login", map[string]string{"token": h.token(account.Viewer)})
	cookie := a.header.Get("Set-Cookie")
	if a.status != 200 || cookie == "" || strings.Contains(cookie, h.token(account.Viewer)) {
		t.Fatalf("got %d %s with %q, want a cookie of its own", a.status, a.body, cookie)
	}
	var me wire.Me
	h.call("GET", "/api/me", nil, signedIn(a)).into(t, &me)
	if me.User.Role != account.Viewer {
		t.Fatalf("got %+v, want the token's user", me.User)
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	cookie := h.cookie()
	a := h.call("POST", "/api/logout", "{}", cookie)
	if set := a.header.Get("Set-Cookie"); a.status != http.StatusNoContent || !strings.Contains(set, "Max-Age=0") {
		t.Fatalf("got %d with cookie %q, want 204 and the cookie gone", a.status, set)
	}
	checkRefusal(t, h.call("GET", "/api/me", nil, cookie), 401, "not_signed_in")
	checkRefusal(t, h.as(account.Viewer, "POST", "/api/logout", nil), 400, "invalid")
}

func TestSignInIsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"unknown link", `{"token":"0000"}`, 401, "not_signed_in"},
		{"password", `{"username":"admin","password":"admin"}`, 401, "not_signed_in"},
		{"nothing", `{}`, 400, "invalid"},
		{"both", `{"token":"x","username":"a","password":"b"}`, 400, "invalid"},
		{"password alone", `{"password":"b"}`, 400, "invalid"},
		{"a number", `{"token":1}`, 400, "invalid"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
			checkRefusal(t, h.call("POST", "/api/login", row.body), row.status, row.code)
		})
	}
}

func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	for range account.DefaultLimits.PerAddress {
		checkRefusal(t, h.call("POST", "/api/login", `{"token":"guess"}`), 401, "not_signed_in")
	}
	a := h.call("POST", "/api/login", `{"token":"guess"}`, header("X-Forwarded-For", "203.0.113.9"))
	checkRefusal(t, a, 429, "too_many_attempts")
	// Who has an address or a token is let in, whoever else fails where they are.
	if a := h.call("POST", "/api/login", wire.Login{Token: h.link()}); a.status != 200 {
		t.Errorf("a good sign-in link: got %d %s", a.status, a.body)
	}
	if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
		t.Errorf("Retry-After is %q, want up to a minute", a.header.Get("Retry-After"))
	}
	if got := h.as(account.Viewer, "GET", "/api/me", nil); got.status != 200 {
		t.Errorf("the limit held back who is signed in: %d", got.status)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	var made wire.TokenCreated
	a := h.as(account.Admin, "POST", "/api/tokens", wire.TokenCreate{Name: "dashboard", Role: account.Viewer, ExpiresIn: 3600})
	a.into(t, &made)
	if a.status != 201 || len(made.Secret) != 64 || made.Role != account.Viewer || made.ExpiresAt == nil {
		t.Fatalf("got %d %s, want a viewer's token that runs out", a.status, a.body)
	}
	var me wire.Me
	h.call("GET", "/api/me", nil, bearer(made.Secret)).into(t, &me)
	if me.User.Name != "dashboard" || me.User.Role != account.Viewer {
		t.Fatalf("the token acts as %+v", me.User)
	}
	list := h.as(account.Admin, "GET", "/api/tokens", nil)
	if !strings.Contains(string(list.body), made.TokenID) || strings.Contains(string(list.body), made.Secret) {
		t.Fatalf("the list must show the token and not its secret: %s", list.body)
	}
	if got := h.as(account.Admin, "DELETE", "/api/tokens/"+made.TokenID, nil); got.status != 204 {
		t.Fatalf("revoke: got %d %s", got.status, got.body)
	}
	checkRefusal(t, h.call("GET", "/api/me", nil, bearer(made.Secret)), 401, "not_signed_in")
	checkRefusal(t, h.as(account.Admin, "DELETE", "/api/tokens/none", nil), 404, "not_found")
	checkRefusal(t, h.as(account.Admin, "POST", "/api/tokens", `{"name":"dashboard","role":"member"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Admin, "POST", "/api/tokens", `{"name":"x","role":"root"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Admin, "POST", "/api/tokens", `{}`), 400, "invalid")
}
