package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/ssrf"
)

// ParsePublicURL parses the external address of the server and returns it as scheme,
// "://" and host. It requires https, except on loopback.
func ParsePublicURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%q is no address such as https://sayso.example.org, without a path", text)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && ssrf.IsLoopback(u.Hostname())) {
		return "", fmt.Errorf("%q is not encrypted; browsers must reach the server by https", text)
	}
	// Browsers leave the default port out of Host and Origin.
	defaultPort := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPort), nil
}

// usesHTTPS reports whether the browser of a request speaks TLS with us or with our
// proxy. It ignores forwarded headers, because proxies pass on headers that they do not
// know.
func (s *Server) usesHTTPS(r *http.Request) bool {
	return s.o.TLS || r.TLS != nil || s.o.PublicURL == "https://"+r.Host
}

// loopbackNames are always allowed.
var loopbackNames = []string{"127.0.0.1", "localhost", "::1"}

// SetAllowedHosts replaces Options.AllowedHosts for later requests.
func (s *Server) SetAllowedHosts(hosts []string) {
	all := append(slices.Clone(loopbackNames), hosts...)
	if public := s.publicHost(); public != "" {
		all = append(all, public)
	}
	s.allowedHosts.Store(&all)
}

// publicHost returns the host of Options.PublicURL, or "".
func (s *Server) publicHost() string {
	_, host, _ := strings.Cut(s.o.PublicURL, "://")
	return host
}

// isTrustedProxy reports whether an address belongs to one of our proxies.
func (s *Server) isTrustedProxy(a netip.Addr) bool {
	for _, p := range s.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// peerAddress returns the address at the other end of the connection, or the zero value
// if there is none.
func peerAddress(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// checkPeer refuses connections that bypass the proxy, if the server requires one.
func (s *Server) checkPeer(r *http.Request) *refusal.Refusal {
	if a := peerAddress(r); !s.o.ProxiesOnly || s.isTrustedProxy(a) || a.IsLoopback() {
		return nil
	}
	return refusal.New("not_by_proxy")
}

// remoteAddress returns the sender's address. X-Forwarded-For counts only from a
// trusted proxy. Each proxy appends the address that it saw, so the last one that is
// not our proxy is the sender; addresses before it can be forged.
func (s *Server) remoteAddress(r *http.Request) string {
	from := peerAddress(r)
	if !from.IsValid() {
		return r.RemoteAddr
	}
	if !s.isTrustedProxy(from) {
		return from.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		if from = a.Unmap().WithZone(""); !s.isTrustedProxy(from) {
			break
		}
	}
	return from.String()
}
