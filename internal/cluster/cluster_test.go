package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/cluster"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is what servers share.
type database struct {
	mu      sync.Mutex
	servers map[string]session.Server
	drivers map[string]string
	cables  map[string]*cable // to servers that are reached through one
}

func (d *database) PutServer(_ context.Context, s session.Server) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cable := d.cables[s.ServerID]; cable != nil {
		s.Address = cable.leadsTo(s.Address)
	}
	d.servers[s.ServerID] = s
	return nil
}

func (d *database) RemoveServer(_ context.Context, serverID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.servers, serverID)
	return nil
}

func (d *database) Servers(context.Context) (map[string]session.Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.servers), nil
}

func (d *database) Drivers(context.Context) (map[string]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	alive := map[string]string{}
	for runnerID, serverID := range d.drivers {
		if _, is := d.servers[serverID]; is {
			alive[runnerID] = serverID
		}
	}
	return alive, nil
}

func (d *database) Session(_ context.Context, sessionID string) (session.Session, error) {
	return session.Session{SessionID: sessionID, RunnerID: "runner of a"}, nil
}

// driver drives one session, whose block grows.
type driver struct {
	orchestrator.Sessions // the rest is not called

	mu     sync.Mutex
	text   string
	killed []string
}

func (d *driver) Kill(_ context.Context, sessionID string, _ bool, reason string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch sessionID {
	case "gone":
		return orchestrator.ErrNotRunning
	case "odd":
		return problem.For("session_id", "runner_unreachable", "runner", "x")
	case "secret":
		return errors.New("what nobody is told")
	}
	d.killed = append(d.killed, sessionID+" "+reason)
	return nil
}

func (d *driver) LiveHere(string) (session.Live, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return session.Live{Kind: "text", Text: d.text}, d.text != ""
}

func (d *driver) RunnerHere(string) launch.Runner { return nil }

func (d *driver) grow(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text += text
}

// tabs are those of one server.
type tabs struct {
	mu    sync.Mutex
	here  []wire.Presence
	there map[string][]wire.ViewerInfo // by server and session
}

func (h *tabs) Readers(string) int { return 1 }

func (h *tabs) Viewers() []wire.Presence {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.here) // the caller may change it
}

func (h *tabs) SetViewers(serverID string, all []wire.Presence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range all {
		h.there[serverID+" "+p.SessionID] = p.Viewers
	}
}

func (h *tabs) ForgetServer(serverID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.there, func(key string, _ []wire.ViewerInfo) bool { return strings.HasPrefix(key, serverID+" ") })
}

// show sets the viewers of a session.
func (h *tabs) show(sessionID string, names ...string) wire.Presence {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := wire.Presence{SessionID: sessionID}
	for _, name := range names {
		p.Viewers = append(p.Viewers, wire.ViewerInfo{Name: name})
	}
	h.here = slices.DeleteFunc(slices.Clone(h.here), func(other wire.Presence) bool { return other.SessionID == sessionID })
	if len(names) > 0 {
		h.here = append(h.here, p)
	}
	return p
}

func (h *tabs) sees(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.there[key])
}

// askers are those of one server, by the request that they wait for.
type askers struct {
	mu      sync.Mutex
	periods map[string]time.Duration
}

func (a *askers) GracePeriods(requestIDs []string) map[string]time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	periods := maps.Clone(a.periods)
	maps.DeleteFunc(periods, func(id string, _ time.Duration) bool { return !slices.Contains(requestIDs, id) })
	return periods
}

func (a *askers) wait(requestID string, period time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.periods[requestID] = period
}

// server is a running server of a test.
type server struct {
	*cluster.Cluster
	driver *driver
	tabs   *tabs
	askers *askers
	stop   func()
}

// view sets and reports the viewers of a session.
func (s *server) view(sessionID string, names ...string) {
	s.ReportViewers(s.tabs.show(sessionID, names...))
}

// start starts a server.
func start(t *testing.T, d *database, serverID string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{driver: &driver{}, tabs: &tabs{there: map[string][]wire.ViewerInfo{}}, askers: &askers{periods: map[string]time.Duration{}}}
	s.Cluster, err = cluster.New(cluster.Options{
		Store: d, Listener: l, Self: session.Server{ServerID: serverID, Name: serverID, Address: l.Addr().String()},
		Sessions: s.driver, Tabs: s.tabs, Askers: s.askers, Refusals: &refusal.Table{}, Log: slog.New(slog.DiscardHandler),
		OnLive: func(string) {}, OnJoin: func() {}, OnDriver: func(context.Context, string) {},
		Load: func(context.Context, string) (wire.RunnerLoad, bool) { return wire.RunnerLoad{}, false },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	s.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(s.stop)
	return s
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("not: %s", what)
		}
	}
}

