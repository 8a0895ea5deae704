package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// AdapterStore is the part of the session store that the adapters use.
type AdapterStore interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	CreateSession(ctx context.Context, s session.Session) error
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	PutItems(ctx context.Context, sessionID string, items []session.Item) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
}

// AdapterRequests reads and withdraws requests; see pending.Registry.
type AdapterRequests interface {
	Open(ctx context.Context, sessionID string) ([]pending.Request, error)
	Request(ctx context.Context, sessionID, requestID string) (pending.Request, error)
	Withdraw(ctx context.Context, requestID, reason string) error
}

// AdapterOptions configures [Adapters]. All fields are required.
type AdapterOptions struct {
	Store     AdapterStore
	Requests  AdapterRequests
	Directory *account.Directory
	Notifier  session.Notifier
	Log       *slog.Logger
}

// Adapters serves askers that do not speak MCP: the hook of a claude in somebody's terminal,
// and PromptManager. They poll: a question stays open as long as its asker keeps returning for
// the answer.
//
// It is an http.Handler for [Adapters.Paths], called after the host was checked. It accepts
// questions while [Server.Run] runs.
type Adapters struct {
	o         AdapterOptions
	policy    func(context.Context, session.Session) Policy
	questions *questions
	relays    relays
	paths     map[string]adapterRoute
}

type adapterRoute struct {
	method string
	serve  func(w http.ResponseWriter, r *http.Request) error
}

// Adapters returns a handler for the routes other than MCP. Its questions belong to the server,
// which must run. The error names a missing option.
func (s *Server) Adapters(o AdapterOptions) (*Adapters, error) {
	if err := options.Check("mcpapi", o); err != nil {
		return nil, err
	}
	a := &Adapters{o: o, policy: s.o.Policy, questions: s.questions, relays: relays{streams: map[string]stream{}, turns: map[string]chan struct{}{}}}
	a.paths = map[string]adapterRoute{
		"/hook/ask":              {http.MethodPost, a.postHookAsk},
		"/hook/gone":             {http.MethodPost, a.postHookGone},
		"/hook/notice":           {http.MethodPost, a.postHookNotice},
		"/claude/relay-question": {http.MethodPost, a.postRelay},
		"/claude/poll-answer":    {http.MethodGet, a.getPoll},
	}
	return a, nil
}

// Paths lists the paths that the adapters serve.
func (a *Adapters) Paths() []string {
	paths := make([]string, 0, len(a.paths))
	for path := range a.paths {
		paths = append(paths, path)
	}
	return paths
}

const (
	// adapterBody bounds a request body, in bytes: a tool's input may contain a whole file.
	adapterBody    = 8 << 20
	adapterTimeout = time.Minute
	// maxPoll bounds how long one request waits for an answer. Askers poll again.
	maxPoll = 55 * time.Second
)

// refusal is an error that an asker receives.
type refusal struct {
	status        int
	code, message string
}

func (e *refusal) Error() string { return e.message }

// ServeHTTP answers one request.
func (a *Adapters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := a.serve(w, r)
	if err == nil {
		return
	}
	var ref *refusal
	if !errors.As(err, &ref) {
		ref = &refusal{http.StatusServiceUnavailable, "unavailable", "The server cannot do this now. Try again in a moment."}
		w.Header().Set("Retry-After", "1")
		if r.Context().Err() == nil && !errors.Is(err, errStopping) {
			a.o.Log.ErrorContext(r.Context(), "a question from an external agent failed", "path", r.URL.Path, "error", err)
		}
	}
	if ref.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, ref.status, map[string]any{"error": map[string]string{"code": ref.code, "message": ref.message}})
}

func (a *Adapters) serve(w http.ResponseWriter, r *http.Request) error {
	route, ok := a.paths[r.URL.Path]
	switch {
	case !ok:
		return &refusal{http.StatusNotFound, "not_found", "There is nothing at this address."}
	case len(r.Header.Values("Origin")) > 0 || r.Header.Get("Sec-Fetch-Site") != "":
		// Askers are not browsers, so a page has made this request.
		return &refusal{http.StatusForbidden, "wrong_origin", "Pages cannot use this address."}
	case r.Method != route.method:
		w.Header().Set("Allow", route.method)
		return &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "This address does not support this method."}
	}
	if !a.questions.beginCall() {
		return errStopping
	}
	defer a.questions.endCall()
	if r.ContentLength > adapterBody {
		return tooLarge()
	}
	if r.ContentLength != 0 {
		// Only test transports lack deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(adapterTimeout))
	}
	r.Body = http.MaxBytesReader(w, r.Body, adapterBody)
	return route.serve(w, r)
}

