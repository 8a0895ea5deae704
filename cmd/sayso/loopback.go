package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
)

// byName reports whether a server that listens on the address is what browsers find
// at localhost, where they make passkeys and at 127.0.0.1 not. They look at [::1],
// too: there anybody of this machine could wait for the secret of a sign-in address.
// So the port is held there as well, by also, which is nil where there is no such
// address.
func byName(ctx context.Context, listen string) (also net.Listener, is bool) {
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
