package wsapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wire/wiretest"
	"github.com/sayso-dev/sayso/wsapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a server with everything below it but Claude.
type house struct {
	t         testing.TB
	store     *sqlite.Store
	registry  *pending.Registry
	driver    *driver
	shelf     *attachment.Shelf
	directory *account.Directory
	admin     account.User
	bell      *bell
	server    *wsapi.Server
	web       *httptest.Server // nil in a house without sockets
	client    *http.Client     // of web
	everybody project.Limits   // of each person

	minting sync.Mutex // protects following
	tokens  map[account.Role]string
}

// bell tells everybody who listens.
type bell struct {
	mu        sync.Mutex
	listeners []func(string)
}

func (b *bell) listen(f func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, f)
}

func (b *bell) Ring(sessionID string) {
	b.mu.Lock()
	listeners := b.listeners
	b.mu.Unlock()
	for _, f := range listeners {
		f(sessionID)
	}
}

// newHouse opens a house whose hub runs until the test ends.
func newHouse(t testing.TB, change ...func(*wsapi.Options)) *house {
	t.Helper()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"), change...)
	h.web = httptest.NewServer(checkStatuses(t, h.server))
	h.client = h.web.Client()
	t.Cleanup(h.web.Close)
	h.run()
	for h.call("GET", "/readyz", nil).status != http.StatusOK {
		runtime.Gosched() // Run is on its way
	}
	return h
}

// openHouse opens a house on a database without running anything.
func openHouse(t testing.TB, path string, change ...func(*wsapi.Options)) *house {
	t.Helper()
	h := &house{t: t, bell: &bell{}, tokens: map[account.Role]string{}}
	var err error
	if h.store, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.registry = pending.NewRegistry(h.store, h.bell)
	h.driver = &driver{house: h, live: map[string]session.Live{}}
	h.directory = account.NewDirectory(h.store)
	if h.admin, err = h.directory.Prepare(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	shelf, err := attachment.Open(filepath.Join(filepath.Dir(path), "attachments"), h.store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shelf.Close() })
	h.shelf = shelf
	key, err := alert.OpenKey(filepath.Join(filepath.Dir(path), "push-key"))
	if err != nil {
		t.Fatal(err)
	}
	o := wsapi.Options{
		Alerts:      alert.New(alert.Options{Store: h.store, Key: key, Private: true, Log: slog.New(slog.DiscardHandler)}),
		Attachments: shelf, Store: h.store, Requests: h.registry, Driver: h.driver, Directory: h.directory, Bell: h.bell,
		App:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<title>sayso</title>") }),
		Version: "0.0.0-test", NodeID: "node-1", Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	h.server = wsapi.New(o)
	h.bell.listen(h.server.Touch)
	h.bell.listen(h.registry.Wake)
	return h
}

// run runs the hub until the test ends.
func (h *house) run() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
}

