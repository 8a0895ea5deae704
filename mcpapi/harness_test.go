package mcpapi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
	"github.com/sayso-dev/sayso/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type accounts = account.Store

// memory is what the server needs of a store and a directory, without a disk.
type memory struct {
	*pendingtest.Store
	accounts // only what is asked about agents is there

	mu         sync.Mutex
	sessions   map[string]session.Session
	tokens     []account.AgentToken
	tokenDelay time.Duration // of a look at a token
}

func newMemory() *memory {
	return &memory{Store: pendingtest.NewStore(), sessions: map[string]session.Session{}}
}

func (m *memory) Session(_ context.Context, id string) (session.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[id]
	if !ok {
		return session.Session{}, session.ErrNotFound
	}
	return s, nil
}

func (m *memory) SetLifecycle(_ context.Context, id string, l session.Lifecycle) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	s.Lifecycle = &l
	m.sessions[id] = s
	return nil
}

func (m *memory) AddAgentToken(_ context.Context, t account.AgentToken) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens = append(m.tokens, t)
	return nil
}

func (m *memory) AgentToken(_ context.Context, hash []byte, now time.Time) (account.AgentToken, error) {
	m.mu.Lock()
	delay := m.tokenDelay
	m.mu.Unlock()
	time.Sleep(delay)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if bytes.Equal(t.Hash, hash) && t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)) {
			return t, nil
		}
	}
	return account.AgentToken{}, account.ErrNotFound
}

func (m *memory) RevokeAgentTokens(_ context.Context, sessionID string, at time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.tokens {
		if m.tokens[i].SessionID == sessionID {
			m.tokens[i].RevokedAt = at
		}
	}
	return 0, nil
}

// notifier counts.
type notifier struct {
	mu       sync.Mutex
	notified map[string]int
}

func (b *notifier) Notify(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notified == nil {
		b.notified = map[string]int{}
	}
	b.notified[id]++
}

// harness is a server with everything below it, reached over pipes so that its time
// can be made up.
type harness struct {
	t         *testing.T
	memory    *memory
	directory *account.Directory
	notifier  *notifier
	registry  *pending.Registry
	server    *mcpapi.Server
	policy    mcpapi.Policy
	network   *network      // nil for a server alone
	log       *slog.Logger  // nil for none
	busy      time.Duration // how late a server that stops ends its calls
	dial      func() net.Conn
	close     func()
}

// inHarness runs a test in a bubble, with a harness in it.
func inHarness(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, memory: newMemory(), notifier: &notifier{}}
		h.directory = account.NewDirectory(h.memory)
		h.open()
		defer func() { h.close() }()
		test(t, h)
	})
}

// open starts a server over the store of the harness.
func (h *harness) open() {
	h.registry = pending.NewRegistry(h.memory, h.notifier)
	var err error
	h.server, err = mcpapi.New(mcpapi.Options{
		Requests: h.registry, Store: h.memory, Directory: h.directory, Notifier: h.notifier,
		Policy: func(context.Context, session.Session) mcpapi.Policy { return h.policy }, Version: "0.0.0-test",
		Log: cmp.Or(h.log, slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if h.network != nil {
		h.server.SetElsewhere(others{h.network, h})
		h.network.join(h)
	}
	pipes := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h.handler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(pipes) }()
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	run := h.server.Run
	if late := h.busy; late > 0 {
		run = func(ctx context.Context) error { return h.server.RunSlowly(ctx, late) }
	}
	go func() { ran <- run(ctx) }()
	synctest.Wait()
	h.dial = pipes.dial
	h.close = func() {
		if h.network != nil {
			h.network.leave(h)
		}
		stop()
		if err := <-ran; err != nil {
			h.t.Error(err)
		}
		server.Close()
		<-served
		time.Sleep(time.Second) // net/http lets a connection linger that it refused
		synctest.Wait()
	}
}

// restart is the next server after this one.
func (h *harness) restart() {
	h.close()
	h.open()
}

// pipes is a net.Listener without a network.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
}

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
	case <-p.closed:
		there.Close()
	}
	return here
}

