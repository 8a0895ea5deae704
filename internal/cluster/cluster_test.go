package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/cluster"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is what servers share.
type database struct {
	mu      sync.Mutex
	servers map[string]session.Server
	drivers map[string]string
}

func (d *database) PutServer(_ context.Context, s session.Server) error {
	d.mu.Lock()
	defer d.mu.Unlock()
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
	return h.here
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

func (h *tabs) sees(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.there[key])
}

// server is a running server of a test.
type server struct {
	*cluster.Cluster
	driver *driver
	tabs   *tabs
	stop   func()
}

// start starts a server.
func start(t *testing.T, d *database, serverID string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{driver: &driver{}, tabs: &tabs{there: map[string][]wire.ViewerInfo{}}}
	s.Cluster, err = cluster.New(cluster.Options{
		Store: d, Listener: l, Self: session.Server{ServerID: serverID, Name: serverID, Address: l.Addr().String()},
		Sessions: s.driver, Tabs: s.tabs, Refusals: &refusal.Table{}, Log: slog.New(slog.DiscardHandler),
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

// TestStrangersAreRefused: a key that is not in the database gets nothing, in either direction.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	d := &database{servers: map[string]session.Server{}, drivers: map[string]string{}}
	start(t, d, "a")
	eventually(t, "a listens", func() bool { all, _ := d.Servers(t.Context()); return len(all) == 1 })
	all, _ := d.Servers(t.Context())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{
		"no key":      nil,
		"another key": {{Certificate: [][]byte{raw}, PrivateKey: key}},
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
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, ClientAuth: tls.RequestClientCert})
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
