package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// registry knows one runner.
type registry struct {
	token [sha256.Size]byte
	lease func(runnerID string, h runner.Hello) (runner.Welcome, error)
	epoch atomic.Uint64
}

func (r *registry) FindToken(_ context.Context, hash [sha256.Size]byte) (string, error) {
	if hash != r.token {
		return "", runner.ErrToken
	}
	return "one", nil
}

func (r *registry) TakeLease(_ context.Context, runnerID string, h runner.Hello) (runner.Welcome, error) {
	if r.lease != nil {
		return r.lease(runnerID, h)
	}
	return runner.Welcome{RunnerID: runnerID, Epoch: r.epoch.Add(1)}, nil
}

// idle drives a runner by waiting.
func idle(ctx context.Context, _ runner.Welcome, _ runner.Hello, _ *link.Conn) error {
	<-ctx.Done()
	return nil
}

// serveRunners serves runners until the end of the test.
func serveRunners(t *testing.T, r *registry, change func(*runner.EndpointOptions)) (web *httptest.Server, stop func()) {
	t.Helper()
	o := runner.EndpointOptions{
		Registry: r, Drive: idle, Log: quiet,
		Serve: func(_ context.Context, runnerID string, call *link.Call) (any, error) {
			return runnerID + " " + call.Name, nil
		},
	}
	if change != nil {
		change(&o)
	}
	e, err := runner.NewEndpoint(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) }) // it returns nil
	mux := http.NewServeMux()
	mux.Handle(runner.Path, e)
	mux.HandleFunc("/elsewhere"+runner.Path, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, runner.Path, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // as much as came
		fmt.Fprintf(w, "%s %s %s %s %q %s", r.Method, r.URL.Path, r.Host, r.Header.Get("Authorization"), r.Cookies(), body)
		_ = http.NewResponseController(w).Flush()
		if string(body) == "wait" {
			<-r.Context().Done()
		}
	})
	web = httptest.NewTLSServer(mux)
	web.Config.ErrorLog = slog.NewLogLogger(quiet.Handler(), slog.LevelError) // failed handshakes
	for ready := false; !ready; {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", runner.Path, nil))
		ready = w.Code != http.StatusServiceUnavailable
	}
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		web.Close()
	})
	t.Cleanup(stop)
	return web, stop
}

// pin returns the pin of a server.
func pin(web *httptest.Server) string {
	sum := sha256.Sum256(web.Certificate().RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// greeting is one connection, on the runner's side.
type greeting struct {
	welcome runner.Welcome
	conn    *link.Conn
}

// dial runs a program until the end of the test. Its log lines come as attempts.
func dial(t *testing.T, web *httptest.Server, token string, change func(*runner.ProgramOptions)) (greeted <-chan greeting, failed <-chan string) {
	t.Helper()
	_, greeted, failed = dialing(t, web, token, change)
	return greeted, failed
}

// dialing is dial that returns the program too.
func dialing(t *testing.T, web *httptest.Server, token string, change func(*runner.ProgramOptions)) (p *runner.Program, greeted <-chan greeting, failed <-chan string) {
	t.Helper()
	all, lines := make(chan greeting, 100), make(chan string, 100)
	o := runner.ProgramOptions{
		Servers: []string{web.URL}, Pin: pin(web),
		Token: func() (string, error) { return token, nil },
		Hello: func(context.Context) (runner.Hello, error) {
			return runner.Hello{InstallationID: "here", Name: "host"}, nil
		},
		Greeted: func(ctx context.Context, w runner.Welcome, c *link.Conn) error {
			all <- greeting{w, c}
			<-ctx.Done()
			return nil
		},
		Begin: func(runner.Welcome) (runner.Serve, func()) {
			return func(_ context.Context, call *link.Call) (any, error) { return "served " + call.Name, nil }, func() {}
		},
		Log: slog.New(slog.NewTextHandler(lineWriter(lines), nil)),
	}
	if change != nil {
		change(&o)
	}
	p, err := runner.NewProgram(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) }) // it returns nil
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return p, all, lines
}

type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "not connected") {
		select {
		case w <- string(p):
		default:
		}
	}
	return len(p), nil
}

