package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// link returns the secret of a sign-in link of the admin.
func (h *harness) link() string {
	h.T.Helper()
	secret, err := h.Directory.NewSignInLink(h.T.Context(), h.Admin.UserID)
	if err != nil {
		h.T.Fatal(err)
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
			h := quietHarness(t, func(o *apitest.Options) { o.TLS = row.tls })
			secret := h.link()
			a := h.Call("POST", "/api/login", map[string]string{"token": secret}, apitest.Header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"))
			var me wire.Me
			a.Decode(t, &me)
			if a.Status != 200 || me.User.Role != account.Admin || me.User.Name != "admin" {
				t.Fatalf("got %d %s, want the admin", a.Status, a.Body)
			}
			set := a.Header.Get("Set-Cookie")
			for _, attr := range row.attrs {
				if !strings.Contains(set, attr) {
					t.Errorf("cookie lacks %s: %s", attr, set)
				}
			}
			if strings.Contains(set, "Domain") || !row.tls && strings.Contains(set, "Secure") {
				t.Errorf("got cookie %s", set)
			}
			if strings.Contains(string(a.Body), secret) {
				t.Error("the answer repeats the secret")
			}
			if hsts := a.Header.Get("Strict-Transport-Security"); (hsts != "") != row.tls {
				t.Errorf("Strict-Transport-Security is %q", hsts)
			}
			cookie := apitest.SignedIn(a)
			if got := h.Call("GET", "/api/me", nil, cookie); got.Status != 200 {
				t.Fatalf("with the cookie: got %d", got.Status)
			}
			apitest.CheckRefusal(t, h.Call("POST", "/api/login", map[string]string{"token": secret}), 401, "not_signed_in")
		})
	}
}

func TestSigningInAgainEndsTheFormerSignIn(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	first := h.Cookie()
	a := h.Call("POST", "/api/login", map[string]string{"token": h.link()}, first)
	second := apitest.SignedIn(a)
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, first), 401, "not_signed_in")
	if got := h.Call("GET", "/api/me", nil, second); got.Status != 200 {
		t.Fatalf("got %d, want the new cookie to work", got.Status)
	}
}

// TestSignInWithAToken is for programs that drive a browser.
func TestSignInWithAToken(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	a := h.Call("POST", "/api/login", map[string]string{"token": h.Token(account.Viewer)})
	cookie := a.Header.Get("Set-Cookie")
	if a.Status != 200 || cookie == "" || strings.Contains(cookie, h.Token(account.Viewer)) {
		t.Fatalf("got %d %s with %q, want a cookie of its own", a.Status, a.Body, cookie)
	}
	var me wire.Me
	h.Call("GET", "/api/me", nil, apitest.SignedIn(a)).Decode(t, &me)
	if me.User.Role != account.Viewer {
		t.Fatalf("got %+v, want the token's user", me.User)
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	cookie := h.Cookie()
	a := h.Call("POST", "/api/logout", "{}", cookie)
	if set := a.Header.Get("Set-Cookie"); a.Status != http.StatusNoContent || !strings.Contains(set, "Max-Age=0") {
		t.Fatalf("got %d with cookie %q, want 204 and the cookie gone", a.Status, set)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, cookie), 401, "not_signed_in")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", "/api/logout", nil), 400, "invalid")
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
			h := quietHarness(t)
			apitest.CheckRefusal(t, h.Call("POST", "/api/login", row.body), row.status, row.code)
		})
	}
}

func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	for range account.DefaultLimits.PerAddress {
		apitest.CheckRefusal(t, h.Call("POST", "/api/login", `{"token":"guess"}`), 401, "not_signed_in")
	}
	a := h.Call("POST", "/api/login", `{"token":"guess"}`, apitest.Header("X-Forwarded-For", "203.0.113.9"))
	apitest.CheckRefusal(t, a, 429, "too_many_attempts")
	// Who has an address or a token is let in, whoever else fails where they are.
	if a := h.Call("POST", "/api/login", wire.Login{Token: h.link()}); a.Status != 200 {
		t.Errorf("a good sign-in link: got %d %s", a.Status, a.Body)
	}
	if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
		t.Errorf("Retry-After is %q, want up to a minute", a.Header.Get("Retry-After"))
	}
	if got := h.CallAs(account.Viewer, "GET", "/api/me", nil); got.Status != 200 {
		t.Errorf("the limit held back who is signed in: %d", got.Status)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	var made wire.TokenCreated
	a := h.CallAs(account.Admin, "POST", "/api/tokens", wire.TokenCreate{Name: "dashboard", Role: account.Viewer, ExpiresIn: 3600})
	a.Decode(t, &made)
	if a.Status != 201 || len(made.Secret) != 64 || made.Role != account.Viewer || made.ExpiresAt == nil {
		t.Fatalf("got %d %s, want a viewer's token that runs out", a.Status, a.Body)
	}
	var me wire.Me
	h.Call("GET", "/api/me", nil, apitest.Bearer(made.Secret)).Decode(t, &me)
	if me.User.Name != "dashboard" || me.User.Role != account.Viewer {
		t.Fatalf("the token acts as %+v", me.User)
	}
	list := h.CallAs(account.Admin, "GET", "/api/tokens", nil)
	if !strings.Contains(string(list.Body), made.TokenID) || strings.Contains(string(list.Body), made.Secret) {
		t.Fatalf("the list must show the token and not its secret: %s", list.Body)
	}
	if got := h.CallAs(account.Admin, "DELETE", "/api/tokens/"+made.TokenID, nil); got.Status != 204 {
		t.Fatalf("revoke: got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, apitest.Bearer(made.Secret)), 401, "not_signed_in")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "DELETE", "/api/tokens/none", nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/tokens", `{"name":"dashboard","role":"member"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/tokens", `{"name":"x","role":"root"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/tokens", `{}`), 400, "invalid")
}
