package httpapi_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

func TestPublicURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://sayso.example.org": "https://sayso.example.org", "https://SAYSO.example.org:8443/": "https://sayso.example.org:8443",
		"http://127.0.0.1:8787": "http://127.0.0.1:8787", "https://a:443": "https://a", "http://localhost": "http://localhost",
		"http://sayso.example.org": "", "sayso.example.org": "", "https://": "", "https://a/b": "", "https://u:p@a": "", "https://a?b": "", "ftp://a": "",
	} {
		got, err := httpapi.ParsePublicURL(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// proxied returns a harness behind a proxy at 192.0.2.10 that speaks TLS as
// sayso.example.
func proxied(t *testing.T) *harness {
	return quietHarness(t, func(o *apitest.Options) {
		o.PublicURL = "https://sayso.example"
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32"), netip.MustParsePrefix("10.0.0.0/8")}
		o.ProxiesOnly = true
	})
}

func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	h := proxied(t)
	h.person("Ada", account.Member)
	proxy, public := from("192.0.2.10"), host("sayso.example")
	a := h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, proxy, public,
		apitest.Header("Origin", "https://sayso.example"), apitest.Header("X-Forwarded-For", "198.51.100.7, 203.0.113.9, 10.1.2.3"))
	set := a.Header.Get("Set-Cookie")
	if a.Status != 200 || !strings.HasPrefix(set, "__Host-sayso=") || !strings.Contains(set, "; Secure") || a.Header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("got %d with cookie %q, want one that only TLS carries", a.Status, set)
	}
	cookie := apitest.SignedIn(a)
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, proxy, public, cookie).Decode(t, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Address != "203.0.113.9" {
		t.Fatalf("got %+v, want the last address that is no proxy of ours", list)
	}
	for name, origin := range map[string]string{"http": "http://sayso.example", "port": "https://sayso.example:8443", "null": "null"} {
		apitest.CheckRefusal(t, h.Call("POST", "/api/logout", "{}", proxy, public, cookie, apitest.Header("Origin", origin)), 403, "wrong_origin")
		_ = name
	}
	if a := h.Call("POST", "/api/logout", "{}", proxy, public, cookie, apitest.Header("Origin", "https://sayso.example")); a.Status != 204 {
		t.Fatalf("with our own origin: got %d %s", a.Status, a.Body)
	}
}

// TestForwardedHeadersOfStrangers: attacks 6 and 33. Nothing that a header says
// counts unless a proxy of ours sent it, and of a proxy only for whom it speaks.
func TestForwardedHeadersOfStrangers(t *testing.T) {
	t.Parallel()
	h := proxied(t)
	h.person("Ada", account.Member)
	apitest.CheckRefusal(t, h.Call("GET", "/healthz", nil, from("203.0.113.9"), host("sayso.example"), apitest.Header("X-Forwarded-For", "127.0.0.1")), 403, "not_by_proxy")
	apitest.CheckRefusal(t, h.Call("GET", "/healthz", nil, from("192.0.2.10"), host("evil.example"), apitest.Header("X-Forwarded-Host", "sayso.example")), 421, "wrong_host")
	local := h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, from("127.0.0.1"), apitest.Header("X-Forwarded-Proto", "https"), apitest.Header("X-Forwarded-For", "203.0.113.9"))
	set := local.Header.Get("Set-Cookie")
	if local.Status != 200 || !strings.HasPrefix(set, "sayso=") || local.Header.Get("Strict-Transport-Security") != "" {
		t.Fatalf("got %d with cookie %q, want the request taken as it came", local.Status, set)
	}
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, apitest.SignedIn(local)).Decode(t, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Address != "127.0.0.1" {
		t.Fatalf("got %+v, want the address of the connection", list)
	}
	// What the sender made up stands before what the proxy added.
	for range account.DefaultLimits.PerAddress {
		apitest.CheckRefusal(t, h.Call("POST", "/api/login", `{"token":"guess"}`, from("192.0.2.10"), apitest.Header("X-Forwarded-For", "127.0.0.1, 203.0.113.50")), 401, "not_signed_in")
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", `{"token":"guess"}`, from("192.0.2.10"), apitest.Header("X-Forwarded-For", "198.51.100.1, 203.0.113.50")), 429, "too_many_attempts")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", `{"token":"guess"}`, from("192.0.2.10"), apitest.Header("X-Forwarded-For", "203.0.113.50, 203.0.113.51")), 401, "not_signed_in")
}

// TestSetUpThroughAProxy: a proxy on the same machine does not make strangers
// come from it.
func TestSetUpThroughAProxy(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, func(o *apitest.Options) { o.PublicURL = "https://sayso.example" })
	login := wire.Login{Token: h.link()}
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", login, host("sayso.example")), 403, "not_set_up")
	if a := h.Call("POST", "/api/login", login, host("localhost:8787")); a.Status != http.StatusOK {
		t.Fatalf("on the machine itself: got %d %s", a.Status, a.Body)
	}
}
