package httpapi

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// contentSecurityPolicy lets the app load only itself, and create markup only through
// the named policies: of frontend/src/text/markdown.ts, of our workers and of Vue.
// Everything that Claude prints is treated as hostile.
const contentSecurityPolicy = "default-src 'self'; script-src 'self'; style-src 'self'; worker-src 'self'; " +
	"connect-src 'self'; img-src 'self' blob: data:; font-src 'self'; object-src 'none'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types sayso-markdown sayso-push sayso-worker vue"

const permissionsPolicy = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// middleware wraps the routes in the steps that apply to every request: recovery from
// panics, body limits, security headers, and the checks of peer and host. Authentication and
// authorization depend on the route, see dispatch.
func (s *Server) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault == http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(fault)
			}
			s.faults.Add(1)
			s.o.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "panic", fault, "stack", string(debug.Stack()))
			writeRefusal(w, refusal.New("internal"), nil)
		}()
		boundBody(w, r)
		s.setHeaders(w.Header(), r)
		if len(r.TransferEncoding) > 0 {
			// A proxy may have used a Content-Length that net/http has dropped, so no
			// second request is read from this connection; see RFC 9112, section 6.1.
			w.Header().Set("Connection", "close")
		}
		for _, check := range []func(*http.Request) *refusal.Refusal{s.checkPeer, s.checkHost} {
			if ref := check(r); ref != nil {
				s.answerRefusal(w, r, ref)
				return
			}
		}
		if ref := s.checkDescriptors(w.Header(), r); ref != nil {
			s.answerRefusal(w, r, ref)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkDescriptors refuses a request when too few file descriptors are free: first
// WebSockets, then all requests. Connections then close after their response instead of
// staying open idle.
func (s *Server) checkDescriptors(h http.Header, r *http.Request) *refusal.Refusal {
	if s.o.Descriptors == nil {
		return nil
	}
	err := s.o.Descriptors.CheckConnection()
	if err == nil {
		return nil
	}
	h.Set("Connection", "close")
	if r.URL.Path != "/ws" {
		if err = s.o.Descriptors.CheckRequest(); err == nil {
			return nil
		}
	}
	ref := s.o.Refusals.Of(err)
	ref.Retry = 5 * time.Second
	return ref
}

func (s *Server) setHeaders(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", permissionsPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if s.usesHTTPS(r) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func (s *Server) answerRefusal(w http.ResponseWriter, r *http.Request, ref *refusal.Refusal) {
	s.refusals.Add(1)
	refusal.Report(r.Context(), s.o.Log, "request refused", ref)
	writeRefusal(w, ref, nil)
}

// checkHost refuses requests to unknown host names, such as those of DNS rebinding.
func (s *Server) checkHost(r *http.Request) *refusal.Refusal {
	// An absolute URI replaces Host, and net/http then hides the header.
	if r.Host == "" || r.URL.Host != "" {
		return refusal.New("host_header")
	}
	name := hostName(r.Host)
	for _, allowed := range *s.allowedHosts.Load() {
		if r.Host == allowed || name == strings.Trim(allowed, "[]") {
			return nil
		}
	}
	return refusal.New("wrong_host")
}

// hostName returns a host without its port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// origin returns the origin of our own pages.
func (s *Server) origin(r *http.Request) string {
	if s.usesHTTPS(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

var sameOrigin = http.NewCrossOriginProtection()

// checkOrigin refuses requests that another site's page makes a browser send. An upgrade with a
// cookie needs an Origin header, because nothing else protects a WebSocket.
func (s *Server) checkOrigin(r *http.Request, upgrade, byCookie bool) *refusal.Refusal {
	wrong := refusal.New("wrong_origin")
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) > 1, len(origins) == 1 && origins[0] != s.origin(r):
		if upgrade || !isSafeMethod(r.Method) {
			return wrong
		}
	case len(origins) == 0 && upgrade && byCookie:
		return wrong
	}
	if err := sameOrigin.Check(r); err != nil {
		return wrong
	}
	return nil
}

func isSafeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// secretsInQuery are parameter names that suggest a credential in the URL, where logs
// and histories would store it.
var secretsInQuery = []string{"token", "access_token", "api_token", "api_key", "apikey", "auth", "authorization", "password", "secret"}

func checkQuery(u *url.URL) *refusal.Refusal {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refusal.New("query_malformed")
	}
	for name := range query {
		if slices.Contains(secretsInQuery, strings.ToLower(name)) {
			return refusal.New("secret_in_url")
		}
	}
	return nil
}