// token returns an API token of a user of this role.
func (h *house) token(role account.Role) string {
	h.t.Helper()
	h.minting.Lock()
	defer h.minting.Unlock()
	if t, ok := h.tokens[role]; ok {
		return t
	}
	_, secret, err := h.directory.CreateToken(h.t.Context(), h.admin, string(role)+"-user", role, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.tokens[role] = secret
	return secret
}

// recorded are the entries of the audit trail whose what begins so.
func (h *house) recorded(what string) (list []account.AuditEntry, err error) {
	err = account.WalkAudit(h.t.Context(), h.store, func(e account.AuditEntry) error {
		if strings.Contains(string(e.Body), `"what":"`+what) {
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// signedIn is the sign-in that an answer made: its cookie with its page key.
func signedIn(a answer) way {
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return func(r *http.Request) {
		r.Header.Set("Cookie", cookie)
		withPageKey(a)(r)
	}
}

// withPageKey adds the page key of a sign-in, if an answer has one.
func withPageKey(a answer) way {
	var me wire.Me
	_ = json.Unmarshal(a.body, &me)
	return func(r *http.Request) {
		if me.PageKey != "" {
			r.Header.Set("X-Sayso-Page-Key", me.PageKey)
		}
	}
}

// cookie signs the admin in.
func (h *house) cookie() way {
	h.t.Helper()
	link, err := h.directory.NewSignInLink(h.t.Context(), h.admin.UserID)
	if err != nil {
		h.t.Fatal(err)
	}
	a := h.call("POST", "/api/login", map[string]string{"token": link}, asNobody)
	if a.status != http.StatusOK {
		h.t.Fatalf("sign in: got %d %s", a.status, a.body)
	}
	return signedIn(a)
}

// session stores a session with a running process and returns its id.
func (h *house) session(title string) string {
	h.t.Helper()
	id := uuid.NewString()
	now := time.Now()
	err := h.store.CreateSession(h.t.Context(), session.Session{
		SessionID: id, ProjectID: "project", Title: title, CWD: "/work/" + title, PermissionMode: "default",
		OwnerID: h.admin.UserID, CreatedAt: now, UpdatedAt: now,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.setState(id, session.AssistantTurn)
	return id
}

// setState writes the state of a session's process and rings.
func (h *house) setState(id string, state session.State) {
	h.t.Helper()
	now := time.Now()
	_, err := h.store.SaveProcess(h.t.Context(), session.ProcessState{
		SessionID: id, State: state, StartedAt: now, StateChangedAt: now, PermissionMode: "default",
		NodeID: "node-1", PID: 4711, ProcessID: "process",
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.bell.Ring(id)
}

// ask asks a question in a session until the test ends, and returns the stored
// request and where its answer comes.
func (h *house) ask(sessionID, askerID string, change func(*pending.Request)) (pending.Request, <-chan pending.Request) {
	h.t.Helper()
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
	h.bell.listen(func(id string) {
		if id == sessionID {
			once.Do(func() { close(opened) })
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err := h.registry.Ask(ctx, r)
		if err == nil {
			answered <- got
		}
	}()
	<-opened
	h.t.Cleanup(func() { cancel(); <-done })
	return r, answered
}

// questions makes a request an AskUserQuestion.
func questions(r *pending.Request) {
	q := wiretest.QuestionRequest()
	r.RequestType, r.ToolName, r.ToolInput, r.Form = q.RequestType, q.ToolName, q.ToolInput, q.Form
}

// answer is what came back from REST.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
}

// refusal returns the error of a refusal.
func (a answer) refusal(t testing.TB) wire.ErrorBody {
	t.Helper()
	var r wire.Refusal
	a.into(t, &r)
	return r.Error
}

type way func(*http.Request)

var asNobody way = func(*http.Request) {}

func bearer(token string) way {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func header(name, value string) way {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// call sends one request; body may be nil, text or something to encode.
func (h *house) call(method, path string, body any, ways ...way) answer {
	h.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		reader = bytes.NewReader(wire.Encode(b))
	}
	base := "http://127.0.0.1:8787"
	if h.web != nil {
		base = h.web.URL
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, base+path, reader)
	if err != nil {
		h.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, w := range ways {
		w(r)
	}
	if h.web == nil {
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
		checkStatuses(h.t, h.server).ServeHTTP(rec, r)
		return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
	}
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// as calls with the token of a role.
func (h *house) as(role account.Role, method, path string, body any, ways ...way) answer {
	h.t.Helper()
	return h.call(method, path, body, append([]way{bearer(h.token(role))}, ways...)...)
}

// driver stands for the orchestrator: it stores what it is told.
type driver struct {
	house  *house
	mu     sync.Mutex
	done   []string // what was asked of it
	saved  []orchestrator.SavedSession
	live   map[string]session.Live
	files  map[string]orchestrator.Look
	fail   error         // returned by everything while set
	block  chan struct{} // Kill waits for it when set
	next   orchestrator.Environment
	vitals map[string]orchestrator.Vitals // by session; set before the house opens its doors
}

func (d *driver) note(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.done = append(d.done, fmt.Sprintf(format, args...))
	return nil
}

func (d *driver) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.done...)
}

func (d *driver) failWith(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
}

func (d *driver) Start(ctx context.Context, r orchestrator.StartRequest) (string, error) {
	folder := cmp.Or(r.CWD, "/w")
	if r.Permit != nil {
		if err := r.Permit(folder, r.PermissionMode); err != nil {
			return "", err
		}
	}
	if err := d.room(ctx, "", folder, r.By.UserID); err != nil {
		return "", err
	}
	consent := ""
	if r.Consent != (orchestrator.Consent{}) {
		consent = fmt.Sprintf(" consent=%+v", r.Consent)
	}
	if err := d.note("start %s %q demo=%v%s", r.SessionID, r.Prompt, r.Demo, consent); err != nil {
		return "", err
	}
	now := time.Now()
	err := d.house.store.CreateSession(ctx, session.Session{
		SessionID: r.SessionID, Title: "t", CWD: folder, PermissionMode: "default", OwnerID: r.By.UserID, CreatedAt: now, UpdatedAt: now,
	})
	return r.SessionID, err
}

func (d *driver) Send(ctx context.Context, m session.Message) error {
	s, err := d.house.store.Session(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if err := d.room(ctx, m.SessionID, s.CWD, s.OwnerID); err != nil {
		return err
	}
	if err := d.note("send %s %s %q %d", m.SessionID, m.MessageID, m.Text, len(m.Attachments)); err != nil {
		return err
	}
	_, err = d.house.store.QueueMessage(ctx, m)
	d.house.bell.Ring(m.SessionID)
	return err
}

func (d *driver) Interrupt(_ context.Context, sessionID string, _ pending.Actor) error {
	return d.note("interrupt %s", sessionID)
}

func (d *driver) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	if err := d.note("kill %s %v %s", sessionID, force, reason); err != nil {
		return err
	}
	d.mu.Lock()
	block := d.block
	d.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (d *driver) Unqueue(ctx context.Context, sessionID, messageID string) (bool, error) {
	if err := d.note("unqueue %s %s", sessionID, messageID); err != nil {
		return false, err
	}
	return d.house.store.RemoveQueued(ctx, messageID)
}

func (d *driver) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	if s, err := d.house.store.Session(ctx, sessionID); err == nil {
		if err := d.room(ctx, sessionID, s.CWD, s.OwnerID); err != nil {
			return err
		}
	}
	return d.note("resume %s by %s", sessionID, by.Name)
}

func (d *driver) Fork(ctx context.Context, sessionID string, by pending.Actor) (string, error) {
	if s, err := d.house.store.Session(ctx, sessionID); err == nil {
		if err := d.room(ctx, "", s.CWD, by.UserID); err != nil {
			return "", err
		}
	}
	return "forked-" + sessionID, d.note("fork %s", sessionID)
}

func (d *driver) Delete(ctx context.Context, sessionID string) error {
	if err := d.note("delete %s", sessionID); err != nil {
		return err
	}
	return d.house.store.DeleteSession(ctx, sessionID)
}

// Bounds are those of the store; a person for whom no other is set may have as much
// as the house says.
func (d *driver) Bounds(ctx context.Context) (*project.Bounds, []project.Taken, error) {
	b, err := project.ReadBounds(ctx, d.house.store, d.house.everybody, time.Now())
	if err != nil {
		return nil, nil, err
	}
	states, err := d.house.store.ActiveProcesses(ctx)
	var taken []project.Taken
	for _, p := range states {
		if p.Running() {
			taken = append(taken, project.Taken{Folder: p.CWD, OwnerID: p.OwnerID, Memory: p.Memory})
		}
	}
	return b, taken, err
}

// room is what the orchestrator asks before it starts a process; of one that runs
// it asks nothing.
func (d *driver) room(ctx context.Context, sessionID, folder, ownerID string) error {
	if state, err := d.house.store.ProcessState(ctx, sessionID); err == nil && state.Running() {
		return nil
	}
	b, taken, err := d.Bounds(ctx)
	if err != nil {
		return err
	}
	return b.Room(folder, ownerID, taken)
}

func (d *driver) LimitsChanged() {}

func (d *driver) SetModel(_ context.Context, sessionID, model string) error {
	return d.note("model %s %s", sessionID, model)
}

func (d *driver) SetPermissionMode(_ context.Context, sessionID, mode string, _ pending.Actor) error {
	return d.note("mode %s %s", sessionID, mode)
}

func (d *driver) RevokeGrant(_ context.Context, grantID string, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1, Asking: 2}, d.note("revoke %s by %s", grantID, by.Name)
}

func (d *driver) RevokeAnswer(_ context.Context, requestID string, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1}, d.note("revoke answer %s by %s", requestID, by.Name)
}

func (d *driver) RevokeFound(_ context.Context, g pending.Grant, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1, Files: []string{"/w/.claude/settings.json"}}, d.note("revoke found %s by %s", g.Rule, by.Name)
}

func (d *driver) FoundGrants(context.Context) (orchestrator.Found, error) {
	g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(make *)", Scope: pending.ScopeProject, Folder: "/w"}
	return orchestrator.Found{Grants: []orchestrator.FoundGrant{{Grant: g, File: "/w/.claude/settings.json"}}}, nil
}

func (d *driver) TrustedFolders(context.Context) ([]orchestrator.TrustedFolder, error) {
	return []orchestrator.TrustedFolder{{
		Folder: "/w", Digest: "sha256:1", By: "Ada", At: time.Unix(10, 0),
		Items: []orchestrator.FolderItem{{Kind: "hook", Danger: "runs", File: "/w/.claude/settings.json", Name: "Stop", Text: "touch a"}},
	}}, nil
}

func (d *driver) Distrust(_ context.Context, folder, digest string, by pending.Actor) (bool, error) {
	if folder != "/w" || digest != "sha256:1" {
		return false, nil
	}
	return true, d.note("distrust %s %s by %s", folder, digest, by.Name)
}

func (d *driver) Vitals(sessionID string) (orchestrator.Vitals, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.vitals[sessionID]
	return v, ok
}

func (d *driver) Live(sessionID string) (session.Live, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.live[sessionID]
	return l, ok
}

func (d *driver) say(sessionID, text string) {
	d.mu.Lock()
	d.live[sessionID] = session.Live{Kind: session.ItemText, Text: text}
	d.mu.Unlock()
	d.house.bell.Ring(sessionID)
}

func (d *driver) Environment(context.Context) orchestrator.Environment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// LookAt finds what a test put there.
func (d *driver) LookAt(_ context.Context, sessionID, path string) (orchestrator.Look, error) {
	if err := d.note("look of %s at %s", sessionID, path); err != nil {
		return orchestrator.Look{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	look, ok := d.files[path]
	if !ok {
		look.State = workspace.FileMissing
	}
	return look, nil
}

func (d *driver) PermissionRules(context.Context, string) ([]orchestrator.SettingsRules, error) {
	return []orchestrator.SettingsRules{
		{Source: "user", Allow: []string{"Bash(ls:*)", "Read"}, Deny: []string{"Bash(sudo:*)"}},
		{Source: "project", Ask: []string{"Bash(git push:*)"}},
	}, nil
}

func (d *driver) Consent(_ context.Context, sessionID string, c orchestrator.Consent, by pending.Actor) error {
	return d.note("consent %s %+v by %s", sessionID, c, by.Name)
}

// Folders stands for a server whose only root is /w.
func (d *driver) SavedSessions(context.Context) ([]orchestrator.SavedSession, error) {
	return d.saved, nil
}

func (d *driver) SavedSession(sessionID string) (orchestrator.SavedSession, error) {
	for _, s := range d.saved {
		if s.SessionID == sessionID {
			return s, nil
		}
	}
	return orchestrator.SavedSession{}, session.ErrNotFound
}

func (d *driver) SavedTranscript(_ string, before int64) (orchestrator.SavedPage, error) {
	return orchestrator.SavedPage{Items: []session.Item{{Key: "k", Seq: 1, Rev: 1, Kind: session.ItemText, Body: []byte(`{"text":"said"}`)}}, Before: max(before-1, 0)}, nil
}

func (d *driver) Folders(_ context.Context, userID string, s workspace.Search) (workspace.Listing, error) {
	if err := d.note("folders of %s: %q hidden=%v limit=%d", userID, s.Prefix, s.Hidden, s.Limit); err != nil {
		return workspace.Listing{}, err
	}
	if s.Prefix != "" && !strings.HasPrefix(s.Prefix, "/w") {
		return workspace.Listing{}, &orchestrator.InvalidError{Field: "prefix", Sentence: "It is outside."}
	}
	return workspace.Listing{Folders: []workspace.Folder{{Path: "/w/two", Recent: true}, {Path: "/w/one"}}, More: true}, nil
}

// browser is the other end of a tab.
type browser struct {
	t     testing.TB
	conn  *websocket.Conn
	queue []map[string]any // frames of a batch that were not looked at
	all   []map[string]any // every frame so far
}

// dial opens a WebSocket with the token of a role; it fails the test when it is
// refused.
func (h *house) dial(role account.Role) *browser {
	h.t.Helper()
	b, resp, err := h.tryDial(h.t.Context(), bearer(h.token(role)))
	if err != nil {
		h.t.Fatalf("dial: %v (%v)", err, resp)
	}
	return b
}

func (h *house) tryDial(ctx context.Context, ways ...way) (*browser, *http.Response, error) {
	h.t.Helper()
	r := &http.Request{Header: http.Header{}}
	for _, w := range ways {
		w(r)
	}
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.web.URL, "http")+"/ws", &websocket.DialOptions{
		HTTPClient: h.client, HTTPHeader: r.Header, Host: r.Host,
	})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(64 << 20)
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	return &browser{t: h.t, conn: conn}, resp, nil
}

// open dials and reads hello and active_processes.
func (h *house) open(role account.Role) *browser {
	h.t.Helper()
	b := h.dial(role)
	for _, want := range []string{"hello", "active_processes"} {
		if f := b.next(); f["type"] != want {
			h.t.Fatalf("got %v, want %s first", f, want)
		}
	}
	return b
}

// next returns the next frame; it fails the test when the connection ends.
func (b *browser) next() map[string]any {
	b.t.Helper()
	f, err := b.tryNext(b.t.Context())
	if err != nil {
		b.t.Fatalf("read: %v", err)
	}
	return f
}

func (b *browser) tryNext(ctx context.Context) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for len(b.queue) == 0 {
		_, data, err := b.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		var f map[string]any
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		if f["type"] != "batch" {
			b.queue = append(b.queue, f)
			continue
		}
		for _, inner := range f["frames"].([]any) {
			b.queue = append(b.queue, inner.(map[string]any))
		}
	}
	f := b.queue[0]
	b.queue = b.queue[1:]
	b.all = append(b.all, f)
	return f, nil
}

// until reads on to the first frame that fits.
func (b *browser) until(what string, fits func(map[string]any) bool) map[string]any {
	b.t.Helper()
	for {
		f, err := b.tryNext(b.t.Context())
		if err != nil {
			b.t.Fatalf("waiting for %s: %v", what, err)
		}
		if fits(f) {
			return f
		}
	}
}

// state reads on to a process_state of a session with so many open requests.
func (b *browser) state(sessionID string, requests int) map[string]any {
	b.t.Helper()
	return b.until(fmt.Sprintf("a state with %d requests", requests), func(f map[string]any) bool {
		return f["type"] == "process_state" && f["session_id"] == sessionID && len(f["pending_requests"].([]any)) == requests
	})
}

// give sends a command without waiting for its ack, and returns its id.
func (b *browser) give(kind string, fields map[string]any) string {
	b.t.Helper()
	c := map[string]any{"type": kind, "command_id": uuid.NewString()}
	for k, v := range fields {
		c[k] = v
	}
	if err := b.conn.Write(b.t.Context(), websocket.MessageText, wire.Encode(c)); err != nil {
		b.t.Fatal(err)
	}
	return c["command_id"].(string)
}

// do sends a command and returns its ack.
func (b *browser) do(kind string, fields map[string]any) wire.Ack {
	b.t.Helper()
	return b.ack(b.give(kind, fields))
}

// ack reads on to the ack of a command; what came before it is still to be read.
func (b *browser) ack(commandID string) wire.Ack {
	b.t.Helper()
	var before []map[string]any
	f := b.until("the ack", func(f map[string]any) bool {
		if f["type"] == "ack" && f["command_id"] == commandID {
			return true
		}
		before = append(before, f)
		return false
	})
	b.queue = append(before, b.queue...)
	var a wire.Ack
	if err := json.Unmarshal(wire.Encode(f), &a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// closed reads to the end and returns the close code and the last frame.
func (b *browser) closed() (websocket.StatusCode, map[string]any) {
	b.t.Helper()
	for {
		if _, err := b.tryNext(b.t.Context()); err != nil {
			var last map[string]any
			if len(b.all) > 0 {
				last = b.all[len(b.all)-1]
			}
			return websocket.CloseStatus(err), last
		}
	}
}

// allow is the body of an approval.
func allow(r pending.Request) map[string]any {
	return map[string]any{"session_id": r.SessionID, "request_id": r.RequestID, "request_type": "tool_approval", "input_hash": r.InputHash, "decision": "allow"}
}

func deny(r pending.Request, message string) map[string]any {
	m := allow(r)
	m["decision"], m["message"] = "deny", message
	return m
}
