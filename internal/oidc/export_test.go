package oidc

import "net/http"

// Reaching is the transport of a provider whose issuer was reached at a public address,
// or not.
func Reaching(issuer string, public bool) http.RoundTripper {
	t := newTransport(issuer)
	t.issuerIsPrivate.Store(!public)
	return t
}
