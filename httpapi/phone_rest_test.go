package httpapi_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestPhoneAddressesComeFromTheServer: attack 135. No header changes the address that a QR code
// shows, and what the server lacks is shown to admins only.
func TestPhoneAddressesComeFromTheServer(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, func(o *apitest.Options) {
		o.PublicURL = "https://sayso.example"
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}
		o.Phone = func(context.Context) []wire.PhoneAddress {
			return []wire.PhoneAddress{
				{URL: "https://sayso.example", Network: wire.PublicNetwork, Missing: wire.NothingMissing, Fix: []string{}},
				{URL: "https://10.0.0.9:8787", Network: wire.LocalNetwork, Missing: wire.MissingTLS, Fix: []string{"mkcert 10.0.0.9"}},
			}
		}
	})
	h.person("Ada", account.Admin)
	h.person("Vic", account.Viewer)
	for name, addresses := range map[string]int{"Ada": 2, "Vic": 1} {
		cookie := h.signIn(name)
		for _, call := range []struct {
			from    string
			headers string
			through wire.Through
		}{
			{"127.0.0.1", "", wire.Direct},
			{"192.0.2.10", "X-Forwarded-For: 198.51.100.7", wire.Proxied},
			{"192.0.2.10", "X-Forwarded-For: 198.51.100.7\nCf-Ray: 1-FRA", wire.Cloudflare},
			{"203.0.113.9", "X-Forwarded-For: 127.0.0.1\nCf-Ray: 1-FRA\nX-Forwarded-Host: evil.example\nForwarded: host=evil.example\nX-Forwarded-Proto: https", wire.Direct},
		} {
			changes := []apitest.RequestOption{from(call.from), cookie}
			for line := range strings.SplitSeq(call.headers, "\n") {
				if key, value, ok := strings.Cut(line, ": "); ok {
					changes = append(changes, apitest.Header(key, value))
				}
			}
			var got wire.PhoneAccess
			h.Call("GET", "/api/phone", nil, changes...).Decode(t, &got)
			if got.Through != call.through || len(got.Addresses) != addresses || got.Addresses[0].URL != "https://sayso.example" {
				t.Errorf("%s from %s with %q: got %+v", name, call.from, call.headers, got)
			}
		}
	}
}
