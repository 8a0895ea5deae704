package main

import (
	"net"
	"net/netip"
	"sync"
)

// Connections that the server holds at once. A tab is one; a browser opens a few
// more while it loads the app.
const (
	maxConnections  = 4096
	maxFromOnePlace = 256 // of one address, or one IPv6 network of 64 bits
)

// limited closes connections that are too many as soon as they come: waiting would
// let whoever holds many keep everybody else out.
type limited struct {
	net.Listener
	most, fromOne int
	free          func(netip.Addr) bool // addresses that many people share

	mu    sync.Mutex // protects following
	total int
	from  map[netip.Prefix]int
}

func limitConnections(l net.Listener, proxies []netip.Prefix) *limited {
	return &limited{Listener: l, most: maxConnections, fromOne: maxFromOnePlace, from: map[netip.Prefix]int{},
		free: func(a netip.Addr) bool {
			for _, p := range proxies {
				if p.Contains(a) {
					return true
				}
			}
			return a.IsLoopback()
		}}
}

// Accept returns the next connection that is not too many.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		place, counted := l.place(conn)
		if l.enter(place, counted) {
			return &counting{Conn: conn, leave: sync.OnceFunc(func() { l.left(place, counted) })}, nil
		}
		conn.Close()
	}
}

// place is what counts as one address; false when it is not counted.
func (l *limited) place(conn net.Conn) (netip.Prefix, bool) {
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
	return p, err == nil && !l.free(a)
}

func (l *limited) enter(place netip.Prefix, counted bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.most || counted && l.from[place] >= l.fromOne {
		return false
	}
	l.total++
	if counted {
		l.from[place]++
	}
	return true
}

func (l *limited) left(place netip.Prefix, counted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if !counted {
		return
	}
	if l.from[place]--; l.from[place] == 0 {
		delete(l.from, place)
	}
}

type counting struct {
	net.Conn
	leave func()
}

// CloseWrite lets the web server finish what it says before it hangs up on who
// still sends.
func (c *counting) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *counting) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
