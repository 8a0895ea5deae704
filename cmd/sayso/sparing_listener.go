package main

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/descriptors"
)

// acceptPause is how long new connections wait at most, once descriptors are free again.
const acceptPause = 20 * time.Millisecond

// sparingListener leaves connections where they are while too few descriptors are free to
// answer on them, and has its server close idle ones as soon as that comes near.
type sparingListener struct {
	net.Listener
	server  *http.Server
	reserve *descriptors.Reserve
	log     *slog.Logger
	closed  chan struct{}
	close   func() error

	short bool // used by Accept alone, which one goroutine calls
}

func spareDescriptors(l net.Listener, server *http.Server, reserve *descriptors.Reserve, log *slog.Logger) *sparingListener {
	s := &sparingListener{Listener: l, server: server, reserve: reserve, log: log, closed: make(chan struct{})}
	s.close = sync.OnceValue(func() error {
		close(s.closed)
		return l.Close()
	})
	return s
}

// Accept returns the next connection, once it can be answered.
func (l *sparingListener) Accept() (net.Conn, error) {
	for {
		err := l.reserve.CheckConnection()
		if short := err != nil; short != l.short {
			l.short = short
			l.server.SetKeepAlivesEnabled(!short)
			if short {
				l.log.Warn("few file descriptors are free; new tabs and sessions are refused", "error", err)
			} else {
				l.log.Info("enough file descriptors are free again")
			}
		}
		if err == nil || l.reserve.MayAccept() {
			return l.Listener.Accept()
		}
		select {
		case <-l.closed:
			return nil, net.ErrClosed
		case <-time.After(acceptPause):
		}
	}
}

func (l *sparingListener) Close() error { return l.close() }
