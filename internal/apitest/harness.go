// Package apitest runs the HTTP and WebSocket APIs for browsers on a database, with a
// [Driver] in place of the orchestrator, and provides tests with a client for both.
package apitest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wire/wiretest"
	"github.com/sayso-dev/sayso/wsapi"
)

// Harness is a server with all its parts except Claude.
type Harness struct {
	T           testing.TB
	Store       *sqlite.Store
	Registry    *pending.Registry
	Driver      *Driver
	Attachments *attachment.Shelf
	Directory   *account.Directory
	Admin       account.User
	Notifier    *session.LocalNotifier
	Hub         *wsapi.Hub
	Rules       *decision.Rules
	Server      *httpapi.Server
	Web         *httptest.Server // nil after Open
	Client      *http.Client     // of Web
	UserLimits  project.Limits   // of each person
	options     httpapi.Options  // of Server

	mu     sync.Mutex // protects following
	Tokens map[account.Role]string
}

// Options configures the parts of a [Harness]: the HTTP API, whose options it embeds, the
// executor of commands and the hub. The harness sets their guard, rules and log.
type Options struct {
	httpapi.Options
	Command command.Options
	Hub     wsapi.Options
}

// New returns a harness whose hub runs until the test ends.
func New(t testing.TB, change ...func(*Options)) *Harness {
	t.Helper()
	h := Open(t, sqlitetest.New(t), change...)
	h.Web = httptest.NewServer(CheckStatuses(t, h.Server))
	h.Client = h.Web.Client()
	t.Cleanup(h.Web.Close)
	h.Run()
	for h.Call("GET", "/readyz", nil).Status != http.StatusOK {
		runtime.Gosched() // the hub is still starting
	}
	return h
}

