// Package ssrf keeps the server from dialing internal addresses when another person or
// server chooses the host. It allows only addresses of the public internet, so that nobody
// can use the server to reach what they cannot reach themselves.
package ssrf

import (
	"errors"
	"net/netip"
	"syscall"
)

// ErrPrivate is the error for dialing an address that is not public.
var ErrPrivate = errors.New("the address leads to this machine or a private network")

// special lists the ranges of IANA's special-purpose address registries, including former
// ones. Some of them are globally reachable, such as anycast services, but contain no
// legitimate hosts.
var special = []netip.Prefix{
	// IPv4 (iana-ipv4-special-registry), and multicast.
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("10.0.0.0/8"),      // private
	netip.MustParsePrefix("100.64.0.0/10"),   // shared by carriers
	netip.MustParsePrefix("127.0.0.0/8"),     // loopback
	netip.MustParsePrefix("169.254.0.0/16"),  // link local, metadata of clouds
	netip.MustParsePrefix("172.16.0.0/12"),   // private
	netip.MustParsePrefix("192.0.0.0/24"),    // IETF protocols: DS-Lite, PCP, TURN, NAT64 discovery
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.31.196.0/24"), // AS112
	netip.MustParsePrefix("192.52.193.0/24"), // AMT
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("192.168.0.0/16"),  // private
	netip.MustParsePrefix("192.175.48.0/24"), // AS112
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast

	// IPv6 (iana-ipv6-special-registry) within 2000::/3. allPublic excludes everything else, such
	// as ::1, fc00::/7, fe80::/10, fec0::/10, ff00::/8, 100::/64, 5f00::/16 and the notations of
	// IPv4 addresses.
	netip.MustParsePrefix("2001::/23"),         // IETF protocols: Teredo, benchmarks, AMT, AS112, ORCHID, DRIP
	netip.MustParsePrefix("2001:db8::/32"),     // documentation
	netip.MustParsePrefix("2002::/16"),         // 6to4, which embeds any IPv4 address
	netip.MustParsePrefix("2620:4f:8000::/48"), // AS112
	netip.MustParsePrefix("3fff::/20"),         // documentation
}

var (
	// allPublic is the part of IPv6 that is allocated as global unicast.
	allPublic = netip.MustParsePrefix("2000::/3")
	// nat64 is the prefix of addresses with an IPv4 address in their last four bytes. IPv6-only
	// networks reach IPv4 hosts through them.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// Public reports whether an address belongs to the public internet. For an IPv6 address that
// contains an IPv4 address to which the network routes, the IPv4 address decides. An address
// with a zone and the zero Addr are not public.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if a.Is6() {
		b := a.As16()
		last := netip.AddrFrom4([4]byte(b[12:]))
		switch {
		case nat64.Contains(a):
			return Public(last)
		case !allPublic.Contains(a):
			return false
		case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && !Public(last):
			return false // ISATAP leads to the IPv4 address inside
		}
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Control is a net.Dialer's Control that allows only public addresses. The dialer calls it
// for each address of a name, after resolution.
func Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return ErrPrivate
	}
	return nil
}

// IsLoopback reports whether the host of a URL is this machine: localhost or a loopback
// address. It does not resolve names.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