func TestRunnerAndServerCallEachOther(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	heard := make(chan string, 1)
	web, _ := serveRunners(t, &registry{token: hash}, func(o *runner.EndpointOptions) {
		o.Drive = func(ctx context.Context, w runner.Welcome, h runner.Hello, c *link.Conn) error {
			var answer string
			err := c.Call(ctx, "list", nil, &answer)
			heard <- h.Name + " " + answer
			<-ctx.Done()
			return err
		}
	})
	greeted, _ := dial(t, web, token, nil)
	g := <-greeted
	if g.welcome.RunnerID != "one" || g.welcome.Epoch != 1 {
		t.Errorf("welcome %+v", g.welcome)
	}
	var answer string
	if err := g.conn.Call(t.Context(), "vitals", nil, &answer); err != nil || answer != "one vitals" {
		t.Errorf("the server answered %q, %v", answer, err)
	}
	if got := <-heard; got != "host served list" {
		t.Errorf("the server heard %q", got)
	}
}

// The server that was told to go, or lost its lease, or met the same runner again: it says so, and
// the runner dials again.
func TestRunnersDialAgain(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	var driving, most atomic.Int32
	first := make(chan struct{})
	web, _ := serveRunners(t, &registry{token: hash}, func(o *runner.EndpointOptions) {
		o.Drive = func(ctx context.Context, w runner.Welcome, _ runner.Hello, c *link.Conn) error {
			most.Store(max(most.Load(), driving.Add(1)))
			defer driving.Add(-1)
			if w.Epoch == 1 {
				<-first
				return runner.ErrLeaseLost
			}
			<-ctx.Done()
			return nil
		}
	})
	greeted, failed := dial(t, web, token, nil)
	one := <-greeted
	close(first)
	two := <-greeted
	if line := <-failed; !strings.Contains(line, runner.ErrLeaseLost.Error()) {
		t.Errorf("the runner was told %q", line)
	}
	<-one.conn.Done()
	if two.welcome.Epoch <= one.welcome.Epoch {
		t.Errorf("epoch %d after %d", two.welcome.Epoch, one.welcome.Epoch)
	}
	// The same runner from elsewhere gets in at once, and its former connection ends.
	again, _ := dial(t, web, token, nil)
	three := <-again
	<-two.conn.Done()
	if three.welcome.Epoch <= two.welcome.Epoch || most.Load() != 1 {
		t.Errorf("epoch %d after %d, %d drivers at once", three.welcome.Epoch, two.welcome.Epoch, most.Load())
	}
}

func TestServersThatEndSendTheirRunnersAway(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	first, stop := serveRunners(t, &registry{token: hash}, nil)
	second, _ := serveRunners(t, &registry{token: hash}, nil)
	greeted, failed := dial(t, first, token, func(o *runner.ProgramOptions) { o.Servers = []string{first.URL, second.URL} }) // both have the key
	<-greeted
	stop()
	if line := <-failed; !strings.Contains(line, runner.ErrGoingAway.Error()) {
		t.Errorf("the runner was told %q", line)
	}
	<-greeted // by the other
}

// A runner whose description takes as long as it may, as with a slow CLI, has time left to connect.
func TestSlowHelloLeavesTimeToConnect(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	web, _ := serveRunners(t, &registry{token: hash}, nil)
	greeted, failed := dial(t, web, token, func(o *runner.ProgramOptions) {
		o.Hello = func(ctx context.Context) (runner.Hello, error) {
			<-ctx.Done()
			return runner.Hello{InstallationID: "here", Name: "host"}, nil
		}
	})
	select {
	case <-greeted:
	case line := <-failed:
		t.Errorf("the runner was told %q", line)
	}
}