// await opens a request and blocks until it is resolved, wait has passed, the asker disconnects
// or mayAsk, which it calls every tokenCheckInterval, returns a refusal. It returns the current
// row. A request that is still open stays open for [AskerGone], until its asker returns.
func (a *Adapters) await(r *http.Request, req pending.Request, wait time.Duration, mayAsk func() error) (pending.Request, error) {
	ctx := r.Context()
	now, err := a.o.Requests.Request(ctx, req.SessionID, req.RequestID)
	switch {
	case err == nil && (now.InputHash != pending.HashInput(req.ToolInput) || now.ToolName != req.ToolName):
		return now, &refusal{http.StatusConflict, "conflict", "This id belongs to another question."}
	case err == nil && now.Status.Final():
		return now, nil // delivered again
	case err != nil && !errors.Is(err, pending.ErrNotFound):
		return now, err
	}
	known := err == nil
	h, err := a.questions.join(req, !known)
	switch {
	case errors.Is(err, errTooMany):
		return now, &refusal{http.StatusTooManyRequests, "too_many", fmt.Sprintf("%d questions wait for an answer already. Wait for one of them.", MaxOpen)}
	case errors.Is(err, errTooFast):
		return now, &refusal{http.StatusTooManyRequests, "too_many", fmt.Sprintf("There were more than %d questions in a minute. Wait before you ask again.", MaxPerMinute)}
	case err != nil:
		return now, err
	}
	defer a.questions.pause(h)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	look := time.NewTicker(tokenCheckInterval)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-h.done:
			waiting = false
		case <-look.C:
			var ref *refusal
			if err := mayAsk(); errors.As(err, &ref) {
				return now, err
			}
		case <-timer.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	select {
	case <-h.done:
		if errors.Is(h.err, pending.ErrConflict) {
			return now, &refusal{http.StatusConflict, "conflict", "This id belongs to another question."}
		}
		if h.row.Status.Final() {
			return h.row, nil
		}
		if h.err != nil && !errors.Is(h.err, pending.ErrDetached) {
			return h.row, h.err
		}
	default:
	}
	return a.o.Requests.Request(context.WithoutCancel(ctx), req.SessionID, req.RequestID)
}

// pause ends the wait of a poll; the asker is expected to return.
func (d *questions) pause(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	d.expectReturn(h, AskerGone)
}

// delivered records that the asker got the answer. An asker that repeats the question gets the
// answer again.
func (a *Adapters) delivered(ctx context.Context, row pending.Request) {
	if row.Delivery != pending.Queued {
		return
	}
	if err := a.o.Store.SetDelivery(context.WithoutCancel(ctx), row.RequestID, pending.Delivered); err != nil {
		a.o.Log.ErrorContext(ctx, "cannot record that an answer was delivered", "error", err)
	}
}

// agent returns the agent token of an HTTP request.
func (a *Adapters) agent(r *http.Request) (account.AgentToken, error) {
	unknown := &refusal{http.StatusUnauthorized, "not_signed_in", "This token is unknown here, or it was revoked."}
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return account.AgentToken{}, unknown
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return account.AgentToken{}, unknown
	}
	token, err := a.o.Directory.Agent(r.Context(), strings.TrimSpace(secret))
	if errors.Is(err, account.ErrRefused) {
		return account.AgentToken{}, unknown
	}
	return token, err
}

// readJSON decodes a body. It ignores unknown fields, including those that differ in case,
// because an asker may be newer than this server. It refuses duplicate fields.
func readJSON(w http.ResponseWriter, r *http.Request, dst any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the body as application/json."}
	}
	data, err := io.ReadAll(r.Body)
	// A read deadline that passes while the asker waits would look like a disconnect.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case err != nil:
		return badRequest("The body did not arrive completely.")
	}
	unexpected := func(err error) error {
		return badRequest("The body is not the JSON that is expected here: " + err.Error() + ".")
	}
	if err := pending.CheckJSON(data); err != nil {
		return unexpected(err)
	}
	fields, err := parseObject(data)
	if err != nil {
		return unexpected(err)
	}
	// encoding/json would take "Question" for "question".
	t := reflect.TypeOf(dst).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if !fields.has(name) {
			continue
		}
		if err := json.Unmarshal(fields[name], reflect.ValueOf(dst).Elem().Field(i).Addr().Interface()); err != nil {
			return unexpected(fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

func badRequest(message string) error { return &refusal{http.StatusBadRequest, "invalid", message} }

func tooLarge() error {
	return &refusal{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("The body is larger than %d MB.", adapterBody>>20)}
}

func reply(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcpapi: encode a reply: %v", err))
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // an asker that did not get it asks again
}
