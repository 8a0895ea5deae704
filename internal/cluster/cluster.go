// Package cluster connects the servers that share a database. Each server dials every other one. Over
// that connection it forwards commands for sessions that the other server drives, reads the block
// that Claude is writing there, reports who views which session, and asks which agents wait there for
// answers. Delivery is best effort: everything that must not be lost is in the database, and a failed
// command may be repeated with its id.
//
// The connections use runner/link over TLS. A server authenticates with a key that it generates at
// startup and whose hash it stores in the database. Only a program that can write to the database can
// therefore connect as a server.
package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

const (
	// refreshInterval is how often a server renews its own row, and reads the rows of other servers
	// and the driver of each runner.
	refreshInterval = 2 * time.Second
	// storeTimeout bounds each access to the store.
	storeTimeout = 3 * time.Second
	// maxHandshakes bounds the connections that are not authenticated yet. Each may cost a read of
	// the database.
	maxHandshakes = 16
	// handshakeTimeout bounds dialing, the TLS handshake and the hello together.
	handshakeTimeout = 3 * time.Second
)

// Store is the part of the database that the package needs.
type Store interface {
	session.ServerStore
	Session(ctx context.Context, sessionID string) (session.Session, error)
}

// Sessions provides the sessions that this server drives.
type Sessions interface {
	orchestrator.Sessions
	LiveHere(sessionID string) (session.Live, bool)
	// RunnerHere returns a runner that this server drives, or nil for any other.
	RunnerHere(runnerID string) launch.Runner
}

// Tabs provides the tabs of this server.
type Tabs interface {
	// Readers returns how many tabs read a session.
	Readers(sessionID string) int
	// Viewers returns the viewers of all sessions that tabs read.
	Viewers() []Viewers
	// SetViewers replaces the viewers on another server, for each session in all.
	SetViewers(serverID string, all []Viewers)
	// ForgetServer removes all viewers on another server.
	ForgetServer(serverID string)
}

// Askers provides the agents that wait for answers on this server.
type Askers interface {
	// GracePeriods returns, by request, how long the questions must at least stay open for askers
	// that wait here, or have left shortly before. It does not block.
	GracePeriods(requestIDs []string) map[string]time.Duration
}

// Options configures a Cluster. All fields are required.
type Options struct {
	Store    Store
	Listener net.Listener   // for the other servers; closed by Run
	Self     session.Server // without its key
	Sessions Sessions
	Tabs     Tabs
	Askers   Askers
	Refusals *refusal.Table
	// OnLive is called when the block that Claude is writing in a session of another server has
	// changed. It must not block.
	OnLive func(sessionID string)
	// OnJoin is called once other servers can find this server, and when Run ends. It must not block.
	OnJoin func()
	// Load returns the resource use of a runner, and false if this server does not drive it.
	Load func(ctx context.Context, runnerID string) (wire.RunnerLoad, bool)
	// OnDriver is called when another server has started to drive a runner, or no server drives it
	// any longer.
	OnDriver func(ctx context.Context, runnerID string)
	Log      *slog.Logger
}

// Cluster connects this server with the other servers of its database.
type Cluster struct {
	o        Options
	key      tls.Certificate
	methods  runner.Methods
	refresh  chan struct{} // capacity 1: servers or drivers have changed
	announce chan struct{} // capacity 1: viewers have changed
	lives    liveSignals

	mu       sync.Mutex // protects following
	servers  map[string]session.Server
	drivers  map[string]string // server id by runner id; nil before the first read
	peers    map[string]*peer
	accepted map[string]*link.Conn // the latest connection from each server
	viewers  map[string]Viewers    // by session id, to be sent
	watched  map[string]*watch     // by session id
	watch    chan string           // ids of sessions that Run must start to watch
}

