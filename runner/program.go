package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/runner/link"
)

const (
	// describeTimeout bounds ProgramOptions.Hello, which may run programs. It is separate from
	// dialTimeout, so that a slow one leaves enough time for the connection.
	describeTimeout = 3 * time.Second
	// dialTimeout bounds connecting, the TLS handshake, the upgrade and the exchange of hello and
	// welcome.
	dialTimeout = 10 * time.Second
	// minDelay and maxDelay bound the backoff between attempts to connect. The actual delay is a
	// random part of it, so that the runners of a server that restarts do not all dial at once.
	minDelay = 100 * time.Millisecond
	maxDelay = 5 * time.Second
	// refusedDelay replaces maxDelay after a refusal that lasts until somebody changes something.
	refusedDelay = time.Minute
	// steadyAfter is how long a connection must last for the backoff to start over.
	steadyAfter = 10 * time.Second
	// maxCallsOfServer bounds the concurrent calls of a server: one that reads for each process,
	// and some more.
	maxCallsOfServer = 16 << 10
)

// ProgramOptions configures a Program.
type ProgramOptions struct {
	// Servers lists URLs of servers, such as https://sayso.example.org, any of which will do. While
	// it is not connected, the program dials them in turn. An http URL must name this machine.
	Servers []string
	// Pin is the public key that a server must have, as "sha256:" and the hash of the key's DER
	// encoding (SubjectPublicKeyInfo) in hex or base64. If it is empty, the program verifies the
	// certificate instead.
	Pin string
	// Token returns the token of the runner. It is called for each attempt.
	Token func() (string, error)
	// Hello returns the description of the runner. It is called for each attempt. When ctx ends, it
	// returns what it knows until then; an error fails the attempt.
	Hello func(ctx context.Context) (Hello, error)
	// Begin is called for each new connection, before any call of the server is answered. It returns
	// the function that answers them, and one that is called when no more calls will come.
	Begin func(w Welcome) (serve Serve, end func())
	// Greeted is called for each new connection, while calls of the server are answered, and may
	// call the server. ctx ends with the connection. If Greeted returns an error, the connection is
	// closed with that error; if it returns nil, the connection stays open.
	Greeted func(ctx context.Context, w Welcome, c *link.Conn) error
	// Advice returns what people can do about a failed attempt, "" for nothing. It may be nil.
	Advice func(err error) string
	// Codes lists the errors that calls may return.
	Codes []link.ErrorCode
	Log   *slog.Logger
}

// A Program is the runner's side of the connection. It has one connection at a time.
type Program struct {
	o       ProgramOptions
	servers []*url.URL
	client  *http.Client

	connectedTo atomic.Pointer[url.URL] // one of servers; nil while not connected
}

// NewProgram returns a Program, which connects while Run runs. It fails if an option is missing or
// not valid.
func NewProgram(o ProgramOptions) (*Program, error) {
	if len(o.Servers) == 0 || o.Token == nil || o.Hello == nil || o.Begin == nil || o.Greeted == nil || o.Log == nil {
		return nil, errors.New("runner: a program needs a server, functions for its token, hello and calls, and a log")
	}
	p := &Program{o: o}
	for _, text := range o.Servers {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
			return nil, fmt.Errorf("%q is no address such as https://sayso.example.org", text)
		case u.Scheme == "http" && (o.Pin != "" || !ssrf.IsLoopback(u.Hostname())):
			return nil, fmt.Errorf("%q is not encrypted; use https", text)
		}
		u.Path = cmp.Or(u.Path, "/")
		p.servers = append(p.servers, u)
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Pin != "" {
		key, err := parsePin(o.Pin)
		if err != nil {
			return nil, err
		}
		// Only the key is checked: not the name, the issuer or the dates.
		tlsConfig.InsecureSkipVerify = true
		tlsConfig.VerifyConnection = func(s tls.ConnectionState) error {
			if sha256.Sum256(s.PeerCertificates[0].RawSubjectPublicKeyInfo) != key {
				return errPin
			}
			return nil
		}
	}
	p.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig},
		// A redirect would send the token to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

var errPin = errors.New("the server has another public key than the given one")

// parsePin parses ProgramOptions.Pin.
func parsePin(text string) (key [sha256.Size]byte, err error) {
	hash, ok := strings.CutPrefix(text, "sha256:")
	raw, hexErr := hex.DecodeString(hash)
	if hexErr != nil {
		raw, err = base64.StdEncoding.DecodeString(hash)
	}
	if !ok || err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("%q is no key such as sha256: and 64 hexadecimal digits", text)
	}
	return [sha256.Size]byte(raw), nil
}

// Run keeps the runner connected until ctx ends. It always returns nil.
func (p *Program) Run(ctx context.Context) error {
	defer p.client.CloseIdleConnections()
	for failed, next := 0, 0; ; next++ {
		server := p.servers[next%len(p.servers)]
		begin := time.Now()
		err := p.connect(ctx, server)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(begin) >= steadyAfter {
			failed = 0
		}
		wait := delay(failed, err)
		failed++
		log := p.o.Log
		if p.o.Advice != nil {
			if text := p.o.Advice(err); text != "" {
				log = log.With("advice", text)
			}
		}
		log.WarnContext(ctx, "not connected", "server", server, "error", err, "next_attempt_in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// delay returns the time before the next attempt, after a number of failed ones.
func delay(failed int, err error) time.Duration {
	longest := maxDelay
	for _, refusal := range []error{ErrToken, ErrInstallation, ErrRemoved, link.ErrVersion, errPin} {
		if errors.Is(err, refusal) {
			longest = refusedDelay
		}
	}
	return rand.N(min(longest, minDelay<<min(failed, 16))) // full jitter
}

// hello calls ProgramOptions.Hello within describeTimeout.
func (p *Program) hello(ctx context.Context) (Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	return p.o.Hello(ctx)
}

// connect dials a server and serves it until the connection ends.
func (p *Program) connect(ctx context.Context, server *url.URL) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token, err := p.o.Token()
	if err != nil {
		return err
	}
	hello, err := p.hello(ctx)
	if err != nil {
		return err
	}
	greeting, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	socket, answer, err := websocket.Dial(greeting, server.JoinPath(Path).String(), &websocket.DialOptions{
		HTTPClient: p.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}, OnPingReceived: noPong,
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if answer != nil && answer.StatusCode == http.StatusUnauthorized {
			return ErrToken
		}
		return err
	}
	var welcome Welcome
	var serve Serve // set before the first call is read
	conn, err := link.Greet(greeting, link.WebSocket(ctx, socket), hello, &welcome, link.Options{
		Serve:  func(ctx context.Context, call *link.Call) (any, error) { return serve(ctx, call) },
		Errors: Errors(p.o.Codes), MaxCalls: maxCallsOfServer,
	})
	if err != nil {
		return err
	}
	serve, end := p.o.Begin(welcome)
	defer end()
	p.connectedTo.Store(server)
	defer p.connectedTo.Store(nil)
	p.o.Log.InfoContext(ctx, "connected", "server", server, "runner_id", welcome.RunnerID, "epoch", welcome.Epoch)
	var greeted sync.WaitGroup
	defer greeted.Wait()
	defer cancel()
	greeted.Go(func() {
		if err := p.o.Greeted(ctx, welcome, conn); err != nil && ctx.Err() == nil {
			conn.Close(err)
		}
	})
	return conn.Run(ctx)
}
