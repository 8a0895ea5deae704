package oidc_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/oidc"
	"github.com/sayso-dev/sayso/internal/oidc/oidctest"
	"github.com/sayso-dev/sayso/internal/ssrf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(p *oidctest.Provider, change ...func(*oidc.Config)) *oidc.Provider {
	c := oidc.Config{
		Issuer: p.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret, RedirectURL: "https://sayso.example/sign-in/oidc",
		RoleClaim: "realm_access.roles",
	}
	for _, f := range change {
		f(&c)
	}
	return oidc.New(c)
}

// signIn goes the whole way.
func signIn(t *testing.T, p *oidctest.Provider, c *oidc.Provider) (oidc.Person, error) {
	t.Helper()
	address, flow, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back := p.SignIn(address)
	return c.Finish(t.Context(), flow, back.Get("state"), back.Get("code"))
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	c := client(p)
	p.Claims["realm_access"] = map[string]any{"roles": []string{"dev", "ops"}}
	want := oidc.Person{Issuer: p.URL, Subject: "ada-1", Name: "Ada", Roles: []string{"dev", "ops"}}
	for range 2 {
		if who, err := signIn(t, p, c); err != nil || !reflect.DeepEqual(who, want) {
			t.Fatalf("got %+v %v, want %+v", who, err, want)
		}
	}
	if n := p.DiscoveryCalls(); n != 1 {
		t.Errorf("it was asked %d times what it is", n)
	}
	// Its keys change while we run, to another kind too.
	for _, elliptical := range []bool{false, true, false} {
		p.Rotate(elliptical)
		if who, err := signIn(t, p, c); err != nil || who.Subject != "ada-1" {
			t.Fatalf("after another key: %+v %v", who, err)
		}
	}
}

func TestRoleClaims(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	for _, row := range []struct {
		claim  string
		claims any
		want   []string
	}{
		{"groups", map[string]any{"groups": []any{"a", 1, "b"}}, []string{"a", "b"}},
		{"groups", map[string]any{"groups": "a"}, []string{"a"}},
		{"groups", map[string]any{}, nil},
		{"groups", map[string]any{"groups": map[string]any{"a": true}}, nil},
		{"a.b", map[string]any{"a": map[string]any{"b": "deep"}}, []string{"deep"}},
		{"https://x.example/roles", map[string]any{"https://x.example/roles": []any{"whole"}}, []string{"whole"}},
		{"", map[string]any{"groups": "a"}, nil},
	} {
		p.Update(func(p *oidctest.Provider) {
			p.AlterToken = func(_, claims map[string]any) {
				for k, v := range row.claims.(map[string]any) {
					claims[k] = v
				}
			}
		})
		who, err := signIn(t, p, client(p, func(c *oidc.Config) { c.RoleClaim = row.claim }))
		if err != nil || !reflect.DeepEqual(who.Roles, row.want) {
			t.Errorf("%s in %v: got %q %v, want %q", row.claim, row.claims, who.Roles, err, row.want)
		}
	}
}

// TestTokensThatAreRefused: whatever is wrong with an ID token.
func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) func(header, claims map[string]any) {
		return func(_, claims map[string]any) { claims[name] = value }
	}
	for name, row := range map[string]struct {
		spoil func(header, claims map[string]any)
		sign  func(signed string) []byte
	}{
		"another audience":       {spoil: claim("aud", "somebody-else")},
		"for others too":         {spoil: claim("aud", []string{oidctest.ClientID, "somebody-else"})},
		"asked for by another":   {spoil: claim("azp", "somebody-else")},
		"another issuer":         {spoil: claim("iss", "https://evil.example")},
		"another sign-in":        {spoil: claim("nonce", "x")},
		"no nonce":               {spoil: func(_, claims map[string]any) { delete(claims, "nonce") }},
		"expired":                {spoil: claim("exp", time.Now().Add(-time.Minute).Unix())},
		"no end":                 {spoil: func(_, claims map[string]any) { delete(claims, "exp") }},
		"nobody":                 {spoil: claim("sub", "")},
		"no algorithm":           {spoil: func(header, _ map[string]any) { header["alg"] = "none" }, sign: func(string) []byte { return nil }},
		"a signature of nothing": {sign: func(string) []byte { return nil }},
		"signed with the secret": {
			spoil: func(header, _ map[string]any) { header["alg"] = "HS256" },
			sign: func(signed string) []byte {
				h := hmac.New(sha256.New, []byte(oidctest.Secret))
				h.Write([]byte(signed))
				return h.Sum(nil)
			},
		},
		"another key": {spoil: func(header, _ map[string]any) { header["kid"] = "another" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oidctest.New(t)
			p.Update(func(p *oidctest.Provider) { p.AlterToken, p.Sign = row.spoil, row.sign })
			if who, err := signIn(t, p, client(p)); !errors.Is(err, oidc.ErrInvalid) {
				t.Errorf("got %+v %v, want it refused", who, err)
			}
		})
	}
}

