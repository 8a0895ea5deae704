package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sayso-dev/sayso/internal/refusal"
)

// ParsePublicURL reads the address under which browsers reach the server from
// outside, and returns it as scheme, "://" and host.
func ParsePublicURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%q is no address such as https://sayso.example.org, without a path", text)
	}
	loopback := u.Hostname() == "localhost"
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
		loopback = true
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		return "", fmt.Errorf("%q is not encrypted; browsers must reach the server by https", text)
	}
	// Browsers leave the usual port out of Host and Origin.
	usual := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), usual), nil
}

// https says whether the browser of a request speaks TLS, with us or with the
// proxy that the public address belongs to. Only the address decides, no header:
// proxies pass on those they do not know.
func (s *Server) https(r *http.Request) bool {
	return s.o.TLS || r.TLS != nil || s.o.PublicURL == "https://"+r.Host
}

// publicHost is the host of Options.PublicURL, "" when there is none.
func (s *Server) publicHost() string {
	_, host, _ := strings.Cut(s.o.PublicURL, "://")
	return host
}

// trusts says whether an address is that of a proxy of ours.
func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// peer is the address at the other end of the connection, the zero value when it
// has none.
func peer(r *http.Request) netip.Addr {
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

// checkPeer refuses who comes past the proxy to a server that is only safe behind
// it.
func (s *Server) checkPeer(r *http.Request) *refusal.Refusal {
	if a := peer(r); !s.o.ProxiesOnly || s.trusts(a) || a.IsLoopback() {
		return nil
	}
	return refusal.New("not_by_proxy")
}

// remoteAddress is where a request comes from. Only a proxy of ours is believed
// when it says for whom it speaks: each proxy adds whom it heard at the end, so the
// last one that is no proxy of ours is the sender, and whatever stands before was
// made up by them.
func (s *Server) remoteAddress(r *http.Request) string {
	from := peer(r)
	if !from.IsValid() {
		return r.RemoteAddr
	}
	if !s.trusts(from) {
		return from.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		if from = a.Unmap().WithZone(""); !s.trusts(from) {
			break
		}
	}
	return from.String()
}