// agent is a client with the token of a session.
type agent struct {
	h         *harness
	sessionID string
	secret    string
	version   string // of the protocol
	next      int    // JSON-RPC id
}

// agent makes a session of this kind with a token of this name.
func (h *harness) agent(kind session.Kind, name string) *agent {
	h.t.Helper()
	id := uuid.NewString()
	h.memory.mu.Lock()
	h.memory.sessions[id] = session.Session{SessionID: id, Kind: kind, Title: name}
	h.memory.mu.Unlock()
	secret, err := h.directory.MintAgent(h.t.Context(), id, name, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return &agent{h: h, sessionID: id, secret: secret, version: "2025-11-25"}
}

// calling is one call under way.
type calling struct {
	t      *testing.T
	id     int
	cut    context.CancelFunc
	done   chan struct{}
	status int
	header http.Header
	body   []byte
	// Of the response, when there is one.
	result   *toolResult
	rpcError string
	progress []float64
	err      error
}

type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError"`
}

// how changes a call before it goes out.
type how func(message map[string]any, h http.Header)

func meta(key string, value any) how {
	return func(m map[string]any, _ http.Header) {
		params := m["params"].(map[string]any)
		if params["_meta"] == nil {
			params["_meta"] = map[string]any{}
		}
		params["_meta"].(map[string]any)[key] = value
	}
}

func header(name, value string) how {
	return func(_ map[string]any, h http.Header) { h.Set(name, value) }
}

func withID(id any) how { return func(m map[string]any, _ http.Header) { m["id"] = id } }

// patient is a client that waits without limit, as "sayso mcp" does.
var patient = header(mcpapi.WaitsHeader, "yes")

var wantsProgress = meta("progressToken", "p1")

// call calls a tool with arguments as JSON.
func (a *agent) call(tool, arguments string, ways ...how) *calling {
	a.h.t.Helper()
	a.next++
	return a.send(map[string]any{"jsonrpc": "2.0", "id": a.next, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": json.RawMessage(arguments)}}, ways...)
}

// send posts one message.
func (a *agent) send(message map[string]any, ways ...how) *calling {
	a.h.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + a.secret}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {a.version}}
	for _, way := range ways {
		way(message, h)
	}
	body, err := json.Marshal(message)
	if err != nil {
		a.h.t.Fatal(err)
	}
	c := a.h.post(h, body)
	c.id, _ = message["id"].(int)
	synctest.Wait()
	return c
}

// post sends a body and takes in what comes back.
func (h *harness) post(header http.Header, body []byte) *calling {
	conn := h.dial()
	c := &calling{t: h.t, done: make(chan struct{}), cut: func() { conn.Close() }}
	go func() {
		defer close(c.done)
		defer conn.Close()
		c.err = c.exchange(conn, header, body)
	}()
	return c
}

