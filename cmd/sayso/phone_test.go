package main

import (
	"crypto/x509"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

func TestPhoneAddresses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	lan := []netip.Addr{netip.MustParseAddr("192.168.1.7")}
	valid := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(192, 168, 1, 7)}, DNSNames: []string{"sayso.example.org"}, NotAfter: now.Add(time.Hour)}
	const local = "https://192.168.1.7:8787"
	for name, tc := range map[string]struct {
		facts phoneFacts
		want  string // url and what is missing, in order
	}{
		"as installed":               {phoneFacts{lan: lan}, local + " listen"},
		"no certificate":             {phoneFacts{lan: lan, settings: settings{open: true}}, local + " tls"},
		"no network":                 {phoneFacts{}, ""},
		"certificate, loopback only": {phoneFacts{lan: lan, certificate: valid}, local + " listen"},
		"host not allowed":           {phoneFacts{lan: lan, certificate: valid, settings: settings{open: true}}, local + " host"},
		"ready in the local network": {phoneFacts{lan: lan, certificate: valid, settings: settings{open: true, AllowedHosts: []string{"192.168.1.7"}}}, local + " nothing"},
		"certificate of another":     {phoneFacts{lan: []netip.Addr{netip.MustParseAddr("10.0.0.9")}, certificate: valid, settings: settings{open: true}}, "https://10.0.0.9:8787 certificate"},
		"expired": {
			phoneFacts{lan: lan, now: now.Add(2 * time.Hour), certificate: valid, settings: settings{PublicURL: "https://sayso.example.org"}},
			"https://sayso.example.org renewal, " + local + " listen",
		},
		"behind a proxy":      {phoneFacts{lan: lan, settings: settings{PublicURL: "https://sayso.example.org"}}, "https://sayso.example.org nothing, " + local + " listen"},
		"public only by name": {phoneFacts{settings: settings{PublicURL: "http://localhost:8787"}}, ""},
		"tailnet":             {phoneFacts{tailnet: true, tailnetName: "atlas.tail1.ts.net"}, "https://atlas.tail1.ts.net serve"},
		"tailnet served":      {phoneFacts{tailnet: true, tailnetName: "atlas.tail1.ts.net", settings: settings{PublicURL: "https://atlas.tail1.ts.net"}}, "https://atlas.tail1.ts.net nothing"},
		"tailnet unnamed":     {phoneFacts{tailnet: true}, " name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.facts.settings.Listen = "127.0.0.1:8787"
			if tc.facts.now.IsZero() {
				tc.facts.now = now
			}
			var got []string
			for _, a := range phoneAddresses(tc.facts) {
				got = append(got, a.URL+" "+string(a.Missing))
				if wantsFix := a.Missing != wire.NothingMissing && a.Missing != wire.MissingName && a.Network != wire.PublicNetwork; wantsFix != (len(a.Fix) > 0) {
					t.Errorf("%s lacks %s: got the commands %q", a.URL, a.Missing, a.Fix)
				}
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPhoneCommandsAreQuoted: what an admin copies into a shell does no more than it says.
func TestPhoneCommandsAreQuoted(t *testing.T) {
	t.Parallel()
	f := phoneFacts{lan: []netip.Addr{netip.MustParseAddr("192.168.1.7")}, settings: settings{Listen: "127.0.0.1:8787", TLSCert: "/etc/a'b; reboot.pem", TLSKey: "/etc/key.pem"}}
	for _, line := range phoneAddresses(f)[0].Fix {
		if !strings.Contains(line, `'/etc/a'\''b; reboot.pem'`) {
			t.Errorf("got %s", line)
		}
	}
}