func TestRunnersThatAreRefused(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	other, _ := runner.NewToken()
	for _, row := range []struct {
		name, token string
		lease       error
		change      func(*runner.ProgramOptions)
		want        string
	}{
		{name: "another token", token: other, want: runner.ErrToken.Error()},
		{name: "no token", token: "", want: runner.ErrToken.Error()},
		{name: "a copy", token: token, lease: runner.ErrInstallation, want: runner.ErrInstallation.Error()},
		{name: "removed", token: token, lease: runner.ErrRemoved, want: runner.ErrRemoved.Error()},
		{name: "another key", token: token, want: "another public key", change: func(o *runner.ProgramOptions) { o.Pin = "sha256:" + strings.Repeat("0", 64) }},
		{name: "a certificate of nobody", token: token, want: "certificate", change: func(o *runner.ProgramOptions) { o.Pin = "" }},
		{name: "a redirect", token: token, want: "307", change: func(o *runner.ProgramOptions) { o.Servers[0] += "/elsewhere" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := &registry{token: hash}
			if row.lease != nil {
				r.lease = func(string, runner.Hello) (runner.Welcome, error) { return runner.Welcome{}, row.lease }
			}
			web, _ := serveRunners(t, r, func(o *runner.EndpointOptions) {
				o.Drive = func(context.Context, runner.Welcome, runner.Hello, *link.Conn) error {
					t.Error("it is driven")
					return nil
				}
			})
			greeted, failed := dial(t, web, row.token, row.change)
			select {
			case line := <-failed:
				if !strings.Contains(line, row.want) {
					t.Errorf("the runner was told %q, want %q", line, row.want)
				}
			case <-greeted:
				t.Error("it was let in")
			}
		})
	}
}

func TestRequestsThatAreNoRunners(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	web, _ := serveRunners(t, &registry{token: hash}, nil)
	for _, row := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"nothing", nil, http.StatusUnauthorized},
		{"a page of a browser", http.Header{"Authorization": {"Bearer " + token}, "Origin": {web.URL}}, http.StatusForbidden},
		{"two tokens", http.Header{"Authorization": {"Bearer " + token, "Bearer " + token}}, http.StatusUnauthorized},
		{"another scheme", http.Header{"Authorization": {"Basic " + token}}, http.StatusUnauthorized},
		{"a cookie", http.Header{"Cookie": {"token=" + token}}, http.StatusUnauthorized},
		{"the hash of a token", http.Header{"Authorization": {"Bearer sayso_runner_" + base64.RawURLEncoding.EncodeToString(hash[:])}}, http.StatusUnauthorized},
		{"no upgrade", http.Header{"Authorization": {"Bearer " + token}}, http.StatusUpgradeRequired},
	} {
		t.Run(row.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+runner.Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = row.header
			answer, err := web.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != row.want {
				t.Errorf("got %s, want %d", answer.Status, row.want)
			}
		})
	}
	web.Client().CloseIdleConnections()
}

func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		server, pin string
		ok          bool
	}{
		{"https://sayso.example.org", "", true},
		{"https://sayso.example.org/below", "", true},
		{"http://127.0.0.1:8787", "", true},
		{"http://localhost:8787", "", true},
		{"https://h", "sha256:" + strings.Repeat("aB", 32), true},
		{"https://h", "sha256:" + base64.StdEncoding.EncodeToString(make([]byte, 32)), true},
		{"http://sayso.example.org", "", false},
		{"http://127.0.0.1:8787", "sha256:" + strings.Repeat("ab", 32), false}, // it would check nothing
		{"wss://sayso.example.org", "", false},
		{"https://name:secret@h", "", false},
		{"https://h?token=1", "", false},
		{"sayso.example.org", "", false},
		{"", "", false},
		{"https://h", "sha256:abcd", false},
		{"https://h", strings.Repeat("ab", 32), false},
		{"https://h", "sha1:" + strings.Repeat("ab", 32), false},
	} {
		_, err := runner.NewProgram(runner.ProgramOptions{
			Servers: []string{row.server}, Pin: row.pin, Log: quiet,
			Token:   func() (string, error) { return "", nil },
			Hello:   func(context.Context) (runner.Hello, error) { return runner.Hello{}, nil },
			Greeted: func(context.Context, runner.Welcome, *link.Conn) error { return nil },
			Begin:   func(runner.Welcome) (runner.Serve, func()) { return nil, func() {} },
		})
		if (err == nil) != row.ok {
			t.Errorf("%s with %q: %v", row.server, row.pin, err)
		}
	}
}

