package runner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/runner/link"
)

const (
	// helloTimeout bounds the time between accepting a runner's connection and its hello.
	helloTimeout = 5 * time.Second
	// maxCallsOfRunner bounds the concurrent calls of one runner, which makes few.
	maxCallsOfRunner = 16
	// maxArgsOfRunner bounds the arguments of one call, in bytes. The largest are the inventory of
	// several thousand processes.
	maxArgsOfRunner = 4 << 20
	// recheckInterval is how long a connection may outlive its token if another program revokes it.
	recheckInterval = 3 * time.Second
)

// A Registry authenticates the runners of a server.
type Registry interface {
	// FindToken returns the runner whose token has this hash, or [ErrToken].
	FindToken(ctx context.Context, hash [sha256.Size]byte) (runnerID string, err error)
	// TakeLease takes the lease of a runner after its hello, even if another server holds it. It
	// returns [ErrInstallation] or [ErrRemoved] to refuse the runner.
	TakeLease(ctx context.Context, runnerID string, h Hello) (Welcome, error)
}

// EndpointOptions configures an Endpoint.
type EndpointOptions struct {
	Registry Registry
	// Drive uses a runner until ctx ends, which happens when the connection ends. If Drive returns
	// an error earlier, the connection is closed with that error. When a runner dials again, Drive is
	// called only after the previous Drive for that runner has returned.
	Drive func(ctx context.Context, w Welcome, h Hello, c *link.Conn) error
	// Serve answers the calls of runners.
	Serve func(ctx context.Context, runnerID string, call *link.Call) (any, error)
	// Codes lists the errors that calls may return.
	Codes []link.ErrorCode
	Log   *slog.Logger
}

// An Endpoint accepts connections from runners. It is an [http.Handler] for [Path], to be served
// behind the checks of host and peer.
type Endpoint struct {
	o EndpointOptions

	mu        sync.Mutex
	running   bool
	connected map[string]*connected // by runner id
	serving   sync.WaitGroup
}

// connected is the connection of one runner.
type connected struct {
	conn  *link.Conn
	token [sha256.Size]byte // its hash
	done  chan struct{}     // closed when this connection and all earlier ones are out of use
}

// NewEndpoint returns an Endpoint, which accepts runners only while Run runs.
func NewEndpoint(o EndpointOptions) (*Endpoint, error) {
	if o.Registry == nil || o.Drive == nil || o.Serve == nil || o.Log == nil {
		return nil, errors.New("runner: an endpoint needs a registry, functions that drive and serve, and a log")
	}
	return &Endpoint{o: o, connected: map[string]*connected{}}, nil
}

// Run accepts runners until ctx ends. Then it closes their connections with [ErrGoingAway], so that
// they dial another server, and returns when all connections have ended.
func (e *Endpoint) Run(ctx context.Context) error {
	e.mu.Lock()
	e.running = true
	e.mu.Unlock()
	ticker := time.NewTicker(recheckInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			e.Recheck(ctx)
		}
	}
	e.mu.Lock()
	e.running = false
	for _, c := range e.connected {
		c.conn.Close(ErrGoingAway)
	}
	e.mu.Unlock()
	e.serving.Wait()
	return nil
}

// Recheck closes the connections whose token no longer belongs to their runner.
func (e *Endpoint) Recheck(ctx context.Context) {
	e.mu.Lock()
	all := maps.Clone(e.connected)
	e.mu.Unlock()
	for runnerID, c := range all {
		now, err := e.o.Registry.FindToken(ctx, c.token)
		if errors.Is(err, ErrToken) || err == nil && now != runnerID {
			c.conn.Close(ErrToken)
		}
	}
}

