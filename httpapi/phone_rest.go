package httpapi

import (
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// getPhone lists the addresses by which a phone can reach the server. They come from the
// settings and interfaces of the server and never from the request: a QR code shows them,
// and somebody who forges headers must not choose where a phone signs in. Only admins learn
// what is missing, because that reveals the server's network.
func (s *Server) getPhone(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	access := wire.PhoneAccess{Addresses: []wire.PhoneAddress{}, Through: s.through(r)}
	if s.o.Phone != nil {
		for _, a := range s.o.Phone(r.Context()) {
			if a.Missing == wire.NothingMissing || who.User.Role.AtLeast(account.Admin) {
				access.Addresses = append(access.Addresses, a)
			}
		}
	}
	writeJSON(w, http.StatusOK, access)
	return nil
}

// through returns the trusted proxy that forwarded a request, as it identified itself.
func (s *Server) through(r *http.Request) wire.Through {
	switch {
	case !s.isTrustedProxy(peerAddress(r)) || r.Header.Get("X-Forwarded-For") == "":
		return wire.Direct
	case r.Header.Get("Cf-Ray") != "":
		return wire.Cloudflare
	}
	return wire.Proxied
}