// New returns a Cluster with a new key. It connects only while Run runs.
func New(o Options) (*Cluster, error) {
	if err := options.Check("cluster", o); err != nil {
		return nil, err
	}
	c := &Cluster{
		o: o, refresh: make(chan struct{}, 1), announce: make(chan struct{}, 1), watch: make(chan string, maxWatched),
		lives: liveSignals{waiting: map[string]map[chan struct{}]bool{}},
		peers: map[string]*peer{}, accepted: map[string]*link.Conn{}, viewers: map[string]Viewers{}, watched: map[string]*watch{},
	}
	var err error
	if c.key, c.o.Self.Key, err = newKey(); err != nil {
		return nil, fmt.Errorf("cluster: make a key: %w", err)
	}
	c.methods, err = runner.MethodsOf[calls](served{Sessions: o.Sessions, c: c})
	return c, err
}

// newKey returns a new key, in a certificate that contains nothing else, and the hash of the public
// key.
func newKey() (tls.Certificate, [sha256.Size]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, [sha256.Size]byte{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(100, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, [sha256.Size]byte{}, err
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		return tls.Certificate{}, [sha256.Size]byte{}, err
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, sha256.Sum256(made.RawSubjectPublicKeyInfo), nil
}

// Changed makes Run read the database again, because a server has started or ended, or a runner has
// another driver. It does not block.
func (c *Cluster) Changed() { wake(c.refresh) }

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Join stores the row of this server. Other servers ignore its leases until then.
func (c *Cluster) Join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := c.o.Store.PutServer(ctx, c.o.Self); err != nil {
		return fmt.Errorf("cluster: join: %w", err)
	}
	return nil
}

// Run connects this server with the others until ctx ends.
func (c *Cluster) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { c.listen(ctx) })
	defer c.o.OnJoin()
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for {
		c.refreshServers(ctx, func(p *peer) { running.Go(func() { p.run(ctx) }) })
		select {
		case <-ctx.Done():
			c.leave(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
		case <-c.refresh:
		case <-c.announce:
			c.sendViewers()
		case sessionID := <-c.watch:
			running.Go(func() { c.follow(ctx, sessionID) })
		}
	}
}

// leave removes the row of this server, so that the others need not wait for it to expire.
func (c *Cluster) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := c.o.Store.RemoveServer(ctx, c.o.Self.ServerID); err != nil {
		c.o.Log.DebugContext(ctx, "cannot remove the row of this server; it will expire", "error", err)
	}
}

// refreshServers renews the row of this server, reads the other servers and the driver of each
// runner, calls start for each new server, and stops the peers of servers that are gone or have a
// new key.
func (c *Cluster) refreshServers(ctx context.Context, start func(*peer)) {
	err := c.Join(ctx)
	if err == nil {
		err = c.read(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			c.o.Log.WarnContext(ctx, "cannot list the other servers", "error", err)
		}
		return
	}
	c.mu.Lock()
	var gone []*peer
	for id, p := range c.peers {
		if now, there := c.servers[id]; !there || now.Key != p.server.Key {
			gone = append(gone, p)
			delete(c.peers, id)
		}
	}
	var fresh []*peer
	for id, s := range c.servers {
		if id != c.o.Self.ServerID && c.peers[id] == nil {
			c.peers[id] = newPeer(c, s)
			fresh = append(fresh, c.peers[id])
		}
	}
	c.mu.Unlock()
	for _, p := range gone {
		p.stop()
	}
	for _, p := range fresh {
		start(p)
	}
}

// read reads the servers and the driver of each runner, and calls OnJoin the first time, later
// OnDriver for each runner whose driver has changed, unless it is this server now.
func (c *Cluster) read(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	servers, err := c.o.Store.Servers(reading)
	if err != nil {
		return err
	}
	drivers, err := c.o.Store.Drivers(reading)
	if err != nil {
		return err
	}
	c.mu.Lock()
	before := c.drivers
	c.servers, c.drivers = servers, drivers
	c.mu.Unlock()
	if before == nil {
		c.o.OnJoin()
		return nil
	}
	changed := map[string]bool{}
	for runnerID := range drivers {
		changed[runnerID] = before[runnerID] != drivers[runnerID]
	}
	for runnerID := range before {
		changed[runnerID] = before[runnerID] != drivers[runnerID]
	}
	for runnerID := range maps.Keys(changed) {
		if changed[runnerID] && drivers[runnerID] != c.o.Self.ServerID {
			c.o.OnDriver(ctx, runnerID)
		}
	}
	return nil
}