// ServeHTTP serves a runner until its connection ends.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	running := e.running
	if running {
		e.serving.Add(1)
		defer e.serving.Done()
	}
	e.mu.Unlock()
	if !running {
		http.Error(w, ErrGoingAway.Error(), http.StatusServiceUnavailable)
		return
	}
	runnerID, token, status, err := e.identify(r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived:  noPong,
	})
	if err != nil {
		return // Accept has answered
	}
	if err := e.serve(r.Context(), runnerID, token, socket); err != nil {
		e.o.Log.WarnContext(r.Context(), "the connection of a runner ended", "runner_id", runnerID, "error", err)
	}
}

// noPong keeps the WebSocket library from answering pings; see [link.WebSocket].
func noPong(context.Context, []byte) bool { return false }

// identify returns the id of the runner whose token a request carries, and the token's hash. If it
// fails, status is the HTTP status to answer with.
func (e *Endpoint) identify(r *http.Request) (runnerID string, hash [sha256.Size]byte, status int, err error) {
	if len(r.Header.Values("Origin")) > 0 { // a page in a browser
		return "", hash, http.StatusForbidden, errors.New("a runner sends no origin")
	}
	fields := r.Header.Values("Authorization")
	if len(fields) != 1 {
		return "", hash, http.StatusUnauthorized, ErrToken
	}
	token, ok := strings.CutPrefix(fields[0], "Bearer ")
	if !ok || !looksLikeToken(token) {
		return "", hash, http.StatusUnauthorized, ErrToken
	}
	hash = HashToken(token)
	runnerID, err = e.o.Registry.FindToken(r.Context(), hash)
	switch {
	case errors.Is(err, ErrToken):
		return "", hash, http.StatusUnauthorized, ErrToken
	case err != nil:
		e.o.Log.WarnContext(r.Context(), "cannot look up the token of a runner", "error", err)
		return "", hash, http.StatusServiceUnavailable, errors.New("the server cannot look up the token")
	}
	return runnerID, hash, 0, nil
}

// serve serves the connection of an authenticated runner.
func (e *Endpoint) serve(ctx context.Context, runnerID string, token [sha256.Size]byte, socket *websocket.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var hello Hello
	var welcome Welcome
	greeting, stop := context.WithTimeout(ctx, helloTimeout)
	defer stop()
	conn, err := link.Accept(greeting, link.WebSocket(ctx, socket), func(ctx context.Context, text json.RawMessage) (any, error) {
		err := json.Unmarshal(text, &hello)
		if err != nil {
			return nil, fmt.Errorf("%w: hello: %w", link.ErrProtocol, err)
		}
		welcome, err = e.o.Registry.TakeLease(ctx, runnerID, hello)
		return welcome, err
	}, link.Options{
		Serve:    func(ctx context.Context, call *link.Call) (any, error) { return e.o.Serve(ctx, runnerID, call) },
		Errors:   Errors(e.o.Codes),
		MaxCalls: maxCallsOfRunner, MaxArgs: maxArgsOfRunner,
	})
	if err != nil {
		return err
	}
	here := &connected{conn: conn, token: token, done: make(chan struct{})}
	former := e.join(runnerID, here)
	defer func() {
		e.leave(runnerID, here)
		if former != nil {
			<-former.done
		}
		close(here.done)
	}()

	var driving sync.WaitGroup
	defer driving.Wait()
	defer cancel()
	driving.Go(func() {
		if former != nil { // join is closing it, and its lease is outdated
			select {
			case <-former.done:
			case <-ctx.Done():
				return
			}
		}
		if err := e.o.Drive(ctx, welcome, hello, conn); err != nil && ctx.Err() == nil {
			conn.Close(err)
		}
	})
	return conn.Run(ctx)
}

// join records a connection as the current one of its runner, and closes and returns the previous
// one, or nil.
func (e *Endpoint) join(runnerID string, here *connected) (former *connected) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if former = e.connected[runnerID]; former != nil {
		former.conn.Close(ErrReplaced)
	}
	e.connected[runnerID] = here
	if !e.running {
		here.conn.Close(ErrGoingAway)
	}
	return former
}

func (e *Endpoint) leave(runnerID string, here *connected) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.connected[runnerID] == here {
		delete(e.connected, runnerID)
	}
}
