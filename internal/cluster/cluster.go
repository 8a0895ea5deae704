// Package cluster connects the servers that share a database. Each has a connection to every other,
// over which it passes on what people do with sessions that the other drives, reads the block that
// Claude is writing there, and says who looks at which session. Nothing here has to arrive: what must
// not be lost is in the database, and a command that fails may be repeated with its id.
//
// The connections use runner/link over TLS. A server identifies itself with a key that it makes at its
// start, and whose hash is in its row of the database: who can write there is a server, nobody else.
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
	// refreshInterval is how often a server renews its row, and reads those of the others and who
	// drives which runner.
	refreshInterval = 2 * time.Second
	// storeTimeout bounds each use of the store.
	storeTimeout = 3 * time.Second
	// maxHandshakes bounds the connections whose key is not known yet: each may cost a read of the
	// database.
	maxHandshakes = 16
	// handshakeTimeout bounds dialing, TLS and hello.
	handshakeTimeout = 3 * time.Second
)

// Store is what the package needs of the database.
type Store interface {
	session.ServerStore
	Session(ctx context.Context, sessionID string) (session.Session, error)
}

// Sessions are those that this server drives.
type Sessions interface {
	orchestrator.Sessions
	LiveHere(sessionID string) (session.Live, bool)
	// RunnerHere returns what is near Claude on a runner that this server drives, nil for any other.
	RunnerHere(runnerID string) launch.Runner
}

// Tabs are those of this server.
type Tabs interface {
	// Readers returns how many tabs read a session.
	Readers(sessionID string) int
	// Viewers returns who reads the sessions that tabs read.
	Viewers() []Viewers
	// SetViewers replaces who reads sessions on another server.
	SetViewers(serverID string, all []Viewers)
	// ForgetServer removes everybody who reads sessions on a server.
	ForgetServer(serverID string)
}

// Options configures a Cluster. All are required.
type Options struct {
	Store    Store
	Listener net.Listener   // for the other servers; closed by Run
	Self     session.Server // without its key
	Sessions Sessions
	Tabs     Tabs
	Refusals *refusal.Table
	// OnLive is called when the block that Claude is writing in a session of another server has
	// grown. It must not block.
	OnLive func(sessionID string)
	// OnJoin is called when others can reach this server, and when it ends. It must not block.
	OnJoin func()
	// Load returns what a runner uses, false if this server does not drive it.
	Load func(ctx context.Context, runnerID string) (wire.RunnerLoad, bool)
	// OnDriver is called when another server has begun to drive a runner, or nobody does any more.
	OnDriver func(ctx context.Context, runnerID string)
	Log      *slog.Logger
}

// Cluster is this server among those that share its database.
type Cluster struct {
	o        Options
	key      tls.Certificate
	methods  runner.Methods
	refresh  chan struct{} // capacity 1: servers or drivers have changed
	announce chan struct{} // capacity 1: viewers have changed
	lives    liveSignals

	mu       sync.Mutex // protects following
	servers  map[string]session.Server
	drivers  map[string]string // server by runner; nil before the first look
	peers    map[string]*peer
	accepted map[string]*link.Conn // the latest connection from each server
	viewers  map[string]Viewers    // by session, to be sent
	watched  map[string]*watch     // by session
	watch    chan string           // sessions to watch; to Run
}

// New returns a Cluster. Its Run connects.
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

// newKey makes the key of a server, in a certificate that says nothing else.
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

// Changed says that another server has started or ended, or that a runner has another driver. It never
// blocks.
func (c *Cluster) Changed() { wake(c.refresh) }

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Join stores the row of this server. The leases that it takes count for others only after that.
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
		c.look(ctx, func(p *peer) { running.Go(func() { p.run(ctx) }) })
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

// leave lets the others know that this server ends.
func (c *Cluster) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := c.o.Store.RemoveServer(ctx, c.o.Self.ServerID); err != nil {
		c.o.Log.DebugContext(ctx, "the row of this server runs out instead of being removed", "error", err)
	}
}

// look renews the row of this server, reads what others there are and who drives which runner, and
// connects with those that are new.
func (c *Cluster) look(ctx context.Context, start func(*peer)) {
	err := c.Join(ctx)
	if err == nil {
		err = c.read(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			c.o.Log.WarnContext(ctx, "cannot tell which other servers there are", "error", err)
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

// read reads servers and drivers.
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
			return near(conn, runnerID)
		}
	}
	return nil
}

// RunnerLoad returns what a runner uses that another server drives, false if none does or says so.
func (c *Cluster) RunnerLoad(ctx context.Context, runnerID string) (wire.RunnerLoad, bool) {
	there, is := c.Sessions(runnerID).(remote)
	if !is {
		return wire.RunnerLoad{}, false
	}
	load, err := get[wire.RunnerLoad](ctx, there, "RunnerLoad", runnerID)
	if err != nil {
		c.o.Log.DebugContext(ctx, "another server does not say the load of a runner", "runner_id", runnerID, "error", err)
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

// listen serves the other servers.
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
			_ = conn.Close() // nobody waits for it
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

// serverOf returns the id of the other server that has a key, "" for none. One that has just started is
// looked up.
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
		c.o.Log.WarnContext(ctx, "cannot tell which server connects", "error", err)
		return ""
	}
	return find(all)
}
