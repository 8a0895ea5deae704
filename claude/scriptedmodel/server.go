package scriptedmodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
)

// A Server is a [Model] that listens on loopback.
type Server struct {
	model    *Model
	listener net.Listener
}

// Listen listens on addr, such as "127.0.0.1:0". It serves nothing until [Server.Run] is called.
func Listen(addr string, model *Model) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("scriptedmodel: %w", err)
	}
	return &Server{model: model, listener: l}, nil
}

// Addr returns the address on which the server listens, as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the value for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Run serves until ctx ends. It then drops every connection, waits for the goroutines of
// the connections, and returns nil. A server runs once.
func (s *Server) Run(ctx context.Context) error {
	var conns sync.WaitGroup
	hs := &http.Server{
		Handler:     s.model,
		BaseContext: func(net.Listener) context.Context { return ctx },
		// StateNew is reported on the accepting goroutine, so no Add can happen after
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

// Environ returns an environment, as KEY=value, for a CLI that uses this server, but neither an account
// nor the person's settings. home is the CLI's home folder; PATH is that of this process.
func (s *Server) Environ(home string) []string {
	return []string{
		"ANTHROPIC_API_KEY=sk-ant-made-up", "ANTHROPIC_BASE_URL=" + s.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home,
	}
}

// TB is the part of testing.TB that [Start] uses.
type TB interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// Start serves a model on loopback until the test ends.
func Start(t TB, o Options) *Server {
	t.Helper()
	server, err := Listen("127.0.0.1:0", New(o))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("%v", err)
		}
	})
	return server
}

// Model returns the model of the server.
func (s *Server) Model() *Model { return s.model }
