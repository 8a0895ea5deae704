package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
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

// listenLocally opens a listener for the agents on this machine, those of sessions and external
// ones, and returns its address. The listener is nil if they can use the public one, on loopback
// without TLS: an external address may not be reachable from here, and the name in a certificate may
// not resolve here.
func listenLocally(s settings) (net.Listener, string, error) {
	if !s.tls() && !s.open {
		return nil, "http://" + s.Listen, nil
	}
	l, err := net.Listen("tcp", lastLocalListen(s))
	if err != nil { // another program has the port
		l, err = net.Listen("tcp", anyLocalPort)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen for the agents of this machine: %w", err)
	}
	return l, "http://" + l.Addr().String(), nil
}

// anyLocalPort is a listen address for this machine alone.
const anyLocalPort = "127.0.0.1:0"

// lastLocalListen returns the address on which the last server listened for the agents on this
// machine, so that the files of sayso mcp stream, which no server updates, stay valid. It returns
// anyLocalPort if that server had no such listener, or told external agents another address.
func lastLocalListen(s settings) string {
	known, err := os.ReadFile(addressFile(s.StateDir))
	at, found := strings.CutPrefix(strings.TrimSpace(string(known)), "http://")
	if err != nil || !found || isPlainLoopback(readAddresses(s).local) {
		return anyLocalPort
	}
	return at
}

// restrictToPaths passes requests for these paths on to h and answers all others with 404.
func restrictToPaths(paths []string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
