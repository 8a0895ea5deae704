package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// demoPorts is how many ports a demo tries, beginning with that of its settings.
const demoPorts = 10

// listenPublicly listens on the address of --listen. If its port is taken, a demo takes one of the
// next ports, so that it can be tried beside a server, and moved is true.
func listenPublicly(address string, demo bool) (l net.Listener, moved bool, err error) {
	l, err = net.Listen("tcp", address)
	if !errors.Is(err, syscall.EADDRINUSE) {
		if err != nil {
			err = fmt.Errorf("cannot listen on %s: %w. Correct --listen", address, err)
		}
		return l, false, err
	}
	host, text, _ := net.SplitHostPort(address) // net.Listen has parsed it
	port, _ := strconv.Atoi(text)
	if demo {
		for next := port + 1; next < port+demoPorts; next++ {
			if l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next))); err == nil {
				return l, true, nil
			}
		}
	}
	return nil, false, fmt.Errorf("another program, maybe another sayso, listens on %s. Stop it, or choose another port with --listen %s, or with SAYSO_LISTEN",
		address, net.JoinHostPort(host, otherPort(text)))
}
