package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// line carries connections to a server, and fails like a network.
type line struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu      sync.Mutex // protects following
	fails   failure
	through map[net.Conn]bool
}

// failure is how a line fails.
type failure struct {
	cut       bool          // connections are closed, and new ones refused
	forth     bool          // what the dialing side sends is lost, and connections stay open
	back      bool          // the same for what the other side sends
	delayEach time.Duration // of each part that is sent
}

// newLine starts to carry connections to an address.
func newLine(to string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, to: to, through: map[net.Conn]bool{}}
	l.work.Go(l.accept)
	return l, nil
}

// address returns the address of the near end.
func (l *line) address() string { return l.listener.Addr().String() }

// url returns the address of the near end for a browser.
func (l *line) url() string { return "http://" + l.address() }

// close ends all connections.
func (l *line) close() error {
	err := l.listener.Close()
	l.set(failure{cut: true})
	l.work.Wait()
	return err
}

// set makes the line fail, or repairs it. Lost data never arrives, so a repair closes the connections
// that may have lost some.
func (l *line) set(f failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hangup := f.cut || l.fails.forth || l.fails.back
	l.fails = f
	if hangup {
		for conn := range l.through {
			conn.Close()
		}
	}
}

func (l *line) accept() {
	for {
		near, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			l.work.Go(func() { l.carry(near) })
		}
	}
}

// carry carries one connection until one side closes it.
func (l *line) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer far.Close()
	l.mu.Lock()
	if l.fails.cut {
		l.mu.Unlock()
		return
	}
	l.through[near], l.through[far] = true, true
	l.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() { l.copy(near, far, func(f failure) bool { return f.back }) })
	l.copy(far, near, func(f failure) bool { return f.forth })
	back.Wait()
	l.mu.Lock()
	delete(l.through, near)
	delete(l.through, far)
	l.mu.Unlock()
}

// copy carries one direction, except what is lost.
func (l *line) copy(to, from net.Conn, lost func(failure) bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		fails := l.fails
		l.mu.Unlock()
		time.Sleep(fails.delayEach)
		if n > 0 && !lost(fails) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			return
		}
	}
}