// disk is an interface whose methods travel.
type disk interface {
	Make(ctx context.Context, dir string) error
	List(ctx context.Context, dir string, depth int) ([]string, map[string]int64, error)
	Now(ctx context.Context) (int, error)
}

type localDisk struct{ made []string }

func (d *localDisk) Make(_ context.Context, dir string) error {
	if dir == "" {
		return errNoName
	}
	d.made = append(d.made, dir)
	return nil
}

func (d *localDisk) List(_ context.Context, dir string, depth int) ([]string, map[string]int64, error) {
	return []string{dir + "/a"}, map[string]int64{"a": int64(depth)}, nil
}

func (d *localDisk) Now(ctx context.Context) (int, error) { return 7, ctx.Err() }

var errNoName = errors.New("no name")

// remoteDisk is the other side.
type remoteDisk struct{ c *link.Conn }

func (r remoteDisk) Make(ctx context.Context, dir string) error {
	return runner.Invoke(ctx, r.c, "Make", []any{dir})
}

func (r remoteDisk) List(ctx context.Context, dir string, depth int) (names []string, sizes map[string]int64, err error) {
	err = runner.Invoke(ctx, r.c, "List", []any{dir, depth}, &names, &sizes)
	return names, sizes, err
}

func (r remoteDisk) Now(ctx context.Context) (n int, err error) {
	err = runner.Invoke(ctx, r.c, "Now", []any{}, &n)
	return n, err
}

func TestMethodsTravel(t *testing.T) {
	t.Parallel()
	here := &localDisk{}
	methods, err := runner.MethodsOf[disk](here)
	if err != nil {
		t.Fatal(err)
	}
	codes := []link.ErrorCode{{Code: "no_name", Err: errNoName}}
	a, b := net.Pipe()
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		c, err := link.Greet(ctx, a, "hello", nil, link.Options{Serve: methods.Serve, Errors: codes})
		if err == nil {
			_ = c.Run(ctx) // until cancel
		}
	})
	c, err := link.Accept(ctx, b, func(context.Context, json.RawMessage) (any, error) { return nil, nil }, link.Options{Errors: codes})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = c.Run(ctx) })
	var d disk = remoteDisk{c}
	if err := d.Make(ctx, "/x"); err != nil || len(here.made) != 1 || here.made[0] != "/x" {
		t.Errorf("made %q, %v", here.made, err)
	}
	if err := d.Make(ctx, ""); !errors.Is(err, errNoName) {
		t.Errorf("without a name: %v", err)
	}
	names, sizes, err := d.List(ctx, "/y", 3)
	if err != nil || len(names) != 1 || names[0] != "/y/a" || sizes["a"] != 3 {
		t.Errorf("listed %q %v, %v", names, sizes, err)
	}
	if n, err := d.Now(ctx); n != 7 || err != nil {
		t.Errorf("now %d, %v", n, err)
	}
	if err := runner.Invoke(ctx, c, "Remove", nil); !errors.Is(err, link.ErrUnknown) {
		t.Errorf("a method that there is not: %v", err)
	}
	if err := runner.Invoke(ctx, c, "List", []any{1}); err == nil {
		t.Error("an argument of another type was taken")
	}
}

func TestMethodsThatCannotTravel(t *testing.T) {
	t.Parallel()
	check := func(_ runner.Methods, err error) {
		t.Helper()
		if err == nil {
			t.Error("it was taken")
		}
	}
	check(runner.MethodsOf[interface{ Close() error }](nil))
	check(runner.MethodsOf[interface{ Get(context.Context) string }](nil))
	check(runner.MethodsOf[interface {
		Each(ctx context.Context, f func(string)) error
	}](nil))
	check(runner.MethodsOf[interface {
		Open(ctx context.Context) (io.Reader, error)
	}](nil))
	check(runner.MethodsOf[interface {
		Put(ctx context.Context, v struct{ hidden int }) error
	}](nil))
	check(runner.MethodsOf[interface {
		Put(ctx context.Context, v struct {
			Hidden int `json:"-"`
		}) error
	}](nil))
}
