package main

import (
	"net"
	"testing"
)

// TestLocalhostPortIsReserved: a person is sent to localhost, where passkeys can be made, and
// nobody else of the machine can stand there.
func TestLocalhostPortIsReserved(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:8787", "192.0.2.1:8787", "[::1]:8787", "sayso.example:8787", "127.0.0.1"} {
		if also, is := listenOnLocalhost(t.Context(), listen); also != nil || is {
			t.Errorf("%s is found at localhost", listen)
		}
	}
	theirs, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return // this machine has no such address, so nobody can stand there
	}
	defer theirs.Close()
	_, port, _ := net.SplitHostPort(theirs.Addr().String())
	if also, is := listenOnLocalhost(t.Context(), "127.0.0.1:"+port); also != nil || is {
		t.Error("somebody else is at localhost")
	}
}
