package scriptedmodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// A Server is a [Model] that listens on loopback.
type Server struct {
	model    *Model
	listener net.Listener
}

// Listen opens addr, such as "127.0.0.1:0". It serves nothing before Run.
func Listen(addr string, model *Model) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("scriptedmodel: %w", err)
	}
	return &Server{model: model, listener: l}, nil
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the value for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Run serves until ctx ends, then drops every connection and waits for its
// goroutine. It runs once.
func (s *Server) Run(ctx context.Context) error {
	var conns sync.WaitGroup
	hs := &http.Server{
		Handler:     s.model,
		BaseContext: func(net.Listener) context.Context { return ctx },
		// StateNew is told on the accepting goroutine, so no Add can come after
		// Serve has returned.
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				conns.Add(1)
			case http.StateClosed:
				conns.Done()
			}
		},
	}
	stop := context.AfterFunc(ctx, func() { _ = hs.Close() })
	err := hs.Serve(s.listener)
	if stop() {
		_ = hs.Close()
	}
	conns.Wait()
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("scriptedmodel: %w", err)
}

// Close releases the address of a server that never ran.
func (s *Server) Close() error { return s.listener.Close() }
