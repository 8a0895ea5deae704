package main_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestOpenWithoutEncryptionIsRefused: attack 30.
func TestOpenWithoutEncryptionIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0"} {
		h.serve("--listen", listen).refused("without encryption", "--tls-cert", "--trusted-proxy")
	}
	h.serve("--public-url", "http://sayso.example").refused("is not encrypted")
	h.serve("--trusted-proxy", "0.0.0.0/0").refused("matches every address")
	h.serve("--trusted-proxy", "proxy.example").refused("give an address")
}

// TestBehindATrustedProxy: a server that listens beyond this machine without TLS
// answers its proxy and this machine, under its public address.
func TestBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.serve("--listen", "0.0.0.0:0", "--trusted-proxy", "192.0.2.10", "--public-url", "https://sayso.example")
	eventually(t, "it runs at its public address", s.logged("sayso is running at https://sayso.example\n"))
	eventually(t, "it says how to get a sign-in link", s.logged("sayso token --sign-in"))
	// Attack 118: logs keep what a start prints, and here is an admin already.
	if strings.Contains(s.said.String(), "/sign-in#") {
		t.Errorf("it prints a sign-in link:\n%s", s.said)
	}
}

// TestStartExplainsSetUp: attack 24. Without a token or a password, the start says that
// nobody else can sign in, and its address is that of this machine.
func TestStartExplainsSetUp(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	env := h.env
	h.env = nil
	for _, e := range env {
		if !strings.HasPrefix(e, "SAYSO_BOOTSTRAP_TOKEN=") {
			h.env = append(h.env, e)
		}
	}
	s := h.serve("--public-url", "https://sayso.example")
	eventually(t, "it says who may sign in", s.logged("creates the first admin account"))
	if !strings.Contains(s.said.String(), "sayso is running at http://127.0.0.1:") {
		t.Errorf("it does not print the address of this machine:\n%s", s.said)
	}
}

// TestSlowHeadersAreCutOff: attack 75.
func TestSlowHeadersAreCutOff(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
	must(t, err)
	must(t, conn.SetReadDeadline(time.Now().Add(waitLimit)))
	if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		answer.Body.Close()
		if answer.StatusCode < 400 {
			t.Errorf("half a request got %d", answer.StatusCode)
		}
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Errorf("half a request still waits after %s", waitLimit)
	}
}

// TestRawRequestsAreRefused: attacks 4, 79 and 90, as only raw bytes can make
// them.
func TestRawRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	for name, row := range map[string]struct {
		request string
		want    int
	}{
		"4 no host":                 {"GET /healthz HTTP/1.1\r\n\r\n", 400},
		"4 two hosts":               {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n\r\n", 400},
		"4 absolute address":        {"GET http://localhost/healthz HTTP/1.1\r\nHost: evil.com\r\n\r\n", 400},
		"79 a header of a megabyte": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", 431},
		"79 ten thousand cookies":   {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: " + strings.Repeat("a=b; ", 20_000) + "\r\n\r\n", 431},
		"90 two lengths":            {"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		"90 length and chunks":      {"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400},
		"90 unknown coding":         {"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			must(t, err)
			defer conn.Close()
			must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
			go func() { _, _ = conn.Write([]byte(row.request)) }() // it may hang up before all is sent
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != row.want {
				t.Errorf("got %d, want %d", answer.StatusCode, row.want)
			}
		})
	}
}

// TestSignInAddressIsLocalhost: people come to the name at which browsers make passkeys,
// and this server answers wherever that leads.
func TestSignInAddressIsLocalhost(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	eventually(t, "it prints the address", s.logged("http://localhost:"))
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("it runs at %s", s.URL)
	}
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		probe.Close()
		got, err := http.Get("http://[::1]:" + port + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusOK {
			t.Errorf("at [::1] it answers %d", got.StatusCode)
		}
	}
}
