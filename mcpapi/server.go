// Package mcpapi is the API for agents: MCP over streamable HTTP, described in
// docs/integrating. Agents can use it to ask people questions, with the tools of each system that
// sayso replaces, but not to answer any.
//
// # Who asks
//
// Every call carries the token of an agent, which is bound to one session. Its questions
// belong to that session, and only calls with tokens of that session get the answers.
//
// # How long a question lasts
//
// A question is open while one of its calls waits. If the connection breaks, it stays open
// for [AskerGone], so that the repeated call finds it and its answer; if the call is
// cancelled, it is withdrawn at once. A client that would abort a long call gets a ticket in
// time and continues with ask_user_wait within [TicketGone]. If the asker does not return,
// the question is withdrawn. If it returns later with its ticket, the question is opened
// again. With several servers, an asker may repeat a call on any of them, so a server asks the
// others before it withdraws a question; see [Elsewhere].
//
// # Concurrency
//
// [Server] is an http.Handler. [Server.Run] owns all open questions; before and after it
// runs, calls get 503.
package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Times of a wait. Some clients abort a call after 60 s without progress, and after about 350
// s in any case.
const (
	ProgressEvery  = 10 * time.Second  // between progress notifications, if the client wants them
	TicketSilent   = 45 * time.Second  // after this, a call without progress gets a ticket
	TicketProgress = 300 * time.Second // after this, a call with progress gets a ticket
	// AskerGone, TicketGone and ServerGone are how long a question waits for its asker to
	// return: after a call or a poll that ended without an answer, after a ticket, and after
	// a start of the server.
	AskerGone  = 10 * time.Second
	TicketGone = 60 * time.Second
	ServerGone = 60 * time.Second
	// UnknownGone is how much longer a question waits while another server of the database does
	// not answer whether the asker waits there. It is longer than a restart of all servers takes.
	UnknownGone = 10 * time.Minute
	// AnswerKept is how long a repeated call gets an answer that was not delivered, if the call
	// has neither a key nor a tool use id.
	AnswerKept = 10 * time.Minute
)

// earlyProgress are the delays of the first notifications of progress after the immediate
// one; then [ProgressEvery] applies. They are for clients that abort calls within seconds
// without progress.
var earlyProgress = [...]time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second}

// Limits of one session.
const (
	MaxOpen      = 10 // open questions
	MaxPerMinute = 30 // new questions
)

// WaitsHeader, with any value, declares that the caller waits without limit, so that it gets no
// ticket. "sayso mcp" sends it.
const WaitsHeader = "Sayso-Waits"

// KeyHeader is the client's own key of a call: calls with the same key share a question and
// its answer.
const KeyHeader = "Idempotency-Key"

const (
	bodyLimit   = 1 << 20
	bodyTimeout = 15 * time.Second
	// tokenCheckInterval is how often a waiting call checks its token, so that a revoked
	// token ends it within a second.
	tokenCheckInterval = 900 * time.Millisecond
	// writeTimeout bounds the writing of one message.
	writeTimeout = 30 * time.Second
)

// Requests asks and reads requests; see pending.Registry.
type Requests interface {
	Ask(ctx context.Context, req pending.Request) (pending.Request, error)
	Open(ctx context.Context, sessionID string) ([]pending.Request, error)
	Request(ctx context.Context, sessionID, requestID string) (pending.Request, error)
}

// Store is the part of the store that this package uses itself.
type Store interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	SetLifecycle(ctx context.Context, sessionID string, l session.Lifecycle) error
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	UnrecordedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	PutItems(ctx context.Context, sessionID string, items []session.Item) error
}

// Policy applies to the questions of one session.
type Policy struct {
	Disabled bool // all questions are refused
	// Timeout is the deadline of a question in dialects without their own; 0 for none.
	Timeout time.Duration
	// BareAnswer makes ask_question return the text itself, not {answer}.
	BareAnswer bool
}

// Options configures a [Server]. All fields are required unless they say otherwise.
type Options struct {
	Requests  Requests
	Store     Store
	Directory *account.Directory
	// Notifier is called for changes that this package makes itself.
	Notifier session.Notifier
	// Policy returns the policy for the questions of a session; nil for the zero Policy.
	Policy  func(context.Context, session.Session) Policy `optional:"true"`
	Version string
	Log     *slog.Logger
}

// Server serves MCP. It is an http.Handler for the path /mcp, called after host and origin were
// checked.
type Server struct {
	o         Options
	questions *questions
	calls     *calls
	handler   http.Handler
}

// New returns a server, which accepts calls while Run runs. The error names a missing option.
func New(o Options) (*Server, error) {
	if err := options.Check("mcpapi", o); err != nil {
		return nil, err
	}
	s := &Server{o: o, questions: newQuestions(o.Requests, o.Log), calls: newCalls()}
	s.questions.ended = s.writeRecord
	server := mcp.NewServer(&mcp.Implementation{Name: "sayso", Title: "sayso", Version: o.Version}, &mcp.ServerOptions{
		Instructions: "Ask the person who watches over this session. A call blocks until a person has answered.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	server.AddReceivingMiddleware(rejectUndeclared)
	for _, t := range s.tools() {
		server.AddTool(t.tool, t.handler(s))
	}
	// Stateless, without MCP sessions: durable state is in the store, and version 2026-07-28 of the
	// protocol has no sessions.
	s.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: bodyLimit,
		DisableLocalhostProtection: true, // the previous handler checks the host
	})
	return s, nil
}

// rejectUndeclared refuses methods that this server does not declare. The SDK would answer
// with empty lists.
func rejectUndeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		for _, area := range []string{"prompts/", "resources/", "completion/"} {
			if strings.HasPrefix(method, area) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + strconv.Quote(method)}
			}
		}
		return next(ctx, method, req)
	}
}