// TestSessionsOfAnotherServer: what is done on one server reaches the one that drives the runner, with
// the errors that people see, and its growing block comes back.
func TestSessionsOfAnotherServer(t *testing.T) {
	t.Parallel()
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{"runner of a": "a"}}
	a, b := start(t, d, "a"), start(t, d, "b")
	if a.Sessions("runner of a") != nil {
		t.Error("a server passes on what it drives itself")
	}
	eventually(t, "b knows who drives the runner", func() bool { b.Changed(); return b.Sessions("runner of a") != nil })
	eventually(t, "b reaches a", func() bool {
		return b.Sessions("runner of a").Kill(t.Context(), "s", true, "why") == nil
	})
	a.driver.mu.Lock()
	if len(a.driver.killed) != 1 || a.driver.killed[0] != "s why" {
		t.Errorf("a was told %q", a.driver.killed)
	}
	a.driver.mu.Unlock()

	there := b.Sessions("runner of a")
	if err := there.Kill(t.Context(), "gone", true, ""); !errors.Is(err, orchestrator.ErrNotRunning) {
		t.Errorf("a sentinel became %v", err)
	}
	var known *problem.Error
	if err := there.Kill(t.Context(), "odd", true, ""); !errors.As(err, &known) || known.Reason != "runner_unreachable" || known.Field != "session_id" {
		t.Errorf("a problem became %v", err)
	}
	var refused *refusal.Refusal
	if err := there.Kill(t.Context(), "secret", true, ""); !errors.As(err, &refused) || refused.Status != 500 || strings.Contains(refused.Body.Message, "nobody") {
		t.Errorf("a defect became %v", err)
	}

	for _, text := range []string{"one", " two", " three"} {
		a.driver.grow(text)
		a.LiveChanged("s")
		want, _ := a.driver.LiveHere("s")
		eventually(t, "the block has grown on the other server", func() bool {
			live, open := b.Live("s")
			return open && live.Text == want.Text
		})
	}

	b.tabs.mu.Lock()
	b.tabs.here = []wire.Presence{{SessionID: "s", Viewers: []wire.ViewerInfo{{Name: "Ana"}}}}
	b.tabs.mu.Unlock()
	b.ReportViewers(b.tabs.Viewers()[0])
	eventually(t, "a sees who looks on b", func() bool { return a.tabs.sees("b s") == 1 })
	b.stop()
	eventually(t, "a forgets who looked on b", func() bool { return a.tabs.sees("b s") == 0 })

	a.stop()
	c := start(t, d, "c")
	c.Changed()
	d.mu.Lock()
	d.servers["a"] = session.Server{ServerID: "a", Address: "127.0.0.1:1"} // it was killed
	d.mu.Unlock()
	eventually(t, "c believes that a drives the runner", func() bool { c.Changed(); return c.Sessions("runner of a") != nil })
	if err := c.Sessions("runner of a").Kill(t.Context(), "s", true, ""); !errors.As(err, &known) || known.Reason != "server_unreachable" {
		t.Errorf("a server that is gone: %v", err)
	}
}

// TestViewersLeaveWhileTheConnectionIsLost: what could not be sent over a lost connection is not sent over
// the next one, where it would be older than the viewers with which that one starts.
func TestViewersLeaveWhileTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	toA := newCable(t)
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{"runner of a": "a"}, cables: map[string]*cable{"a": toA}}
	a, b, c := start(t, d, "a"), start(t, d, "b"), start(t, d, "c")
	b.view("first", "Ana")
	eventually(t, "b is connected with a", func() bool { b.Changed(); return b.Runner("runner of a") != nil && a.tabs.sees("b first") == 1 })
	eventually(t, "b is connected with c", func() bool { b.Changed(); return c.tabs.sees("b first") == 1 })
	// reported waits until a change is on its way to all servers.
	reported := func(what string, is func() bool) {
		t.Helper()
		eventually(t, what, is)
		b.Runners() // waits for the lock that is held while it is passed to all
	}

	toA.drop()
	const long = 10 << 10
	b.view("s", strings.Repeat("a", long))
	eventually(t, "b calls a", func() bool { return toA.droppedBytes() > long })
	b.view("t", "Bea")
	reported("Bea is seen on c", func() bool { return c.tabs.sees("b t") == 1 })
	toA.cut()
	eventually(t, "b has lost a", func() bool { return b.Runner("runner of a") == nil })
	b.view("t")
	reported("Bea has left", func() bool { return c.tabs.sees("b t") == 0 })
	toA.mend()
	eventually(t, "b is connected again", func() bool { return a.tabs.sees("b s") == 1 })
	b.view("u", "Cem")
	eventually(t, "a sees what came after that", func() bool { return a.tabs.sees("b u") == 1 })
	if a.tabs.sees("b t") != 0 {
		t.Error("a sees somebody who has left")
	}
}

