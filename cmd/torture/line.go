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
	cut     bool       // connections are closed, and new ones refused
	silent  bool       // what is sent is lost, and connections stay open
	delay   time.Duration
	through map[net.Conn]bool
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

// url returns the address of the near end.
func (l *line) url() string { return "http://" + l.listener.Addr().String() }

// close ends all connections.
func (l *line) close() error {
	err := l.listener.Close()
	l.set(true, false, 0)
	l.work.Wait()
	return err
}

// set makes the line fail, or mends it. What was sent while it was silent never arrives, so a mended
// line has no connection that was open then.
func (l *line) set(cut, silent bool, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hangup := cut || l.silent && !silent
	l.cut, l.silent, l.delay = cut, silent, delay
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
	if l.cut {
		l.mu.Unlock()
		return
	}
	l.through[near], l.through[far] = true, true
	l.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() { l.copy(near, far) })
	l.copy(far, near)
	back.Wait()
	l.mu.Lock()
	delete(l.through, near)
	delete(l.through, far)
	l.mu.Unlock()
}

// copy carries one direction.
func (l *line) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		silent, delay := l.silent, l.delay
		l.mu.Unlock()
		time.Sleep(delay)
		if n > 0 && !silent {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			return
		}
	}
}
