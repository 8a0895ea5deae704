package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner/link"
	processes "github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/session"
)

// maxCalls bounds the concurrent calls of one other server.
const maxCalls = 4 << 10

// maxRedialDelay bounds the backoff between attempts. The actual delay is a random part of it.
const maxRedialDelay = time.Second

// errUnknownKey refuses a key that is not in the database.
var errUnknownKey = errors.New("cluster: the key is not that of a server of this database")

// tlsConfig returns the TLS configuration for both directions. check reports whether the other side's
// key, given by its hash, is acceptable.
func (c *Cluster) tlsConfig(check func(key [sha256.Size]byte) bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.key},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // only the key is checked
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !check(sha256.Sum256(s.PeerCertificates[0].RawSubjectPublicKeyInfo)) {
				return errUnknownKey
			}
			return nil
		},
	}
}

// serve serves a connection of another server until it ends. It calls known once the other server is
// authenticated.
func (c *Cluster) serve(ctx context.Context, raw net.Conn, known func()) error {
	greeting, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	from := "" // the id of the other server
	conn := tls.Server(raw, c.tlsConfig(func(key [sha256.Size]byte) bool {
		from = c.serverOf(greeting, key)
		return from != ""
	}))
	if err := conn.HandshakeContext(greeting); err != nil {
		_ = raw.Close() // the earlier error counts
		return err
	}
	known()
	accepted, err := link.Accept(greeting, conn, func(context.Context, json.RawMessage) (any, error) { return nil, nil }, link.Options{
		Serve:  func(ctx context.Context, call *link.Call) (any, error) { return c.answer(withCaller(ctx, from), call) },
		Errors: c.errorCodes(), MaxCalls: maxCalls,
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	former := c.accepted[from]
	c.accepted[from] = accepted
	c.mu.Unlock()
	if former != nil {
		// The other server has noticed before this one that the former connection is lost. What it
		// reported there ends with it, as below.
		former.Close(context.Canceled)
		c.o.Tabs.ForgetServer(from)
	}
	defer func() {
		c.mu.Lock()
		latest := c.accepted[from] == accepted
		if latest {
			delete(c.accepted, from)
		}
		c.mu.Unlock()
		if latest {
			c.o.Tabs.ForgetServer(from) // when it reconnects, it sends all its viewers again
		}
	}()
	return accepted.Run(ctx)
}

// A peer is another server, which this one dials.
type peer struct {
	c      *Cluster
	server session.Server
	ended  chan struct{} // closed by stop
	stop   func()
	news   chan struct{} // capacity 1: changedViewers has changed

	mu             sync.Mutex
	conn           *link.Conn             // nil while not connected
	changedViewers map[string]Viewers     // by session id, to be sent
	disks          map[string]launch.Disk // of its runners, by runner id; they use conn
}

func newPeer(c *Cluster, s session.Server) *peer {
	p := &peer{c: c, server: s, ended: make(chan struct{}), news: make(chan struct{}, 1), changedViewers: map[string]Viewers{}}
	p.stop = sync.OnceFunc(func() { close(p.ended) })
	return p
}

// run keeps the peer connected until ctx ends or stop is called.
func (p *peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	defer func() { <-stopped }()
	defer cancel()
	go func() {
		defer close(stopped)
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, maxRedialDelay) {
		began := time.Now()
		err := p.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		p.c.o.Log.DebugContext(ctx, "not connected with another server", "name", p.server.Name, "address", p.server.Address, "error", err)
		if time.Since(began) > maxRedialDelay {
			delay = 50 * time.Millisecond
		}
		select {
		case <-time.After(rand.N(delay)):
		case <-ctx.Done():
			return
		}
	}
}

// connect dials, and serves the connection until it ends.
func (p *peer) connect(ctx context.Context) error {
	greeting, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(greeting, "tcp", p.server.Address)
	if err != nil {
		return err
	}
	conn := tls.Client(raw, p.c.tlsConfig(func(key [sha256.Size]byte) bool { return key == p.server.Key }))
	if err := conn.HandshakeContext(greeting); err != nil {
		_ = raw.Close() // the earlier error counts
		return err
	}
	greeted, err := link.Greet(greeting, conn, nil, nil, link.Options{Errors: p.c.errorCodes()})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	p.set(greeted)
	defer p.set(nil)
	running.Go(func() { p.streamViewers(sending, p.c.o.Tabs.Viewers()) })
	return greeted.Run(ctx)
}

// set sets the connection, and drops what was to be sent over the former one: the next one starts with
// all viewers.
func (p *peer) set(conn *link.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn, p.disks = conn, map[string]launch.Disk{}
	clear(p.changedViewers)
}

// disk returns the disk of a runner that the peer drives, or nil while the peer is not connected.
func (p *peer) disk(runnerID string) launch.Disk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return nil
	}
	if p.disks[runnerID] == nil {
		p.disks[runnerID] = launch.RemoteDisk(relayedRunner(p.conn, runnerID))
	}
	return p.disks[runnerID]
}

// relayedRunner returns a runner that the server at the other end of conn drives.
func relayedRunner(conn *link.Conn, runnerID string) launch.Runner {
	return processes.NewRelayedRunner(conn, runnerCallPrefix+runnerID+"/")
}

// connection returns the connection, or a [problem.Error] while the peer is nil or not connected.
func (p *peer) connection() (*link.Conn, error) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.conn != nil {
			return p.conn, nil
		}
	}
	return nil, problem.New("server_unreachable")
}

// unreachable adds an error for people to the error of a call if the connection has ended. The other
// server may still have carried out the call.
func unreachable(conn *link.Conn, err error) error {
	if err != nil && conn.Ended() {
		return fmt.Errorf("%w: %w", problem.New("server_unreachable"), err)
	}
	return err
}
