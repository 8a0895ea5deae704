package main

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// phoneFacts holds everything on which the addresses for a phone depend.
type phoneFacts struct {
	settings    settings
	lan         []netip.Addr      // of this machine in private networks
	tailnet     bool              // this machine is in a tailnet
	tailnetName string            // its name there, "" without MagicDNS
	certificate *x509.Certificate // of --tls-cert, else nil
	now         time.Time
}

// tailnetRange holds the addresses of machines in tailnets.
var tailnetRange = netip.MustParsePrefix("100.64.0.0/10")

// phoneAddresses returns the addresses of a server for a phone: first those that work, then
// those that lack something, with the commands that add it.
func phoneAddresses(f phoneFacts) []wire.PhoneAddress {
	var ready, lacking []wire.PhoneAddress
	add := func(a wire.PhoneAddress) {
		if a.Fix == nil {
			a.Fix = []string{}
		}
		if a.Missing == wire.NothingMissing {
			ready = append(ready, a)
		} else {
			lacking = append(lacking, a)
		}
	}
	_, port, _ := net.SplitHostPort(f.settings.Listen) // complete has checked it
	public := ""
	if u, err := url.Parse(f.settings.PublicURL); err == nil && u.Scheme == "https" {
		public = u.Hostname()
		a := wire.PhoneAddress{URL: f.settings.PublicURL, Network: wire.PublicNetwork, Missing: f.certificateLacks(public)}
		if strings.HasSuffix(public, tailnetNameEnd) {
			a.Network = wire.Tailnet
		}
		add(a)
	}
	if f.tailnet && (f.tailnetName == "" || public != f.tailnetName) {
		a := wire.PhoneAddress{Network: wire.Tailnet, Missing: wire.MissingName}
		if f.tailnetName != "" {
			a.URL, a.Missing = "https://"+f.tailnetName, wire.MissingServe
			a.Fix = []string{"tailscale serve --bg " + port, "sayso serve --public-url " + a.URL + " --trusted-proxy 127.0.0.1"}
		}
		add(a)
	}
	for _, ip := range f.lan {
		a := wire.PhoneAddress{URL: "https://" + net.JoinHostPort(ip.String(), port), Network: wire.LocalNetwork}
		a.Missing, a.Fix = f.lanLacks(ip.String(), port)
		add(a)
	}
	return append(ready, lacking...)
}

// certificateLacks reports what the certificate lacks for a host name. A server without one
// is behind a proxy, whose certificate is unknown.
func (f phoneFacts) certificateLacks(host string) wire.PhoneMissing {
	switch {
	case f.certificate == nil:
		return wire.NothingMissing
	case f.now.After(f.certificate.NotAfter):
		return wire.MissingRenewal
	case f.certificate.VerifyHostname(host) != nil:
		return wire.MissingCertificate
	}
	return wire.NothingMissing
}

// lanLacks reports what an address in a private network lacks.
func (f phoneFacts) lanLacks(ip, port string) (missing wire.PhoneMissing, fix []string) {
	s := f.settings
	cert, key := s.TLSCert, s.TLSKey
	if cert == "" {
		cert, key = "sayso.pem", "sayso.key"
	}
	create := "mkcert -cert-file " + shellWord(cert) + " -key-file " + shellWord(key) + " " + ip
	serve := "sayso serve --listen " + net.JoinHostPort("0.0.0.0", port) + " --tls-cert " + shellWord(cert) + " --tls-key " + shellWord(key) + " --allowed-host " + ip
	lacks := f.certificateLacks(ip)
	commands := []string{create, serve}
	if f.certificate != nil && lacks == wire.NothingMissing {
		commands = []string{serve}
	}
	switch {
	// First, because a certificate does not help while only this machine can reach the
	// server.
	case !s.open:
		return wire.MissingListen, commands
	case f.certificate == nil:
		return wire.MissingTLS, commands
	case lacks != wire.NothingMissing:
		return lacks, []string{create}
	case !slices.Contains(s.AllowedHosts, ip):
		return wire.MissingHost, []string{serve}
	}
	return wire.NothingMissing, nil
}

// shellWord quotes a text for a shell, if necessary.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// bridges are prefixes of the names of interfaces that lead only to containers and virtual
// machines.
var bridges = []string{"docker", "br-", "veth", "virbr", "lxc", "podman", "cni"}

const (
	maxLANAddresses  = 3
	nameLookupLimit  = time.Second
	tailnetNameEnd   = ".ts.net"
	tailnetInterface = "tailscale"
)

// phoneAddresses returns the addresses of this machine for a phone, from its network
// interfaces. It takes up to a second.
func (a *app) phoneAddresses(ctx context.Context) []wire.PhoneAddress {
	f := phoneFacts{settings: a.runtime.withChanges(a.settings), now: time.Now()}
	if a.certificate != nil {
		f.certificate = a.certificate.now.Load().Leaf
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		a.log.WarnContext(ctx, "cannot list the network interfaces", "error", err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 || slices.ContainsFunc(bridges, func(b string) bool { return strings.HasPrefix(i.Name, b) }) {
			continue
		}
		found, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, n := range found {
			prefix, err := netip.ParsePrefix(n.String())
			if err != nil {
				continue
			}
			switch ip := prefix.Addr().Unmap(); {
			case tailnetRange.Contains(ip):
				if name := tailnetName(ctx, ip); name != "" || strings.HasPrefix(i.Name, tailnetInterface) {
					f.tailnet, f.tailnetName = true, name
				}
			case ip.Is4() && ip.IsPrivate() && len(f.lan) < maxLANAddresses:
				f.lan = append(f.lan, ip)
			}
		}
	}
	return phoneAddresses(f)
}

// tailnetName looks up the name of an address in the range of tailnets. It returns "" if the address
// is not in a tailnet: other networks use that range, too.
func tailnetName(ctx context.Context, ip netip.Addr) string {
	ctx, cancel := context.WithTimeout(ctx, nameLookupLimit)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, ip.String())
	if err != nil {
		return ""
	}
	for _, name := range names {
		if name = strings.TrimSuffix(name, "."); strings.HasSuffix(name, tailnetNameEnd) {
			return name
		}
	}
	return ""
}
