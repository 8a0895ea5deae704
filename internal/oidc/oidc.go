// Package oidc signs people in at an identity provider, with the authorization code flow of
// OpenID Connect and PKCE. It handles one provider and does not depend on sayso.
//
// It makes no request before the first sign-in, so that the server can start while the provider
// is unreachable. A [Provider] is safe for concurrent use.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sayso-dev/sayso/internal/ssrf"
)

// Errors of a sign-in.
var (
	// ErrUnreachable: the provider does not answer, or does not speak OpenID Connect.
	ErrUnreachable = errors.New("identity provider cannot be reached")
	// ErrRefused: the provider does not accept the code.
	ErrRefused = errors.New("identity provider refused the code")
	// ErrInvalid: the provider's claims about the person cannot be trusted.
	ErrInvalid = errors.New("statement of the identity provider is not valid")
)

// Limits of requests to a provider.
const (
	timeout     = 10 * time.Second
	maxResponse = 1 << 20 // bytes of a response
	// pause is the minimum time between a failed discovery and the next one, so that nobody can
	// make this server send requests continuously.
	pause = 5 * time.Second
)

// Config describes the provider and our client registration.
type Config struct {
	Issuer       string // exactly as the provider spells it
	ClientID     string
	ClientSecret string // "" for a public client
	RedirectURL  string // the page to which the provider redirects the browser
	Scopes       []string
	// RoleClaim names the claim of the ID token with roles or groups: a name, or a dotted path
	// such as realm_access.roles. It may be "".
	RoleClaim string
}

// Flow is the secret state of a sign-in. Only the browser may have it, and must return it.
type Flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Person is the person who has signed in.
type Person struct {
	Issuer  string
	Subject string   // never reassigned by this issuer to another person
	Name    string   // a display name, not necessarily unique
	Roles   []string // the values of the role claim
}

// Provider is one identity provider.
type Provider struct {
	config Config
	client *http.Client

	discovering chan struct{} // capacity 1: held during discovery

	mu     sync.Mutex // protects following
	known  *oidc.Provider
	failed time.Time
	why    error
}

// New returns a provider. It sends no request.
func New(c Config) *Provider {
	return &Provider{
		config: c, discovering: make(chan struct{}, 1),
		client: &http.Client{
			Timeout: timeout, Transport: newTransport(c.Issuer),
			// A redirect could send secrets to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// transport requires encryption, except on loopback, and limits the size of responses. The issuer
// may have any address, because the operator configures it. Other hosts that the issuer names must
// be public, unless the issuer itself is not.
type transport struct {
	host            string // of the issuer
	own             *http.Transport
	others          *http.Transport // for hosts that the issuer names
	issuerIsPrivate atomic.Bool     // the issuer's address is not public
}

func newTransport(issuer string) *transport {
	t := &transport{}
	if u, err := url.Parse(issuer); err == nil {
		t.host = u.Hostname()
	}
	once := func(dialer *net.Dialer) *http.Transport {
		h := http.DefaultTransport.(*http.Transport).Clone()
		h.DisableKeepAlives = true // sign-ins are rare; no connection stays open
		h.DialContext = dialer.DialContext
		return h
	}
	plain := &net.Dialer{Timeout: timeout}
	t.own = once(plain)
	t.own.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := plain.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if host, _, split := net.SplitHostPort(address); split == nil && host == t.host && (err != nil || !ssrf.Public(at.Addr())) {
			t.issuerIsPrivate.Store(true)
		}
		return conn, nil
	}
	t.others = once(&net.Dialer{Timeout: timeout, Control: func(network, address string, c syscall.RawConn) error {
		if t.issuerIsPrivate.Load() {
			return nil
		}
		return ssrf.Control(network, address, c)
	}})
	t.others.Proxy = nil
	return t
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !(r.URL.Scheme == "http" && ssrf.IsLoopback(r.URL.Hostname())) {
		return nil, fmt.Errorf("%s is not encrypted", r.URL.Redacted())
	}
	next := t.own
	if r.URL.Hostname() != t.host {
		// A proxy resolves and dials the host itself, so the check of others cannot apply.
		if proxy, err := t.own.Proxy(r); err == nil && proxy == nil {
			next = t.others
		}
	}
	answer, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxResponse), answer.Body}
	return answer, nil
}