// Sessions implements [orchestrator.Elsewhere].
func (c *Cluster) Sessions(runnerID string) orchestrator.Sessions {
	c.mu.Lock()
	defer c.mu.Unlock()
	serverID := c.drivers[runnerID]
	if serverID == "" || serverID == c.o.Self.ServerID {
		return nil
	}
	return remote{c.peers[serverID], runnerID}
}

// Runners implements [orchestrator.Elsewhere].
func (c *Cluster) Runners() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for runnerID, serverID := range c.drivers {
		if serverID != c.o.Self.ServerID {
			ids = append(ids, runnerID)
		}
	}
	return ids
}

// Runner implements [orchestrator.Elsewhere].
func (c *Cluster) Runner(runnerID string) launch.Runner {
	if there, is := c.Sessions(runnerID).(remote); is {
		if conn, err := there.p.connection(); err == nil {
			return relayedRunner(conn, runnerID)
		}
	}
	return nil
}

// RunnerLoad returns the resource use of a runner that another server drives, and false if no other
// server drives it or that server does not answer.
func (c *Cluster) RunnerLoad(ctx context.Context, runnerID string) (wire.RunnerLoad, bool) {
	there, is := c.Sessions(runnerID).(remote)
	if !is {
		return wire.RunnerLoad{}, false
	}
	load, err := get[wire.RunnerLoad](ctx, there, "RunnerLoad", runnerID)
	if err != nil {
		c.o.Log.DebugContext(ctx, "cannot read a runner's load from another server", "runner_id", runnerID, "error", err)
	}
	return load, err == nil
}

// Disk implements [orchestrator.Elsewhere].
func (c *Cluster) Disk(runnerID string) launch.Disk {
	there, is := c.Sessions(runnerID).(remote)
	if !is || there.p == nil {
		return nil
	}
	return there.p.disk(runnerID)
}

// listen accepts and serves connections of other servers until ctx ends.
func (c *Cluster) listen(ctx context.Context) {
	var serving sync.WaitGroup
	defer serving.Wait()
	handshakes := make(chan struct{}, maxHandshakes)
	stop := context.AfterFunc(ctx, func() { c.o.Listener.Close() })
	defer stop()
	for {
		conn, err := c.o.Listener.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				c.o.Log.WarnContext(ctx, "cannot accept a connection of another server", "error", err)
				select {
				case <-time.After(100 * time.Millisecond):
					continue
				case <-ctx.Done():
				}
			}
			return
		}
		select {
		case handshakes <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close() // nothing was sent, so the error does not matter
			return
		}
		known := sync.OnceFunc(func() { <-handshakes })
		serving.Go(func() {
			defer known()
			if err := c.serve(ctx, conn, known); err != nil && ctx.Err() == nil {
				c.o.Log.DebugContext(ctx, "the connection of another server ended", "address", conn.RemoteAddr(), "error", err)
			}
		})
	}
}

// serverOf returns the id of the other server with this key, or "". It looks up unknown keys in the
// database, because the server may have just started.
func (c *Cluster) serverOf(ctx context.Context, key [sha256.Size]byte) string {
	find := func(all map[string]session.Server) string {
		for id, s := range all {
			if s.Key == key && id != c.o.Self.ServerID {
				return id
			}
		}
		return ""
	}
	c.mu.Lock()
	known := find(c.servers)
	c.mu.Unlock()
	if known != "" {
		return known
	}
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	all, err := c.o.Store.Servers(reading)
	if err != nil {
		c.o.Log.WarnContext(ctx, "cannot identify a server that connects", "error", err)
		return ""
	}
	return find(all)
}
