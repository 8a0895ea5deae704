// Package oidctest provides an identity provider for tests, on loopback. It can be made
// to return wrong tokens.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The credentials of the only client that the provider knows.
const (
	ClientID = "sayso"
	Secret   = "a-client-secret-of-the-tests"
)

// Provider is the identity provider.
type Provider struct {
	*httptest.Server
	t testing.TB

	mu             sync.Mutex // protects following
	keys           map[string]crypto.Signer
	newest         string
	next           int
	codes          map[string]url.Values // queries of the authorization requests, by code
	discoveryCalls int                   // requests for the discovery document

	// Claims are added to every ID token.
	// AlterToken changes an ID token before it is signed, and Sign replaces the signing;
	// both may be nil. While Down is set, every response has the status 500.
	// Change them with Update once requests may arrive.
	Claims     map[string]any
	AlterToken func(header, claims map[string]any)
	Sign       func(signed string) []byte
	Down       bool
}

var b64 = base64.RawURLEncoding

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, keys: map[string]crypto.Signer{}, codes: map[string]url.Values{}, Claims: map[string]any{"sub": "ada-1", "preferred_username": "Ada"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.publish)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	p.Rotate(false)
	return p
}

func (p *Provider) down() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Down
}

// SetDown sets Down.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Down = down
}

// DiscoveryCalls returns how often the discovery document was requested.
func (p *Provider) DiscoveryCalls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.discoveryCalls
}

// Rotate replaces the signing key with a new one, on the curve P-256 if elliptical is set,
// otherwise RSA. The earlier keys are no longer published.
func (p *Provider) Rotate(elliptical bool) {
	p.t.Helper()
	var key crypto.Signer
	var err error
	if elliptical {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	p.newest = fmt.Sprint("key-", p.next)
	clear(p.keys)
	p.keys[p.newest] = key
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	p.discoveryCalls++
	p.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "none", "HS256"},
	})
}

func (p *Provider) publish(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []map[string]any
	for id, key := range p.keys {
		switch k := key.Public().(type) {
		case *rsa.PublicKey:
			list = append(list, map[string]any{"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256",
				"n": b64.EncodeToString(k.N.Bytes()), "e": b64.EncodeToString(big.NewInt(int64(k.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, _ := k.Bytes()
			list = append(list, map[string]any{"kty": "EC", "kid": id, "use": "sig", "alg": "ES256", "crv": "P-256",
				"x": b64.EncodeToString(point[1:33]), "y": b64.EncodeToString(point[33:])})
		}
	}
	reply(w, http.StatusOK, map[string]any{"keys": list})
}

// SignIn signs a person in at an authorization URL, and returns the query of the redirect
// to the client.
func (p *Provider) SignIn(address string) url.Values {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{"client_id": ClientID, "response_type": "code", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			p.t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge", "redirect_uri"} {
		if q.Get(name) == "" {
			p.t.Errorf("there is no %s in %s", name, address)
		}
	}
	code := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[code] = q
	return url.Values{"code": {code}, "state": {q.Get("state")}}
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	code := r.PostFormValue("code")
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != Secret {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, known := p.codes[code]
	delete(p.codes, code)
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || b64.EncodeToString(verifier[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	reply(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.idToken(asked.Get("nonce"))})
}

// idToken returns a signed ID token. The caller holds mu.
func (p *Provider) idToken(nonce string) string {
	key := p.keys[p.newest]
	header := map[string]any{"typ": "JWT", "kid": p.newest, "alg": "RS256"}
	if _, elliptical := key.(*ecdsa.PrivateKey); elliptical {
		header["alg"] = "ES256"
	}
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "nonce": nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	maps.Copy(claims, p.Claims)
	if p.AlterToken != nil {
		p.AlterToken(header, claims)
	}
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	signed := b64.EncodeToString(h) + "." + b64.EncodeToString(c)
	digest := sha256.Sum256([]byte(signed))
	var signature []byte
	switch k := key.(type) {
	case *rsa.PrivateKey:
		signature, _ = rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, _ := ecdsa.Sign(rand.Reader, k, digest[:])
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	if p.Sign != nil {
		signature = p.Sign(signed)
	}
	return signed + "." + b64.EncodeToString(signature)
}

// Update calls f with the lock held, so that it can change the exported fields.
func (p *Provider) Update(f func(p *Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}