func (c *calling) exchange(conn net.Conn, header http.Header, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	sent := make(chan error, 1)
	go func() { sent <- req.Write(conn) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		conn.Close()
		<-sent
		return err
	}
	defer resp.Body.Close()
	c.status, c.header = resp.StatusCode, resp.Header
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		c.body, err = io.ReadAll(resp.Body)
		return err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		c.body = []byte(data)
		var m struct {
			Method string      `json:"method"`
			Result *toolResult `json:"result"`
			Error  struct {
				Message string `json:"message"`
			} `json:"error"`
			Params struct {
				Progress float64 `json:"progress"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return err
		}
		if m.Method == "notifications/progress" {
			c.progress = append(c.progress, m.Params.Progress)
			continue
		}
		c.result, c.rpcError = m.Result, m.Error.Message
	}
	if c.result == nil && c.rpcError == "" && lines.Err() == nil {
		return io.ErrUnexpectedEOF
	}
	return lines.Err()
}

// over reports whether the call has ended.
func (c *calling) over() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// text is the text of the result, which must be there.
func (c *calling) text() string {
	c.t.Helper()
	<-c.done
	if c.err != nil || c.result == nil || len(c.result.Content) != 1 {
		c.t.Fatalf("got %v, status %d, result %+v, error %q, body %s", c.err, c.status, c.result, c.rpcError, c.body)
	}
	return c.result.Content[0].Text
}

// says expects a result.
func (c *calling) says(want string) {
	c.t.Helper()
	if got := c.text(); got != want || c.result.IsError {
		c.t.Fatalf("got %q (error: %v), want %q", got, c.result.IsError, want)
	}
}

// fails expects a result that is an error of the tool.
func (c *calling) fails(want string) {
	c.t.Helper()
	if got := c.text(); got != want || !c.result.IsError {
		c.t.Fatalf("got %q (error: %v), want the error %q", got, c.result.IsError, want)
	}
}

// ticket expects a ticket.
func (c *calling) ticket() string {
	c.t.Helper()
	var got struct{ Status, Ticket, Message string }
	if err := json.Unmarshal([]byte(c.text()), &got); err != nil || got.Status != "pending" || got.Ticket == "" ||
		!strings.Contains(got.Message, "ask_user_wait") || c.result.IsError {
		c.t.Fatalf("got %+v, %v; want a ticket", c.result, err)
	}
	return got.Ticket
}

// waits expects that a call has not ended.
func (c *calling) waits() {
	c.t.Helper()
	if c.over() {
		c.t.Fatalf("the call ended: %v, %d %s", c.err, c.status, c.body)
	}
}

// open is what the session asks now.
func (a *agent) open() []pending.Request {
	a.h.t.Helper()
	synctest.Wait()
	rows, err := a.h.registry.Open(a.h.t.Context(), a.sessionID)
	if err != nil {
		a.h.t.Fatal(err)
	}
	return rows
}

// one is the one question that the session asks now.
func (a *agent) one() pending.Request {
	a.h.t.Helper()
	rows := a.open()
	if len(rows) != 1 {
		a.h.t.Fatalf("%d questions are open, want 1", len(rows))
	}
	return rows[0]
}

var ada = pending.Actor{UserID: "u1", Name: "Ada"}

// answer answers a question.
func (a *agent) answer(r pending.Request, responses ...pending.Response) {
	a.h.t.Helper()
	_, err := a.h.registry.Answer(a.h.t.Context(), pending.Submission{
		RequestID: r.RequestID, SessionID: r.SessionID, RequestType: r.RequestType, Actor: ada, Responses: responses,
	})
	if err != nil {
		a.h.t.Fatal(err)
	}
	synctest.Wait()
}

// decide allows or denies.
func (a *agent) decide(r pending.Request, d pending.Decision, message string, input json.RawMessage) {
	a.h.t.Helper()
	_, err := a.h.registry.Answer(a.h.t.Context(), pending.Submission{
		RequestID: r.RequestID, SessionID: r.SessionID, RequestType: r.RequestType, Actor: ada, Decision: d, Message: message, UpdatedInput: input,
	})
	if err != nil {
		a.h.t.Fatal(err)
	}
	synctest.Wait()
}

// answerAfter answers the one open question after some time, from a goroutine of
// its own.
func (a *agent) answerAfter(d time.Duration, response pending.Response) {
	go func() {
		time.Sleep(d)
		rows, err := a.h.registry.Open(context.Background(), a.sessionID)
		if err != nil || len(rows) != 1 {
			a.h.t.Errorf("%d questions are open, %v", len(rows), err)
			return
		}
		if _, err := a.h.registry.Answer(context.Background(), pending.Submission{RequestID: rows[0].RequestID, SessionID: a.sessionID,
			RequestType: rows[0].RequestType, Actor: ada, Responses: []pending.Response{response}}); err != nil {
			a.h.t.Error(err)
		}
	}()
}

func chosen(id string, values ...string) pending.Response {
	return pending.Response{ID: id, Values: values}
}

func written(id, text string) pending.Response { return pending.Response{ID: id, Text: text} }

// stored is a request as it stands.
func (h *harness) stored(id string) pending.Request {
	h.t.Helper()
	r, err := h.memory.Request(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func labels(q pending.Question) (list []string) {
	for _, o := range q.Options {
		list = append(list, o.Label)
	}
	return list
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func number(i int) string { return strconv.Itoa(i) }

func lone(text string) string { return fmt.Sprintf(`{"question":%q}`, text) }
