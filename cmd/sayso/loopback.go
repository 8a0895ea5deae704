package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
)

// listenOnLocalhost reports whether browsers reach a server with this listen address as localhost,
// where they support passkeys, unlike at 127.0.0.1. Browsers also try [::1], where another
// user of this machine could listen and receive the secret of a sign-in link. So listenOnLocalhost
// also opens that port and returns the listener, which is nil if the machine has no [::1].
func listenOnLocalhost(ctx context.Context, listen string) (also net.Listener, is bool) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || host != "127.0.0.1" {
		return nil, false
	}
	if found, err := net.DefaultResolver.LookupHost(ctx, "localhost"); err != nil || !slices.Contains(found, host) {
		return nil, false
	}
	also, err = net.Listen("tcp6", net.JoinHostPort("::1", port))
	switch {
	case err == nil:
		return also, true
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return nil, true
	}
	return nil, false
}
