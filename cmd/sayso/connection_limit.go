package main

import (
	"net"
	"net/netip"
	"sync"
)

// Limits of concurrent connections. A tab has one; a browser opens a few more while it loads
// the app.
const (
	maxConnections           = 4096
	maxConnectionsPerNetwork = 256 // of one address, or one IPv6 network of 64 bits
)

// limitedListener closes connections above its limits immediately. If they waited, whoever
// holds many could keep everybody else out.
type limitedListener struct {
	net.Listener
	max, maxPerNetwork int
	unlimited          func(netip.Addr) bool // addresses that many people share

	mu         sync.Mutex // protects following
	total      int
	perNetwork map[netip.Prefix]int
}

func limitConnections(l net.Listener, proxies []netip.Prefix) *limitedListener {
	return &limitedListener{Listener: l, max: maxConnections, maxPerNetwork: maxConnectionsPerNetwork, perNetwork: map[netip.Prefix]int{},
		unlimited: func(a netip.Addr) bool {
			for _, p := range proxies {
				if p.Contains(a) {
					return true
				}
			}
			return a.IsLoopback()
		}}
}

// Accept returns the next connection within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		network, counted := l.networkOf(conn)
		if l.acquire(network, counted) {
			return &countedConn{Conn: conn, release: sync.OnceFunc(func() { l.release(network, counted) })}, nil
		}
		conn.Close()
	}
}

// networkOf returns the network that a connection counts for; false when it is not counted.
func (l *limitedListener) networkOf(conn net.Conn) (netip.Prefix, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	return p, err == nil && !l.unlimited(a)
}

func (l *limitedListener) acquire(network netip.Prefix, counted bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.max || counted && l.perNetwork[network] >= l.maxPerNetwork {
		return false
	}
	l.total++
	if counted {
		l.perNetwork[network]++
	}
	return true
}

func (l *limitedListener) release(network netip.Prefix, counted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if !counted {
		return
	}
	if l.perNetwork[network]--; l.perNetwork[network] == 0 {
		delete(l.perNetwork, network)
	}
}

type countedConn struct {
	net.Conn
	release func()
}

// CloseWrite lets the web server send the rest of its response before it closes a connection
// on which a client is still sending.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
