package ssrf_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/internal/ssrf"
)

// registry has a row for each entry of IANA's special-purpose registries of IPv4 and
// IPv6, and for the other ranges that are no public places. Not one is public, first to
// last.
var registry = []struct{ prefix, what string }{
	{"0.0.0.0/8", "this network"},
	{"0.0.0.0/32", "this host on this network"},
	{"10.0.0.0/8", "private use"},
	{"100.64.0.0/10", "shared address space"},
	{"127.0.0.0/8", "loopback"},
	{"169.254.0.0/16", "link local"},
	{"169.254.169.254/32", "metadata of clouds"},
	{"172.16.0.0/12", "private use"},
	{"192.0.0.0/24", "IETF protocol assignments"},
	{"192.0.0.0/29", "IPv4 service continuity"},
	{"192.0.0.8/32", "dummy address"},
	{"192.0.0.9/32", "Port Control Protocol anycast"},
	{"192.0.0.10/32", "TURN anycast"},
	{"192.0.0.170/32", "NAT64/DNS64 discovery"},
	{"192.0.0.171/32", "NAT64/DNS64 discovery"},
	{"192.0.2.0/24", "TEST-NET-1"},
	{"192.31.196.0/24", "AS112-v4"},
	{"192.52.193.0/24", "AMT"},
	{"192.88.99.0/24", "deprecated 6to4 relay anycast"},
	{"192.88.99.2/32", "6a44 relay anycast"},
	{"192.168.0.0/16", "private use"},
	{"192.175.48.0/24", "direct delegation AS112"},
	{"198.18.0.0/15", "benchmarking"},
	{"198.51.100.0/24", "TEST-NET-2"},
	{"203.0.113.0/24", "TEST-NET-3"},
	{"224.0.0.0/4", "multicast"},
	{"240.0.0.0/4", "reserved"},
	{"255.255.255.255/32", "limited broadcast"},

	{"::/128", "unspecified"},
	{"::1/128", "loopback"},
	{"::/96", "IPv4-compatible, deprecated"},
	{"::ffff:0:0:0/96", "IPv4-translated"},
	{"::ffff:7f00:0/104", "IPv4-mapped loopback"},
	{"::ffff:a9fe:0/112", "IPv4-mapped link local"},
	{"64:ff9b::7f00:0/104", "IPv4-IPv6 translation of loopback"},
	{"64:ff9b::a00:0/104", "IPv4-IPv6 translation of private use"},
	{"64:ff9b::a9fe:a9fe/128", "IPv4-IPv6 translation of the metadata of clouds"},
	{"64:ff9b:1::/48", "local-use IPv4-IPv6 translation"},
	{"100::/64", "discard only"},
	{"100:0:0:1::/64", "dummy prefix"},
	{"2001::/23", "IETF protocol assignments"},
	{"2001::/32", "Teredo"},
	{"2001:1::1/128", "Port Control Protocol anycast"},
	{"2001:1::2/128", "TURN anycast"},
	{"2001:1::3/128", "DNS-SD SRP anycast"},
	{"2001:2::/48", "benchmarking"},
	{"2001:3::/32", "AMT"},
	{"2001:4:112::/48", "AS112-v6"},
	{"2001:10::/28", "ORCHID, deprecated"},
	{"2001:20::/28", "ORCHIDv2"},
	{"2001:30::/28", "drone remote ID"},
	{"2001:db8::/32", "documentation"},
	{"2002::/16", "6to4"},
	{"2002:7f00:1::/48", "6to4 of loopback"},
	{"2620:4f:8000::/48", "direct delegation AS112"},
	{"3fff::/20", "documentation"},
	{"5f00::/16", "segment routing"},
	{"fc00::/7", "unique local"},
	{"fd00:ec2::254/128", "metadata of clouds"},
	{"fe80::/10", "link local"},
	{"fec0::/10", "site local, deprecated"},
	{"ff00::/8", "multicast"},
	{"4000::/2", "not given out"},
	{"2a00:1450::5efe:a00:1/128", "ISATAP of private use"},
	{"2a00:1450::200:5efe:7f00:1/128", "ISATAP of loopback"},
}

