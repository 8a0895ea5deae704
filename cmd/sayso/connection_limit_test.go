package main

import (
	"net"
	"net/netip"
	"testing"
)

// callers is a listener at which connections come in from given addresses.
type callers struct {
	net.Listener
	from   []string
	closed map[string]int
}

type caller struct {
	net.Conn
	at *callers
	ip string
}

func (c caller) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 50000} }
func (c caller) Close() error         { c.at.closed[c.ip]++; return nil }

func (c *callers) Accept() (net.Conn, error) {
	if len(c.from) == 0 {
		return nil, net.ErrClosed
	}
	next := c.from[0]
	c.from = c.from[1:]
	return caller{at: c, ip: next}, nil
}

// TestConnectionsAreLimited: attack 76. Whoever opens many keeps nobody else out.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	in := &callers{closed: map[string]int{}}
	times := func(n int, address string) {
		for range n {
			in.from = append(in.from, address)
		}
	}
	times(5, "203.0.113.1")
	times(2, "2001:db8::1")
	times(2, "2001:db8::2") // of the same network
	times(4, "192.0.2.10")  // a proxy of ours
	times(4, "127.0.0.1")
	times(1, "203.0.113.2")
	l := limitConnections(in, []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")})
	l.max, l.maxPerNetwork = 15, 3
	var open []net.Conn
	for {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		open = append(open, conn)
	}
	for address, want := range map[string]int{"203.0.113.1": 2, "2001:db8::2": 1, "192.0.2.10": 0, "127.0.0.1": 0, "203.0.113.2": 0} {
		if got := in.closed[address]; got != want {
			t.Errorf("%s: %d connections refused, want %d", address, got, want)
		}
	}
	if len(open) != 15 {
		t.Fatalf("%d connections are open, want 15", len(open))
	}
	times(1, "203.0.113.3")
	if conn, err := l.Accept(); err == nil {
		t.Errorf("one more than all was taken: %v", conn.RemoteAddr())
	}
	open[0].Close()
	open[0].Close() // counts once
	times(2, "203.0.113.1")
	if _, err := l.Accept(); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("one that left made room for two")
	}
}
