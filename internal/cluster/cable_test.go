package cluster_test

import (
	"net"
	"sync"
	"testing"
)

// cable carries the connections to a server, until the test disturbs it.
type cable struct {
	l net.Listener

	mu       sync.Mutex
	to       string
	refusing bool
	dropping bool
	dropped  int                   // bytes towards the server
	ends     map[net.Conn]net.Conn // of each connection: the end of the dialer, and that of the server
}

func newCable(t *testing.T) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{l: l, ends: map[net.Conn]net.Conn{}}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far := c.connect(near)
			if far == nil {
				near.Close()
				continue
			}
			carrying.Go(func() { c.carry(far, near, true) })
			carrying.Go(func() { c.carry(near, far, false) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.cut()
		carrying.Wait()
	})
	return c
}

// leadsTo makes the cable lead to a server, and returns the address to dial instead.
func (c *cable) leadsTo(address string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = address
	return c.l.Addr().String()
}

// connect dials the server, or returns nil.
func (c *cable) connect(near net.Conn) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing {
		return nil
	}
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return nil
	}
	c.ends[near] = far
	return far
}

// carry copies bytes until one of the ends is closed. It leaves the other one open.
func (c *cable) carry(to, from net.Conn, counts bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		c.mu.Lock()
		dropping := c.dropping
		if dropping && counts {
			c.dropped += n
		}
		c.mu.Unlock()
		if dropping {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// drop keeps the connections, and drops what is sent.
func (c *cable) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropping = true
}

// droppedBytes returns how much was sent to the server since drop.
func (c *cable) droppedBytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// cutNear ends the connections for who dialed, and refuses further ones. The server does not notice.
func (c *cable) cutNear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = true
	for near := range c.ends {
		near.Close()
	}
}

// cut ends the connections, and refuses further ones.
func (c *cable) cut() {
	c.cutNear()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, far := range c.ends {
		far.Close()
	}
	clear(c.ends)
}

// mend carries further connections.
func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing, c.dropping = false, false
}