// cookieName returns the name of the sign-in cookie. With TLS, its prefix makes
// browsers require Secure, Path=/ and no Domain.
func (s *Server) cookieName(r *http.Request) string {
	if s.usesHTTPS(r) {
		return "__Host-sayso"
	}
	return "sayso"
}

func (s *Server) newCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(r), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.usesHTTPS(r), SameSite: http.SameSiteStrictMode,
	}
}

// pageKeyHeader and pageKeyProtocol carry the page key that belongs to a cookie.
// Browsers let pages add subprotocols to a WebSocket, but no headers.
const (
	pageKeyHeader   = "X-Sayso-Page-Key"
	pageKeyProtocol = wire.SocketProtocol + ".page-key."
)

// pageKey returns the page key of a request, or "" if it has none or several.
func pageKey(r *http.Request) string {
	keys := r.Header.Values(pageKeyHeader)
	if r.Header.Get("Upgrade") != "" {
		for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
			for protocol := range strings.SplitSeq(line, ",") {
				if key, found := strings.CutPrefix(strings.TrimSpace(protocol), pageKeyProtocol); found {
					keys = append(keys, key)
				}
			}
		}
	}
	if len(keys) != 1 {
		return ""
	}
	return keys[0]
}

// checkCookies refuses a request with two of our cookies: another server on this host
// set one of them, and the order in which a browser sends them is not reliable.
func (s *Server) checkCookies(r *http.Request) *refusal.Refusal {
	if len(r.CookiesNamed(s.cookieName(r))) < 2 {
		return nil
	}
	return refusal.New("two_cookies")
}

// authenticate identifies the sender of a request. If there is an Authorization header,
// the cookie is ignored.
func (s *Server) authenticate(r *http.Request) (who account.Identity, byCookie bool, ref *refusal.Refusal) {
	kind, secret := account.Cookie, ""
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		scheme, rest, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return account.Identity{}, false, refusal.NotSignedIn()
		}
		kind, secret = account.APIToken, strings.TrimSpace(rest)
	} else if c, err := r.Cookie(s.cookieName(r)); err == nil {
		byCookie = true
		// A cookie without a page key is ignored and does not count as a guess.
		if key := pageKey(r); key != "" {
			secret = account.JoinCookie(c.Value, key)
		}
	}
	if secret == "" {
		return account.Identity{}, byCookie, refusal.NotSignedIn()
	}
	hash, from := account.Hash(secret), s.remoteAddress(r)
	who, err := s.o.Directory.Identify(r.Context(), kind, secret)
	if errors.Is(err, account.ErrRefused) {
		// A valid secret works even if other attempts from the same address fail.
		wait, err := s.limiter.TokenWait(r.Context(), from, hash)
		if err != nil {
			return account.Identity{}, byCookie, s.o.Refusals.Of(err)
		}
		if wait > 0 {
			s.recordFailure(r, "", tooManyAttempts(wait), "")
			return account.Identity{}, byCookie, tooManyAttempts(wait)
		}
	}
	if err == nil || errors.Is(err, account.ErrRefused) {
		s.recordToken(r, hash, err == nil)
	}
	switch {
	case errors.Is(err, account.ErrRefused):
		s.recordFailure(r, "", refusal.NotSignedIn(), map[bool]account.Method{false: account.ByToken}[byCookie])
		return account.Identity{}, byCookie, refusal.NotSignedIn()
	case err != nil:
		return account.Identity{}, byCookie, s.o.Refusals.Of(err)
	}
	who.From = from
	return who, byCookie, nil
}

// deviceName returns a description of a browser that people recognize, or "".
func deviceName(userAgent string) string {
	find := func(names ...string) string {
		for _, pair := range names {
			mark, name, _ := strings.Cut(pair, "=")
			if strings.Contains(userAgent, mark) {
				return name
			}
		}
		return ""
	}
	browser := find("Edg/=Edge", "OPR/=Opera", "Firefox/=Firefox", "HeadlessChrome=Chrome", "Chrome/=Chrome", "CriOS=Chrome", "FxiOS=Firefox", "Safari/=Safari")
	system := find("iPhone=iPhone", "iPad=iPad", "Android=Android", "Windows=Windows", "Mac OS X=macOS", "CrOS=ChromeOS", "Linux=Linux")
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	}
	return system
}