// discover returns the provider's metadata, which it requests only once. The request does not end with
// ctx: its result is that of all sign-ins.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	select {
	case p.discovering <- struct{}{}:
		defer func() { <-p.discovering }()
	case <-ctx.Done():
		return nil, fmt.Errorf("oidc: %w: %w", ErrUnreachable, ctx.Err())
	}
	p.mu.Lock()
	known, failed, why := p.known, p.failed, p.why
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if why != nil && time.Since(failed) < pause {
		return nil, why
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	known, err := oidc.NewProvider(oidc.ClientContext(asking, p.client), p.config.Issuer)
	if err != nil {
		err = fmt.Errorf("oidc: %w: %w", ErrUnreachable, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.failed, p.why = known, time.Now(), err
	return known, err
}

func (p *Provider) oauth(known *oidc.Provider) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "profile"}
	for _, s := range p.config.Scopes {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: known.Endpoint(),
		RedirectURL: p.config.RedirectURL, Scopes: scopes,
	}
}

// Begin returns the URL at the provider to which to send the browser, and the Flow for Finish.
func (p *Provider) Begin(ctx context.Context) (address string, f Flow, err error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", Flow{}, err
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.oauth(known).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

// Finish returns the person who has signed in. state and code are from the browser, f is from Begin.
func (p *Provider) Finish(ctx context.Context, f Flow, state, code string) (Person, error) {
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 {
		return Person{}, fmt.Errorf("oidc: %w: another sign-in came back", ErrInvalid)
	}
	known, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(known).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response.StatusCode < 500 {
		return Person{}, fmt.Errorf("oidc: %w: %s", ErrRefused, refused.ErrorCode)
	}
	if err != nil {
		return Person{}, fmt.Errorf("oidc: %w: %w", ErrUnreachable, err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, fmt.Errorf("oidc: %w: there is no ID token", ErrInvalid)
	}
	return p.person(ctx, known, f, raw)
}

func (p *Provider) person(ctx context.Context, known *oidc.Provider, f Flow, raw string) (Person, error) {
	id, err := known.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("oidc: %w: %w", ErrInvalid, err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return Person{}, fmt.Errorf("oidc: %w: the ID token is of another sign-in", ErrInvalid)
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("oidc: %w: %w", ErrInvalid, err)
	}
	// A token with several audiences must name us as the authorized party.
	if azp, said := claims["azp"]; said && azp != p.config.ClientID || !said && len(id.Audience) > 1 {
		return Person{}, fmt.Errorf("oidc: %w: the ID token was made for another client", ErrInvalid)
	}
	if id.Subject == "" {
		return Person{}, fmt.Errorf("oidc: %w: the ID token names nobody", ErrInvalid)
	}
	who := Person{Issuer: id.Issuer, Subject: id.Subject, Roles: values(claims, p.config.RoleClaim)}
	for _, claim := range []string{"preferred_username", "name", "email"} {
		if s, ok := claims[claim].(string); ok && who.Name == "" {
			who.Name = strings.TrimSpace(s)
		}
	}
	return who, nil
}

// values returns the values of a claim, which is a string or a list of strings. A claim with dots in
// its name takes precedence over a path.
func values(claims map[string]any, path string) []string {
	if path == "" {
		return nil
	}
	var at any = claims
	if whole, ok := claims[path]; ok {
		at = whole
	} else {
		for name := range strings.SplitSeq(path, ".") {
			inner, ok := at.(map[string]any)
			if !ok {
				return nil
			}
			at = inner[name]
		}
	}
	switch v := at.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
