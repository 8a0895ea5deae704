package main

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/descriptors"
)

// maxAcceptDelay bounds how long new connections wait after descriptors are free again.
const maxAcceptDelay = 20 * time.Millisecond

// sparingListener leaves connections unaccepted while too few descriptors are free to answer
// them, and makes its server close idle connections shortly before that.
type sparingListener struct {
	net.Listener
	server  *http.Server
	reserve *descriptors.Reserve
	log     *slog.Logger
	closed  chan struct{}
	close   func() error

	short bool // used only by Accept, which runs in one goroutine
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
		case <-time.After(maxAcceptDelay):
		}
	}
}

func (l *sparingListener) Close() error { return l.close() }
