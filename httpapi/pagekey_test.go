package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// stolen is a sign-in as another server on this host gets it: the cookie alone.
func stolen(signIn apitest.RequestOption) apitest.RequestOption {
	return func(r *http.Request) {
		signIn(r)
		r.Header.Del("X-Sayso-Page-Key")
	}
}

// TestCookieWithoutPageKeyIsRefused: attack 115. Browsers send a cookie to every port of
// a host, and who gets it can forge Origin and Host as well.
func TestCookieWithoutPageKeyIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.person("Ada", account.Member)
	id := h.NewSession("api-server")
	r, _ := h.Ask(id, "a", nil)
	mine, other := h.signIn("Ada"), h.signIn("Ada", from("192.0.2.1"))
	own, host := apitest.Header("Origin", h.Web.URL), func(r *http.Request) { r.Host = strings.TrimPrefix(h.Web.URL, "http://") }
	keyOf := func(signIn apitest.RequestOption) string {
		r := httptest.NewRequest("GET", "/", nil)
		signIn(r)
		return r.Header.Get("X-Sayso-Page-Key")
	}
	if key := keyOf(mine); len(key) != 64 || key == keyOf(other) {
		t.Fatalf("got the page key %q, want 256 bits for each sign-in", key)
	}
	approve := func(ways ...apitest.RequestOption) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/response", apitest.Allow(r), append([]apitest.RequestOption{own, host}, ways...)...)
	}
	for name, ways := range map[string][]apitest.RequestOption{
		"no key":                  {stolen(mine)},
		"an empty key":            {mine, apitest.Header("X-Sayso-Page-Key", "")},
		"the key of another":      {mine, apitest.Header("X-Sayso-Page-Key", keyOf(other))},
		"half a key":              {mine, apitest.Header("X-Sayso-Page-Key", keyOf(mine)[:32])},
		"a key in other letters":  {mine, apitest.Header("X-Sayso-Page-Key", strings.ToUpper(keyOf(mine)))},
		"two keys":                {mine, func(r *http.Request) { r.Header.Add("X-Sayso-Page-Key", keyOf(mine)) }},
		"the key as a protocol":   {stolen(mine), apitest.Header("Sec-WebSocket-Protocol", "sayso.page-key."+keyOf(mine))},
		"the cookie twice in one": {stolen(mine), apitest.Header("X-Sayso-Page-Key", cookieValue(mine))},
	} {
		// Each from elsewhere: a wrong key is a guess.
		ways = append(ways, from("198.51.100."+string(rune('1'+len(name)%9))))
		if got := approve(ways...); got.Status != 401 && got.Status != 429 {
			t.Errorf("%s: got %d %s, want it refused as no sign-in", name, got.Status, got.Body)
		}
		if _, resp, err := h.TryDial(t.Context(), append(ways, own, func(r *http.Request) { r.Header.Del("Sec-WebSocket-Protocol") })...); err == nil {
			t.Errorf("%s: a WebSocket was opened", name)
		} else if resp.StatusCode != 401 && resp.StatusCode != 429 {
			t.Errorf("%s: the WebSocket got %d", name, resp.StatusCode)
		}
	}
	apitest.CheckRefusal(t, approve(mine, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "sayso", Value: "planted"}) }), 400, "two_cookies")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, apitest.Header("Cookie", "sayso=a; sayso=b")), 400, "two_cookies")
	if a := approve(mine); a.Status >= 300 {
		t.Errorf("with its own key: got %d %s", a.Status, a.Body)
	}
}

func cookieValue(signIn apitest.RequestOption) string {
	r := httptest.NewRequest("GET", "/", nil)
	signIn(r)
	_, value, _ := strings.Cut(r.Header.Get("Cookie"), "=")
	return value
}

// TestAPageOpensItsWebSocketWithItsKey: a browser can name subprotocols and nothing
// else; the key is not said back, and no address has it.
func TestAPageOpensItsWebSocketWithItsKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	request := httptest.NewRequest("GET", "/", nil)
	h.Cookie()(request)
	key := request.Header.Get("X-Sayso-Page-Key")
	dial := func(protocols ...string) (*http.Response, error) {
		conn, resp, err := websocket.Dial(t.Context(), strings.Replace(h.Web.URL, "http", "ws", 1)+"/ws", &websocket.DialOptions{
			HTTPHeader: http.Header{"Cookie": request.Header["Cookie"], "Origin": {h.Web.URL}}, Subprotocols: protocols,
		})
		if err == nil {
			t.Cleanup(func() { _ = conn.CloseNow() })
		}
		return resp, err
	}
	resp, err := dial("sayso", "sayso.page-key."+key)
	if err != nil || resp.Header.Get("Sec-WebSocket-Protocol") != "sayso" || strings.Contains(strings.Join(resp.Header.Values("Sec-WebSocket-Protocol"), ","), key) {
		t.Fatalf("got %v and %v, want the protocol sayso and the key not repeated", resp, err)
	}
	for name, protocols := range map[string][]string{
		"none": nil, "no key": {"sayso"}, "a wrong key": {"sayso", "sayso.page-key." + strings.Repeat("0", 64)}, "two keys": {"sayso", "sayso.page-key." + key, "sayso.page-key.0"},
	} {
		if resp, err := dial(protocols...); err == nil || resp.StatusCode != 401 {
			t.Errorf("%s: got %v and %v, want 401", name, resp, err)
		}
	}
}

// TestEverySignInGivesAPageKey: whoever signs in, and however, is told once what its
// requests must show; nobody else ever is, and it is not stored.
func TestEverySignInGivesAPageKey(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := newKeyring(t, h, "Ada")
	k.register("laptop")
	for name, in := range map[string]apitest.Response{
		"password": h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}),
		"token":    h.Call("POST", "/api/login", wire.Login{Token: h.Token(account.Viewer)}),
		"link":     h.Call("POST", "/api/login", wire.Login{Token: h.link()}),
		"passkey":  k.enter(),
	} {
		var me wire.Me
		in.Decode(t, &me)
		if in.Status != 200 || len(me.PageKey) != 64 {
			t.Errorf("%s: got %d %s, want a page key", name, in.Status, in.Body)
			continue
		}
		ways := []apitest.RequestOption{cookiesOf(in)}
		if name == "passkey" {
			ways = append(ways, k.at)
		}
		again := h.Call("GET", "/api/me", nil, ways...)
		if again.Status != 200 || strings.Contains(string(again.Body), "page_key") {
			t.Errorf("%s: got %d %s, want the key told once", name, again.Status, again.Body)
		}
	}
}

// TestSignInsWithoutPageKeyAreOver: those from before there were any.
func TestSignInsWithoutPageKeyAreOver(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	secret := strings.Repeat("a", 64)
	err := h.Store.AddCredential(context.Background(), account.Credential{CredentialID: "old", Kind: account.Cookie, UserID: h.Admin.UserID, Hash: account.Hash(secret)})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", strings.Repeat("b", 64)} {
		apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, apitest.Header("Cookie", "sayso="+secret), apitest.Header("X-Sayso-Page-Key", key)), 401, "not_signed_in")
	}
	var body struct{ Error struct{ Code string } }
	if err := json.Unmarshal(h.Call("GET", "/api/me", nil).Body, &body); err != nil || body.Error.Code != "not_signed_in" {
		t.Errorf("got %+v and %v, want the same answer as without a cookie", body, err)
	}
}
