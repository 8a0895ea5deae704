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

// AdapterStore is what the adapters read and write of sessions.
type AdapterStore interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	CreateSession(ctx context.Context, s session.Session) error
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	PutItems(ctx context.Context, sessionID string, items []session.Item) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
}

// AdapterRequests holds the questions that wait; see pending.Registry.
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

// Adapters are the routes of askers that speak no MCP: the hook of a claude that
// runs in somebody's terminal, and the PromptManager's. They poll: a question
// stays open while its asker comes back for the answer.
//
// It is an http.Handler for [Adapters.Paths], behind whatever checks hosts. It
// takes questions while [Server.Run] does.
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

// Adapters returns the routes beside MCP; their questions wait where those of the
// server do. The error names an option that is missing.
func (s *Server) Adapters(o AdapterOptions) (*Adapters, error) {
	if err := options.Check("mcpapi", o); err != nil {
		return nil, err
	}
	a := &Adapters{o: o, policy: s.o.Policy, questions: s.questions, relays: relays{streams: map[string]stream{}}}
	a.paths = map[string]adapterRoute{
		"/hook/ask":              {http.MethodPost, a.postHookAsk},
		"/hook/gone":             {http.MethodPost, a.postHookGone},
		"/hook/notice":           {http.MethodPost, a.postHookNotice},
		"/claude/relay-question": {http.MethodPost, a.postRelay},
		"/claude/poll-answer":    {http.MethodGet, a.getPoll},
	}
	return a, nil
}

// Paths are those that the adapters serve.
func (a *Adapters) Paths() []string {
	paths := make([]string, 0, len(a.paths))
	for path := range a.paths {
		paths = append(paths, path)
	}
	return paths
}

const (
	// adapterBody bounds what an asker may send, in bytes: a tool's input may carry
	// a whole file.
	adapterBody    = 8 << 20
	adapterTimeout = time.Minute
	// longestPoll bounds how long one request waits for an answer. Askers come back.
	longestPoll = 55 * time.Second
)

// refused is an error that an asker sees.
type refused struct {
	status        int
	code, message string
}

func (e *refused) Error() string { return e.message }

// ServeHTTP answers one request.
func (a *Adapters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := a.serve(w, r)
	if err == nil {
		return
	}
	var ref *refused
	if !errors.As(err, &ref) {
		ref = &refused{http.StatusServiceUnavailable, "unavailable", "The server cannot do this now. Try again in a moment."}
		w.Header().Set("Retry-After", "1")
		if r.Context().Err() == nil && !errors.Is(err, errStopping) {
			a.o.Log.ErrorContext(r.Context(), "a question of an outside asker failed", "path", r.URL.Path, "error", err)
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
		return &refused{http.StatusNotFound, "not_found", "There is nothing at this address."}
	case len(r.Header.Values("Origin")) > 0 || r.Header.Get("Sec-Fetch-Site") != "":
		// No browser asks here, so whatever a browser sends was made by a page.
		return &refused{http.StatusForbidden, "wrong_origin", "Pages cannot use this address."}
	case r.Method != route.method:
		w.Header().Set("Allow", route.method)
		return &refused{http.StatusMethodNotAllowed, "method_not_allowed", "This address does not take this method."}
	}
	if !a.questions.beginCall() {
		return errStopping
	}
	defer a.questions.endCall()
	if r.ContentLength > adapterBody {
		return tooLarge()
	}
	if r.ContentLength != 0 {
		// A transport without deadlines is none that strangers reach.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(adapterTimeout))
	}
	r.Body = http.MaxBytesReader(w, r.Body, adapterBody)
	return route.serve(w, r)
}

// await puts a request before people and waits for its end, at most so long, or
// until whoever asks hangs up or still fails: it says whether they may still ask.
// It returns the row as it then stands; one that is still open waits for the asker
// to come back.
func (a *Adapters) await(r *http.Request, req pending.Request, wait time.Duration, still func() error) (pending.Request, error) {
	ctx := r.Context()
	now, err := a.o.Requests.Request(ctx, req.SessionID, req.RequestID)
	switch {
	case err == nil && (now.InputHash != pending.HashInput(req.ToolInput) || now.ToolName != req.ToolName):
		return now, &refused{http.StatusConflict, "conflict", "This id belongs to another question."}
	case err == nil && now.Status.Final():
		return now, nil // told again
	case err != nil && !errors.Is(err, pending.ErrNotFound):
		return now, err
	}
	known := err == nil
	h, err := a.questions.join(req, !known)
	switch {
	case errors.Is(err, errTooMany):
		return now, &refused{http.StatusTooManyRequests, "too_many", fmt.Sprintf("%d questions wait for an answer already. Wait for one of them.", MaxOpen)}
	case errors.Is(err, errTooFast):
		return now, &refused{http.StatusTooManyRequests, "too_many", fmt.Sprintf("There were more than %d questions in a minute. Wait before you ask again.", MaxPerMinute)}
	case err != nil:
		return now, err
	}
	defer a.questions.pause(h)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-h.done:
			waiting = false
		case <-look.C:
			var ref *refused
			if err := still(); errors.As(err, &ref) {
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
			return now, &refused{http.StatusConflict, "conflict", "This id belongs to another question."}
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

// pause ends the wait of a poll; the asker is expected back.
func (d *questions) pause(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	d.startGrace(h, AskerGone)
}

// delivered notes that the asker was told; it will be told again if it asks again.
func (a *Adapters) delivered(ctx context.Context, row pending.Request) {
	if row.Delivery != pending.Queued {
		return
	}
	if err := a.o.Store.SetDelivery(context.WithoutCancel(ctx), row.RequestID, pending.Delivered); err != nil {
		a.o.Log.ErrorContext(ctx, "cannot note that an answer was delivered", "error", err)
	}
}

// agent is who sent a request, by its bearer token.
func (a *Adapters) agent(r *http.Request) (account.AgentToken, error) {
	unknown := &refused{http.StatusUnauthorized, "not_signed_in", "This token is unknown here, or it was revoked."}
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

// readJSON decodes a body. Fields that it does not know, such as one in another case,
// are left alone: an asker may be newer than this server. A field that is there twice
// is refused.
func readJSON(w http.ResponseWriter, r *http.Request, dst any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &refused{http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the body as application/json."}
	}
	data, err := io.ReadAll(r.Body)
	// A deadline that passes while the asker waits would look like its end.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case err != nil:
		return bad("The body did not arrive whole.")
	}
	unexpected := func(err error) error {
		return bad("The body is not the JSON that is expected here: " + err.Error() + ".")
	}
	if err := pending.CheckJSON(data); err != nil {
		return unexpected(err)
	}
	fields, err := objectOf(data)
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

func bad(message string) error { return &refused{http.StatusBadRequest, "invalid", message} }

func tooLarge() error {
	return &refused{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("The body is larger than %d MB.", adapterBody>>20)}
}

func reply(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcpapi: encode a reply: %v", err))
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // who has gone asks again
}