// writeRecord writes the transcript record of an ended request of an external agent, because
// no other component writes the transcripts of such sessions.
func (s *Server) writeRecord(ctx context.Context, row pending.Request) {
	err := func() error {
		ses, err := s.o.Store.Session(ctx, row.SessionID)
		if err != nil || ses.Kind == session.Ours {
			return err
		}
		ended, err := s.o.Store.UnrecordedRequests(ctx, row.SessionID)
		if err != nil || len(ended) == 0 {
			return err
		}
		items := make([]session.Item, 0, len(ended))
		for _, r := range ended {
			items = append(items, session.ResolvedItem(r, "", r.Resolution.At))
		}
		return s.o.Store.PutItems(ctx, row.SessionID, items)
	}()
	switch {
	case errors.Is(err, session.ErrNotFound): // deleted
	case err != nil:
		// The next request that ends writes this record as well.
		s.o.Log.ErrorContext(ctx, "cannot record how a question of an agent ended", "request_id", row.RequestID, "error", err)
	default:
		s.o.Notifier.Notify(row.SessionID)
	}
}

// SetElsewhere sets the access to the askers of other servers. Call it before Run.
func (s *Server) SetElsewhere(e Elsewhere) { s.questions.elsewhere = e }

// GracePeriods returns, by request, how long the questions must at least stay open for askers that
// wait on this server, or have left it shortly before. It omits questions without such an asker. It
// does not block.
func (s *Server) GracePeriods(requestIDs []string) map[string]time.Duration {
	return s.questions.gracePeriods(requestIDs)
}

// Run accepts calls until ctx ends and returns after the last one has ended. Open questions
// stay open for the next server; their callers are disconnected.
func (s *Server) Run(ctx context.Context) error { return s.questions.Run(ctx, s.calls.abortAll) }

// ServeHTTP answers one HTTP request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, secret, ok := s.authenticate(w, r)
	if !ok {
		return
	}
	c := &call{token: token, secret: secret}
	ses, err := s.o.Store.Session(r.Context(), token.SessionID)
	switch {
	case errors.Is(err, session.ErrNotFound):
		unauthorized(w)
		return
	case err != nil:
		s.unavailable(w, r, err)
		return
	}
	c.session = ses
	c.unlimited = r.Header.Get(WaitsHeader) != ""
	if r.Method == http.MethodPost {
		if !s.readBody(w, r, c) {
			return
		}
		if name := nameOf(token.TokenID, c.cancelled); c.method == "notifications/cancelled" && s.calls.cancel(name) {
			s.questions.cancel(name)
		}
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	c.ctx, c.end, c.gate = ctx, end, &gatedWriter{ResponseWriter: w, ctx: ctx, end: end}
	defer s.calls.add(c)() // before beginCall, so that the end of Run finds every call that it counts
	if !s.questions.beginCall() {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "unavailable", "The server is starting or going away. Try again in a moment.")
		return
	}
	defer s.questions.endCall()

	s.handler.ServeHTTP(c.gate, r.WithContext(context.WithValue(ctx, callKey{}, c)))
	if c.answered != "" && c.gate.flushed.Load() {
		if err := s.o.Store.SetDelivery(context.WithoutCancel(ctx), c.answered, pending.Delivered); err != nil {
			s.o.Log.ErrorContext(ctx, "cannot record that an answer was delivered", "request_id", c.answered, "error", err)
		}
	}
	if c.gate.closed.Load() {
		// Break the response off, so that the client knows that the answer is still to come.
		panic(http.ErrAbortHandler)
	}
}

// authenticate returns the token of a request.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (token account.AgentToken, secret string, ok bool) {
	if values := r.Header.Values("Authorization"); len(values) == 1 {
		scheme, rest, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			secret = strings.TrimSpace(rest)
		}
	}
	if secret == "" {
		unauthorized(w)
		return account.AgentToken{}, "", false
	}
	token, err := s.o.Directory.Agent(r.Context(), secret)
	switch {
	case errors.Is(err, account.ErrRefused):
		unauthorized(w)
		return account.AgentToken{}, "", false
	case err != nil:
		s.unavailable(w, r, err)
		return account.AgentToken{}, "", false
	}
	return token, secret, true
}

// readBody reads the whole body and parses what is needed before the SDK runs.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, c *call) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // only test transports lack deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, "too_large", "The body is larger than the maximum of "+strconv.Itoa(bodyLimit>>10)+" KB.")
		return false
	case err != nil:
		refuse(w, http.StatusBadRequest, "bad_request", "The body did not arrive completely.")
		return false
	}
	// A read deadline that passes while the call waits would look like a disconnect.
	_ = control.SetReadDeadline(time.Time{})
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		refuse(w, http.StatusBadRequest, "bad_request", "This protocol no longer supports batches. Send one message.")
		return false
	}
	c.read(r.Header, body)
	if !idSurvivesSDK(c.id) {
		refuse(w, http.StatusBadRequest, "bad_request", "The id of a request must be a string or an integer of at most 53 bits.")
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return true
}

func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.o.Log.ErrorContext(r.Context(), "cannot serve an agent", "error", err)
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "unavailable", "The server cannot do this right now. Try again in a moment.")
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="sayso"`)
	refuse(w, http.StatusUnauthorized, "not_signed_in", "This needs a valid agent token. Create one with: sayso token --agent NAME")
}

// refuse writes an error in sayso's standard format.
func refuse(w http.ResponseWriter, status int, code, message string) {
	body, err := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	if err != nil {
		body = []byte(`{"error":{"code":"internal","message":""}}`) // strings can always be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