// last is the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestNoSpecialAddressIsPublic(t *testing.T) {
	t.Parallel()
	for _, row := range registry {
		t.Run(row.what+" "+row.prefix, func(t *testing.T) {
			t.Parallel()
			p := netip.MustParsePrefix(row.prefix)
			if p != p.Masked() {
				t.Fatal("the prefix is not one")
			}
			rapid.Check(t, func(t *rapid.T) {
				b := p.Addr().AsSlice()
				for i := p.Bits(); i < len(b)*8; i++ {
					if rapid.Bool().Draw(t, "bit") {
						b[i/8] |= 0x80 >> (i % 8)
					}
				}
				drawn, _ := netip.AddrFromSlice(b)
				for _, a := range []netip.Addr{p.Addr(), last(p), drawn} {
					forms := []netip.Addr{a}
					if a.Is4() { // each way to write it as IPv6
						four := a.As4()
						for _, prefix := range []string{"::ffff:0:0", "64:ff9b::", "::", "::ffff:0:0:0", "64:ff9b:1::", "2a00:1450::5efe:0:0"} {
							six := netip.MustParseAddr(prefix).As16()
							copy(six[12:], four[:])
							forms = append(forms, netip.AddrFrom16(six))
						}
						six := netip.MustParseAddr("2002::1").As16()
						copy(six[2:], four[:])
						forms = append(forms, netip.AddrFrom16(six))
					} else {
						forms = append(forms, a.WithZone("eth0"))
					}
					for _, form := range forms {
						if ssrf.Public(form) {
							t.Fatalf("%s is public", form)
						}
						if err := ssrf.Control("tcp", netip.AddrPortFrom(form, 443).String(), nil); !errors.Is(err, ssrf.ErrPrivate) {
							t.Fatalf("%s can be dialled: %v", form, err)
						}
					}
				}
			})
		})
	}
}

func TestPublicAddressesArePublic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0",
		"192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1", "2a00:1450:4001::1", "2620:fe::fe", "2a00:1450::5efe:808:808",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	} {
		if !ssrf.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	for _, a := range []netip.Addr{{}, netip.MustParseAddr("2606:4700:4700::1111%eth0")} {
		if ssrf.Public(a) {
			t.Errorf("%s is public", a)
		}
	}
	for _, address := range []string{"", "x", "8.8.8.8", "[fe80::1%eth0]:80", "127.1:80"} {
		if err := ssrf.Control("tcp", address, nil); !errors.Is(err, ssrf.ErrPrivate) {
			t.Errorf("%q can be dialled: %v", address, err)
		}
	}
}

// TestNoAddressOfANameIsDialled has names that lead inside: those that the system
// knows, numbers that it takes for addresses, and interfaces by their zone.
func TestNoAddressOfANameIsDialled(t *testing.T) {
	t.Parallel()
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: ssrf.Control}
	for _, host := range []string{"localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "::1%lo", "fe80::1%lo", ""} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port)); err == nil {
			c.Close()
			t.Errorf("%q was dialled", host)
		}
		cancel()
	}
}

// TestNamesAreJudgedByWhereTheyLead has a name server whose name leads to several
// addresses, and elsewhere each time it is asked.
func TestNamesAreJudgedByWhereTheyLead(t *testing.T) {
	t.Parallel()
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveNames(names, [][]string{{"10.0.0.1", "127.0.0.1"}, {"127.0.0.1"}, {"169.254.169.254", "127.0.0.1", "192.168.0.1"}})
	}()
	defer func() { names.Close(); <-done }()
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: ssrf.Control, Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", names.LocalAddr().String())
	}}}
	for range 3 {
		c, err := dialer.DialContext(t.Context(), "tcp4", net.JoinHostPort("rebound.example.", port))
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, ssrf.ErrPrivate) {
			t.Errorf("got %v, want ErrPrivate", err)
		}
	}
}

// serveNames answers each question for IPv4 addresses with the next of the answers.
func serveNames(conn net.PacketConn, answers [][]string) {
	for n, b := 0, make([]byte, 512); ; {
		size, from, err := conn.ReadFrom(b)
		if err != nil || size < 17 {
			return
		}
		end := 12 // of the question, after its name, type and class
		for end < size && b[end] != 0 {
			end += int(b[end]) + 1
		}
		end += 5
		reply := append([]byte{b[0], b[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end]...)
		if b[end-3] == 1 {
			for _, a := range answers[n%len(answers)] {
				four := netip.MustParseAddr(a).As4()
				reply = append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), four[:]...)
				reply[7]++
			}
			n++
		}
		_, _ = conn.WriteTo(reply, from) // a lost answer is asked for again
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "LOCALHOST": false, "localhost.example.org": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "127.1": false,
	} {
		if got := ssrf.IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v", host, got)
		}
	}
}