// TestViewersLeaveBeforeTheConnectionIsKnownLost: a server that dials again before the other one has noticed
// that its connection is lost starts anew.
func TestViewersLeaveBeforeTheConnectionIsKnownLost(t *testing.T) {
	t.Parallel()
	toA := newCable(t)
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{"runner of a": "a"}, cables: map[string]*cable{"a": toA}}
	a, b := start(t, d, "a"), start(t, d, "b")
	b.view("t", "Bea")
	eventually(t, "a sees who looks on b", func() bool { b.Changed(); return b.Runner("runner of a") != nil && a.tabs.sees("b t") == 1 })
	toA.cutNear()
	eventually(t, "b has lost a", func() bool { return b.Runner("runner of a") == nil })
	b.tabs.show("t") // not reported, because a is not connected
	b.tabs.show("s", "Ana")
	toA.mend()
	eventually(t, "b is connected again", func() bool { return a.tabs.sees("b s") == 1 })
	if a.tabs.sees("b t") != 0 {
		t.Error("a sees somebody who has left")
	}
}

// TestAskersOfOtherServers: a server learns for which requests askers wait on the others, and whether it
// has heard all of them.
func TestAskersOfOtherServers(t *testing.T) {
	t.Parallel()
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{}}
	a, b, c := start(t, d, "a"), start(t, d, "b"), start(t, d, "c")
	a.askers.wait("own", time.Minute)
	b.askers.wait("one", time.Minute)
	b.askers.wait("two", time.Second)
	c.askers.wait("two", 2*time.Second)
	c.askers.wait("another", time.Minute)
	ask := func() (map[string]time.Duration, bool) {
		return a.GracePeriods(t.Context(), []string{"own", "one", "two", "three"})
	}
	want := map[string]time.Duration{"one": time.Minute, "two": 2 * time.Second}
	eventually(t, "a has asked both", func() bool {
		a.Changed()
		got, complete := ask()
		return complete && maps.Equal(got, want)
	})

	var asked atomic.Int64
	for name, odd := range map[string]session.Server{
		"a server that cannot be reached":      {ServerID: "odd", Address: "127.0.0.1:1"},
		"a server that does not know the call": earlierRelease(t, func(string) { asked.Add(1) }),
	} {
		if err := d.PutServer(t.Context(), odd); err != nil {
			t.Fatal(err)
		}
		eventually(t, name, func() bool {
			a.Changed()
			before := asked.Load()
			got, complete := ask()
			return !complete && maps.Equal(got, want) && (asked.Load() > before || odd.Key == [32]byte{})
		})
		if err := d.RemoveServer(t.Context(), "odd"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a forgets it", func() bool { a.Changed(); _, complete := ask(); return complete })
	}
	b.stop()
	eventually(t, "a asks c alone", func() bool {
		a.Changed()
		got, complete := ask()
		return complete && maps.Equal(got, map[string]time.Duration{"two": 2 * time.Second})
	})
}

// earlierRelease returns a server that takes connections of the others, and knows none of their calls.
func earlierRelease(t *testing.T, called func(name string)) session.Server {
	t.Helper()
	certificate, hash := newKey(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				welcome := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
				unknown := func(_ context.Context, call *link.Call) (any, error) { called(call.Name); return nil, link.ErrUnknown }
				if conn, err := link.Accept(ctx, raw, welcome, link.Options{Serve: unknown}); err == nil {
					_ = conn.Run(ctx) // the other side ends it
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		cancel()
		serving.Wait()
	})
	return session.Server{ServerID: "odd", Address: l.Addr().String(), Key: hash}
}

// newKey returns a certificate with a new key, and the hash of the key.
func newKey(t *testing.T) (tls.Certificate, [sha256.Size]byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, sha256.Sum256(made.RawSubjectPublicKeyInfo)
}

// TestStrangersAreRefused: a key that is not in the database gets nothing, in either direction.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{}}
	start(t, d, "a")
	eventually(t, "a listens", func() bool { all, _ := d.Servers(t.Context()); return len(all) == 1 })
	all, _ := d.Servers(t.Context())
	stranger, _ := newKey(t)
	for name, certificates := range map[string][]tls.Certificate{
		"no key":      nil,
		"another key": {stranger},
	} {
		conn, err := tls.Dial("tcp", all["a"].Address, &tls.Config{InsecureSkipVerify: true, Certificates: certificates})
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // in TLS 1.3, the refusal comes after the handshake
			_ = conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Somebody else listens at the address of a server.
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{stranger}, ClientAuth: tls.RequestClientCert})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d.mu.Lock()
	d.servers["b"] = session.Server{ServerID: "b", Address: l.Addr().String(), Key: [32]byte{1}}
	d.mu.Unlock()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a server said %d bytes to a stranger: %v", n, err)
	}
}