// TestFlowsThatAreRefused: a code belongs to the browser that began.
func TestFlowsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	c := client(p)
	address, mine, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := c.Begin(t.Context())
	if err != nil || other == mine || other.Verifier == mine.Verifier {
		t.Fatalf("got %+v again, %v", other, err)
	}
	back := p.SignIn(address)
	for name, f := range map[string]oidc.Flow{"none": {}, "another": other} {
		if _, err := c.Finish(t.Context(), f, back.Get("state"), back.Get("code")); !errors.Is(err, oidc.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := c.Finish(t.Context(), oidc.Flow{}, "", back.Get("code")); !errors.Is(err, oidc.ErrInvalid) {
		t.Errorf("without a state: got %v", err)
	}
	stolen := mine
	stolen.Verifier = other.Verifier
	if _, err := c.Finish(t.Context(), stolen, back.Get("state"), back.Get("code")); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("without the verifier: got %v", err)
	}
	if _, err := c.Finish(t.Context(), mine, back.Get("state"), back.Get("code")); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a code that was used: got %v", err)
	}
	if _, err := signIn(t, p, client(p, func(c *oidc.Config) { c.ClientSecret = "wrong" })); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a wrong secret: got %v", err)
	}
}

// TestADeadProvider: it is asked when somebody signs in, and again when it is back.
func TestADeadProvider(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	p.SetDown(true)
	c := client(p)
	if _, _, err := c.Begin(t.Context()); !errors.Is(err, oidc.ErrUnreachable) {
		t.Fatalf("got %v", err)
	}
	p.SetDown(false)
	if _, _, err := client(p, func(c *oidc.Config) { c.Issuer += "/" }).Begin(t.Context()); !errors.Is(err, oidc.ErrUnreachable) {
		t.Errorf("with another name than its own: got %v", err)
	}
	if _, _, err := client(p, func(c *oidc.Config) { c.Issuer = "http://sayso.example" }).Begin(t.Context()); !errors.Is(err, oidc.ErrUnreachable) || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("without encryption: got %v", err)
	}
	c = client(p)
	address, flow, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back := p.SignIn(address)
	p.SetDown(true)
	if _, err := c.Finish(t.Context(), flow, back.Get("state"), back.Get("code")); !errors.Is(err, oidc.ErrUnreachable) {
		t.Errorf("gone meanwhile: got %v", err)
	}
}

// TestACancelledSignInFailsNoOther: whoever gives up while the provider is slow does not make it
// unreachable for the next one.
func TestACancelledSignInFailsNoOther(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		at := "http://" + r.Host
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/keys"})
	}))
	defer slow.Close()
	c := oidc.New(oidc.Config{Issuer: slow.URL, ClientID: oidctest.ClientID, RedirectURL: "https://sayso.example/sign-in/oidc"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = c.Begin(ctx) // nobody waits for it
	}()
	<-asked
	cancel()
	close(release)
	<-done
	if _, _, err := c.Begin(t.Context()); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestPublicProviderReachesNoInternalAddress has the description of a provider name an address of
// this machine: one that is public itself leads nowhere inside, one that is inside may.
func TestPublicProviderReachesNoInternalAddress(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	get := func(issuer string, public bool) error {
		r, err := http.NewRequestWithContext(t.Context(), "GET", inside.URL+"/token", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := oidc.Reaching(issuer, public).RoundTrip(r)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	if err := get("https://accounts.example.org", true); !errors.Is(err, ssrf.ErrPrivate) || asked.Load() != 0 {
		t.Errorf("a public provider led inside: %v", err)
	}
	if err := get("https://sso.corp.example", false); err != nil {
		t.Errorf("a provider inside: %v", err)
	}
	if err := get("http://127.0.0.1:1", true); err != nil {
		t.Errorf("the host that was named: %v", err)
	}
}