// Open returns a harness on the database at path. It starts neither the hub nor a listener.
func Open(t testing.TB, path string, change ...func(*Options)) *Harness {
	t.Helper()
	h := &Harness{T: t, Notifier: &session.LocalNotifier{}, Tokens: map[account.Role]string{}}
	var err error
	if h.Store, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.Registry = pending.NewRegistry(h.Store, h.Notifier)
	h.Driver = &Driver{harness: h, Writing: map[string]session.Live{}}
	h.Directory = account.NewDirectory(h.Store)
	if h.Admin, err = h.Directory.Prepare(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	shelf, err := attachment.Open(filepath.Join(filepath.Dir(path), "attachments"), h.Store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shelf.Close() })
	h.Attachments = shelf
	key, err := alert.OpenKey(filepath.Join(filepath.Dir(path), "push-key"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	alerts, err := alert.New(alert.Options{
		Store: h.Store, Active: h.Store.ActiveProcesses, State: h.Store.ProcessState,
		Owner: func(ctx context.Context, sessionID string) (string, error) {
			s, err := h.Store.Session(ctx, sessionID)
			return s.OwnerID, err
		},
		People: func(context.Context) ([]alert.Person, error) { return nil, nil },
		Key:    key, Private: true, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Options: httpapi.Options{
			Store: h.Store, Requests: h.Registry, Driver: h.Driver, Directory: h.Directory, Notifier: h.Notifier,
			Refusals: &refusal.Table{}, Attachments: shelf, Alerts: alerts,
			App:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<title>sayso</title>") }),
			Metrics: prometheus.NewRegistry(), Version: "0.0.0-test", NodeID: "node-1", Runners: noRunners{}, Log: log,
		},
		Command: command.Options{Store: h.Store, Requests: h.Registry, Driver: h.Driver, Attachments: shelf},
		Hub:     wsapi.Options{Store: h.Store, Processes: h.Driver, People: h.Directory, Alerts: alerts},
	}
	for _, f := range change {
		f(&o)
	}
	guard := access.NewGuard(h.Store, h.Directory, nil)
	h.Rules = decision.New(guard, h.Directory)
	o.Command.Guard, o.Command.Rules, o.Command.Refusals, o.Command.Log = guard, h.Rules, o.Refusals, o.Log
	commands, err := command.New(o.Command)
	if err != nil {
		t.Fatal(err)
	}
	o.Hub.Guard, o.Hub.Rules, o.Hub.Commands, o.Hub.Refusals = guard, h.Rules, commands, o.Refusals
	o.Hub.Version, o.Hub.NodeID, o.Hub.Log = o.Version, o.NodeID, o.Log
	if h.Hub, err = wsapi.New(o.Hub); err != nil {
		t.Fatal(err)
	}
	o.Guard, o.Rules, o.Commands, o.Live = guard, h.Rules, commands, h.Hub
	h.options = o.Options
	h.Server = h.NewServer(t)
	h.Notifier.Listen(h.Hub.Touch)
	h.Notifier.ListenItems(h.Hub.TouchItems)
	h.Notifier.ListenLive(h.Hub.TouchLive)
	h.Notifier.Listen(h.Registry.Wake)
	return h
}

// NewServer returns another server over the same parts. It shares failed sign-ins and
// ceremonies with the others through the database.
func (h *Harness) NewServer(t testing.TB) *httpapi.Server {
	t.Helper()
	s, err := httpapi.New(h.options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run runs the hub until the test ends.
func (h *Harness) Run() {
	h.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Hub.Run(ctx) }()
	h.T.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.T.Error(err)
		}
	})
}

// Token returns an API token with a role. It creates one token for each role.
func (h *Harness) Token(role account.Role) string {
	h.T.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if t, ok := h.Tokens[role]; ok {
		return t
	}
	_, secret, err := h.Directory.CreateToken(h.T.Context(), h.Admin, string(role)+"-user", role, 0)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Tokens[role] = secret
	return secret
}

// AuditEntries returns the entries of the audit log whose field what begins with the given text.
func (h *Harness) AuditEntries(what string) (list []account.AuditEntry, err error) {
	err = account.WalkAudit(h.T.Context(), h.Store, func(e account.AuditEntry) error {
		if strings.Contains(string(e.Body), `"what":"`+what) {
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// SignedIn sends a request with the sign-in that a response created: its cookie and page key.
func SignedIn(a Response) RequestOption {
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	return func(r *http.Request) {
		r.Header.Set("Cookie", cookie)
		WithPageKey(a)(r)
	}
}

// WithPageKey adds the page key of a sign-in to a request, if the response has one.
func WithPageKey(a Response) RequestOption {
	var me wire.Me
	_ = json.Unmarshal(a.Body, &me)
	return func(r *http.Request) {
		if me.PageKey != "" {
			r.Header.Set("X-Sayso-Page-Key", me.PageKey)
		}
	}
}

// Cookie signs the admin in.
func (h *Harness) Cookie() RequestOption {
	h.T.Helper()
	link, err := h.Directory.NewSignInLink(h.T.Context(), h.Admin.UserID)
	if err != nil {
		h.T.Fatal(err)
	}
	a := h.Call("POST", "/api/login", map[string]string{"token": link}, Anonymous)
	if a.Status != http.StatusOK {
		h.T.Fatalf("sign in: got %d %s", a.Status, a.Body)
	}
	return SignedIn(a)
}

// NewSession stores a session with a running process and returns its id.
func (h *Harness) NewSession(title string) string {
	h.T.Helper()
	id := uuid.NewString()
	now := time.Now()
	err := h.Store.CreateSession(h.T.Context(), session.Session{
		SessionID: id, ProjectID: "project", Title: title, CWD: "/work/" + title, PermissionMode: "default",
		OwnerID: h.Admin.UserID, CreatedAt: now, UpdatedAt: now,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	h.SetState(id, session.AssistantTurn)
	return id
}

// SetState stores the state of a session's process and notifies listeners.
func (h *Harness) SetState(id string, state session.State) {
	h.T.Helper()
	now := time.Now()
	_, err := h.Store.SaveProcess(h.T.Context(), session.ProcessState{
		SessionID: id, State: state, StartedAt: now, StateChangedAt: now, PermissionMode: "default",
		PID: 4711, ProcessID: "process",
	})
	if err != nil {
		h.T.Fatal(err)
	}
	h.Notifier.Notify(id)
}

// Ask opens a request in a session until the test ends. It returns the stored request
// and a channel that receives it once it is answered.
func (h *Harness) Ask(sessionID, askerID string, change func(*pending.Request)) (pending.Request, <-chan pending.Request) {
	h.T.Helper()
	input := json.RawMessage(`{"command":"touch ` + askerID + `"}`)
	r := pending.Request{
		RequestID: pending.NewRequestID(sessionID, "process", askerID), SessionID: sessionID,
		RequestType: pending.ToolApproval, Source: pending.SourceClaude, AskerRequestID: askerID,
		ToolName: "Bash", ToolInput: input,
	}
	if change != nil {
		change(&r)
	}
	r.InputHash = pending.HashInput(r.ToolInput)
	ctx, cancel := context.WithCancel(context.Background())
	answered := make(chan pending.Request, 1)
	opened := make(chan struct{})
	var once sync.Once
	h.Notifier.Listen(func(id string) {
		// An earlier answer may be announced only now, so a notification alone does not
		// prove that the request is stored.
		select {
		case <-opened: // listeners stay, and a test may ask a thousand times
			return
		default:
		}
		if id != sessionID {
			return
		}
		if _, err := h.Store.Request(ctx, r.RequestID); err == nil {
			once.Do(func() { close(opened) })
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err := h.Registry.Ask(ctx, r)
		if err == nil {
			answered <- got
		}
	}()
	<-opened
	h.T.Cleanup(func() { cancel(); <-done })
	return r, answered
}

// AsQuestions turns a request into an AskUserQuestion.
func AsQuestions(r *pending.Request) {
	q := wiretest.QuestionRequest()
	r.RequestType, r.ToolName, r.ToolInput, r.Form = q.RequestType, q.ToolName, q.ToolInput, q.Form
}

// Response is a response of the REST API.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a Response) Decode(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		t.Fatalf("body %q: %v", a.Body, err)
	}
}

// Refusal returns the error of a refusal.
func (a Response) Refusal(t testing.TB) wire.ErrorBody {
	t.Helper()
	var r wire.Refusal
	a.Decode(t, &r)
	return r.Error
}

type RequestOption func(*http.Request)

var Anonymous RequestOption = func(*http.Request) {}

func Bearer(token string) RequestOption {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func Header(name, value string) RequestOption {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Call sends one request. body is nil, a text, or a value to encode as JSON.
func (h *Harness) Call(method, path string, body any, ways ...RequestOption) Response {
	h.T.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		reader = bytes.NewReader(wire.Encode(b))
	}
	base := "http://127.0.0.1:8787"
	if h.Web != nil {
		base = h.Web.URL
	}
	r, err := http.NewRequestWithContext(h.T.Context(), method, base+path, reader)
	if err != nil {
		h.T.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, w := range ways {
		w(r)
	}
	if h.Web == nil {
		rec := httptest.NewRecorder()
		r.RequestURI = path
		if r.RemoteAddr == "" {
			r.RemoteAddr = "127.0.0.1:50000"
		}
		r.URL.Host, r.URL.Scheme = "", ""
		if r.Header.Get("X-Absolute") != "" {
			r.URL.Host, r.URL.Scheme = r.Host, "http"
		}
		if r.Body == nil {
			r.Body = http.NoBody
		}
		CheckStatuses(h.T, h.Server).ServeHTTP(rec, r)
		return Response{rec.Code, rec.Header(), rec.Body.Bytes()}
	}
	resp, err := h.Client.Do(r)
	if err != nil {
		h.T.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	return Response{resp.StatusCode, resp.Header, data}
}

// CallAs is Call with the token of a role.
func (h *Harness) CallAs(role account.Role, method, path string, body any, ways ...RequestOption) Response {
	h.T.Helper()
	return h.Call(method, path, body, append([]RequestOption{Bearer(h.Token(role))}, ways...)...)
}

// Allow is the body of an approval.
func Allow(r pending.Request) map[string]any {
	return map[string]any{"session_id": r.SessionID, "request_id": r.RequestID, "request_type": "tool_approval", "input_hash": r.InputHash, "decision": "allow"}
}

func Deny(r pending.Request, message string) map[string]any {
	m := Allow(r)
	m["decision"], m["message"] = "deny", message
	return m
}

// AppendText appends n items of text to a transcript and notifies listeners.
func (h *Harness) AppendText(sessionID string, n int, text string) {
	h.T.Helper()
	var items []session.Item
	for range n {
		items = append(items, session.Item{Key: uuid.NewString(), At: time.Now(), Kind: session.ItemText, Body: wire.Encode(session.TextBody{Text: text})})
	}
	if err := h.Store.PutItems(h.T.Context(), sessionID, items); err != nil {
		h.T.Fatal(err)
	}
	h.Notifier.Notify(sessionID)
}

// CheckRefusal fails the test unless a response is a well-formed refusal with this status and code.
func CheckRefusal(t *testing.T, got Response, status int, code string) {
	t.Helper()
	if got.Status != status {
		t.Fatalf("got %d %s, want %d", got.Status, got.Body, status)
	}
	e := got.Refusal(t)
	if e.Code != code {
		t.Errorf("got code %q, want %q", e.Code, code)
	}
	if m := []rune(e.Message); len(m) == 0 || !unicode.IsUpper(m[0]) && m[0] != '“' || !strings.ContainsRune(".?…", m[len(m)-1]) {
		t.Errorf("message is no sentence: %q", e.Message)
	}
	if status == 405 && got.Header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Set-Cookie"} {
		if v := got.Header.Get(name); v != "" {
			t.Errorf("a refusal carries %s: %s", name, v)
		}
	}
	CheckHeaders(t, got)
}

// CommandRoles returns the role that each command needs.
func CommandRoles() map[string]string {
	roles := map[string]string{}
	for _, kind := range command.Kinds() {
		spec, _ := command.Find(kind)
		roles[kind] = string(spec.Role)
	}
	return roles
}

// CommandLimits returns the largest message of each command, in bytes.
func CommandLimits() map[string]int64 {
	limits := map[string]int64{}
	for _, kind := range command.Kinds() {
		spec, _ := command.Find(kind)
		limits[kind] = spec.MaxBytes()
	}
	return limits
}

// CheckHeaders fails the test if a response lacks a header that every response must have.
func CheckHeaders(t *testing.T, got Response) {
	t.Helper()
	csp := got.Header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'self'", "script-src 'self'", "style-src 'self'", "worker-src 'self'", "connect-src 'self'",
		"img-src 'self' blob: data:", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	} {
		if !slices.Contains(strings.Split(csp, "; "), part) {
			t.Errorf("Content-Security-Policy lacks %q: %s", part, csp)
		}
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if got.Header.Get("Permissions-Policy") == "" {
		t.Error("no Permissions-Policy")
	}
}

// noRunners implements [httpapi.Runners] without any runner.
type noRunners struct{}

func (noRunners) NewToken() (token string, hash [sha256.Size]byte) {
	token = rand.Text()
	return token, sha256.Sum256([]byte(token))
}
func (noRunners) Load(context.Context, string) (wire.RunnerLoad, bool) {
	return wire.RunnerLoad{}, false
}
func (noRunners) Recheck(context.Context) {}

func (noRunners) Changed(context.Context, string) {}
