package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// agentsPath is the path of the MCP endpoint.
const agentsPath = "/mcp"

// endpoint is a web server and its address.
type endpoint struct {
	name     string // in errors
	server   *http.Server
	listener net.Listener
}

// serve serves until the server is shut down.
func (e endpoint) serve() (err error) {
	if e.server.TLSConfig != nil {
		err = e.server.ServeTLS(e.listener, "", "")
	} else {
		err = e.server.Serve(e.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// listenLocally opens a listener for the sessions on this machine and returns its address.
// The listener is nil if they can use the public one, on loopback without TLS: an external
// address may not be reachable from here, and the name in a certificate may not resolve here.
func listenLocally(s settings) (net.Listener, string, error) {
	if !s.tls() && !s.open {
		return nil, "http://" + s.Listen, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen for the sessions of this machine: %w", err)
	}
	return l, "http://" + l.Addr().String(), nil
}

// restrictToPath passes requests for one path on to h and answers all others with 404.
func restrictToPath(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
