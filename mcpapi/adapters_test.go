package mcpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
	"github.com/sayso-dev/sayso/session"
)

func (m *memory) CreateSession(_ context.Context, s session.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.sessions[s.SessionID]; there {
		return session.ErrExists
	}
	m.sessions[s.SessionID] = s
	return nil
}

func (m *memory) ProcessState(ctx context.Context, id string) (session.ProcessState, error) {
	s, err := m.Session(ctx, id)
	state := session.ProcessState{SessionID: id, State: session.Dead}
	if s.Begun {
		state.State = session.AssistantTurn
	}
	return state, err
}

func (m *memory) PutItems(_ context.Context, id string, items []session.Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	s.Model = string(items[len(items)-1].Body) // somewhere to look for it
	m.sessions[id] = s
	return nil
}

// UnrecordedRequests knows nothing of records; each is written again and again.
func (m *memory) UnrecordedRequests(ctx context.Context, id string) ([]pending.Request, error) {
	queued, err := m.UndeliveredRequests(ctx, id)
	return queued, err
}

// handler returns a handler for every path that agents use.
func (h *harness) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.server)
	adapters, err := h.server.Adapters(mcpapi.AdapterOptions{
		Store: h.memory, Requests: h.registry, Directory: h.directory, Notifier: h.notifier, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	for _, path := range adapters.Paths() {
		mux.Handle(path, adapters)
	}
	return mux
}

// exchange is one request to an adapter, under way.
type exchange struct {
	t      *testing.T
	cut    func()
	done   chan struct{}
	status int
	body   map[string]any
	err    error
}

// sends sends one request; a body that is no text is sent as JSON.
func (h *harness) sends(method, path, secret string, body any, ways ...how) *exchange {
	h.t.Helper()
	data, isText := body.(string)
	if !isText && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		data = string(encoded)
	}
	req, err := http.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, way := range ways {
		way(nil, req.Header)
	}
	conn := h.dial()
	e := &exchange{t: h.t, done: make(chan struct{}), cut: func() { conn.Close() }}
	go func() {
		defer close(e.done)
		defer conn.Close()
		sent := make(chan error, 1)
		go func() { sent <- req.Write(conn) }()
		defer func() { <-sent }()
		resp, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			conn.Close()
			e.err = err
			return
		}
		defer resp.Body.Close()
		e.status = resp.StatusCode
		said, err := io.ReadAll(resp.Body)
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(said))
			err = d.Decode(&e.body)
		}
		e.err = err
	}()
	synctest.Wait()
	return e
}

// gets expects this status and these fields of the body.
func (e *exchange) gets(status int, fields map[string]any) {
	e.t.Helper()
	<-e.done
	if e.err != nil || e.status != status {
		e.t.Fatalf("got %v, status %d, %v; want %d", e.err, e.status, e.body, status)
	}
	for name, want := range fields {
		if got := fmt.Sprint(e.body[name]); got != fmt.Sprint(want) {
			e.t.Fatalf("%s: got %s, want %v in %v", name, got, want, e.body)
		}
	}
}

func (e *exchange) waits() {
	e.t.Helper()
	synctest.Wait()
	select {
	case <-e.done:
		e.t.Fatalf("it ended: %v, %d %v", e.err, e.status, e.body)
	default:
	}
}

// open are the requests that wait, of all sessions.
func (h *harness) openRequests() []pending.Request {
	h.t.Helper()
	synctest.Wait()
	rows, err := h.registry.Open(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// asked is the one request that waits.
func (h *harness) asked() pending.Request {
	h.t.Helper()
	rows := h.openRequests()
	if len(rows) != 1 {
		h.t.Fatalf("%d requests are open, want 1", len(rows))
	}
	return rows[0]
}

// decides answers as a person does.
func (h *harness) decides(r pending.Request, s pending.Submission) {
	h.t.Helper()
	s.RequestID, s.SessionID, s.RequestType = r.RequestID, r.SessionID, r.RequestType
	s.Actor = pending.Actor{UserID: "u1", Name: "ann"}
	if _, err := h.registry.Answer(h.t.Context(), s); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

// row is a request as it stands.
func (h *harness) row(r pending.Request) pending.Request {
	h.t.Helper()
	synctest.Wait()
	now, err := h.memory.Request(h.t.Context(), r.RequestID)
	if err != nil {
		h.t.Fatal(err)
	}
	return now
}

func (h *harness) ends(r pending.Request, status pending.Status, reason string) {
	h.t.Helper()
	now := h.row(r)
	if now.Status != status || reason != "" && (now.Resolution == nil || now.Resolution.Reason != reason) {
		h.t.Fatalf("it is %s: %+v; want %s: %s", now.Status, now.Resolution, status, reason)
	}
}

// A terminal is a claude with our hook.
type terminal struct {
	*agent
}

func (h *harness) terminal() terminal { return terminal{h.agent(session.Terminal, "laptop")} }

func bash(key string) mcpapi.HookAsk {
	return mcpapi.HookAsk{
		Key: key, Host: "laptop", SessionID: "c1", CWD: "/home/ann/api", Wait: 25,
		ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"touch x"}`),
		PermissionSuggestions: json.RawMessage(`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`),
	}
}

func (term terminal) asks(ask mcpapi.HookAsk) *exchange {
	return term.h.sends("POST", "/hook/ask", term.secret, ask)
}

func (term terminal) gone(key, reason string) *exchange {
	return term.h.sends("POST", "/hook/gone", term.secret, mcpapi.HookGone{Key: key, SessionID: "c1", Reason: reason})
}

func TestTerminalAsksAndIsAnsweredHere(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		e := term.asks(bash("k1"))
		r := h.asked()
		is(t, "source", r.Source, pending.SourceHook)
		is(t, "asker", r.Asker, "terminal on laptop")
		is(t, "tool", r.ToolName, "Bash")
		is(t, "input", string(r.ToolInput), `{"command":"touch x"}`)
		s, err := h.memory.Session(t.Context(), r.SessionID)
		if err != nil || s.Kind != session.Terminal || s.Title != "terminal on laptop" || s.CWD != "/home/ann/api" || s.SessionID == term.sessionID {
			t.Fatalf("session %+v, %v", s, err)
		}
		e.gets(202, map[string]any{"status": "waiting"}) // after 25 s
		e = term.asks(bash("k1"))
		h.asked()
		e.waits()
		h.decides(r, pending.Submission{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"touch y"}`),
			UpdatedPermissions: json.RawMessage(`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)})
		e.gets(200, map[string]any{"status": "answered", "decision": "allow", "updated_input": "map[command:touch y]",
			"updated_permissions": "[map[destination:session mode:acceptEdits type:setMode]]"})
		is(t, "delivery", h.row(r).Delivery, pending.Delivered)
		// Who did not hear it asks again and is told again.
		term.asks(bash("k1")).gets(200, map[string]any{"status": "answered"})
	})
}

func TestTerminalHearsADenyAndAnswers(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		e := term.asks(bash("k1"))
		h.decides(h.asked(), pending.Submission{Decision: pending.Deny, Message: "use pnpm", Interrupt: true})
		e.gets(200, map[string]any{"status": "answered", "decision": "deny", "message": "use pnpm", "interrupt": true})

		ask := bash("k2")
		ask.ToolName, ask.ToolInput = "AskUserQuestion", json.RawMessage(`{"questions":[{"question":"Which?","header":"H","options":[{"label":"Red"},{"label":"Blue"}]}]}`)
		e = term.asks(ask)
		r := h.asked()
		is(t, "type", r.RequestType, pending.AskUserQuestion)
		h.decides(r, pending.Submission{Answers: map[string]string{"Which?": "Blue"}})
		e.gets(200, map[string]any{"decision": "allow", "answers": "map[Which?:Blue]"})

		ask.Key = "k3"
		e = term.asks(ask)
		h.decides(h.asked(), pending.Submission{Decision: pending.Deny})
		e.gets(200, map[string]any{"decision": "deny", "message": "The user declined to answer."})
	})
}

func TestTerminalAnswersFirst(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		for reason, want := range map[string]string{
			"terminal": "It was answered in the terminal.", "refused": "It was denied in the terminal.", "ended": "Claude in the terminal has ended.",
		} {
			e := term.asks(bash(reason))
			r := h.asked()
			term.gone(reason, reason).gets(200, nil)
			h.ends(r, pending.Withdrawn, want)
			e.gets(200, map[string]any{"status": "over"})
			term.gone(reason, reason).gets(200, nil) // once more
		}
		term.gone("unknown", "terminal").gets(200, nil)
		term.gone("unknown", "whatever I want people to read").gets(400, nil)
		// An answer that was given here stays.
		e := term.asks(bash("late"))
		r := h.asked()
		h.decides(r, pending.Submission{Decision: pending.Allow})
		term.gone("late", "terminal").gets(200, nil)
		h.ends(r, pending.Answered, "")
		e.gets(200, map[string]any{"status": "answered"})
	})
}

func TestATerminalThatDoesNotComeBack(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		e := term.asks(bash("k1"))
		r := h.asked()
		e.cut()
		time.Sleep(mcpapi.AskerGone - time.Second)
		e = term.asks(bash("k1")) // just in time
		time.Sleep(mcpapi.AskerGone)
		e.waits()
		e.cut()
		time.Sleep(mcpapi.AskerGone + time.Second)
		h.ends(r, pending.Withdrawn, "The asker is gone.")
		term.asks(bash("k1")).gets(200, map[string]any{"status": "over"})
	})
}

func TestATerminalAsksOnAfterARestart(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		term.asks(bash("k1"))
		r := h.asked()
		h.restart()
		time.Sleep(mcpapi.ServerGone - time.Second)
		e := term.asks(bash("k1"))
		is(t, "the same request", h.asked().RequestID, r.RequestID)
		h.decides(r, pending.Submission{Decision: pending.Allow})
		e.gets(200, map[string]any{"status": "answered"})

		term.asks(bash("k2"))
		r = h.asked()
		h.restart()
		time.Sleep(mcpapi.ServerGone + time.Second)
		h.ends(r, pending.Withdrawn, "")
	})
}

// An asker that polls all through an outage of the database is not gone. Without one, the
// question goes as soon as the database is back.
func TestATerminalPollsThroughAnOutage(t *testing.T) {
	for name, outage := range map[string]time.Duration{
		"shorter than the attempts to withdraw": mcpapi.AskerGone + 3*time.Second,
		"longer":                                2 * mcpapi.AskerGone,
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				term := h.terminal()
				e := term.asks(bash("k1"))
				r := h.asked()
				gone := bash("k2")
				gone.Wait = 50
				other := term.asks(gone)
				h.memory.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Unavailable })
				e.gets(503, nil)
				other.cut()
				for range outage / time.Second {
					term.asks(bash("k1")).gets(503, nil)
					time.Sleep(time.Second)
				}
				h.memory.Inject(nil)
				h.registry.Recover(t.Context())
				time.Sleep(2 * time.Second)
				e = term.asks(bash("k1"))
				e.waits()
				is(t, "open", len(h.openRequests()), 2)
				time.Sleep(mcpapi.AskerGone)
				is(t, "the same request", h.asked().RequestID, r.RequestID)
				e.gets(202, waiting)
			})
		})
	}
}

func TestWhoMayUseTheHook(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		other := h.agent(session.Agent, "builder")
		h.sends("POST", "/hook/ask", other.secret, bash("k1")).gets(403, nil)
		h.sends("POST", "/hook/gone", other.secret, mcpapi.HookGone{}).gets(403, nil)
		h.sends("POST", "/hook/notice", other.secret, mcpapi.HookNotice{}).gets(403, nil)
		for _, secret := range []string{"", "unknown"} {
			h.sends("POST", "/hook/ask", secret, bash("k1")).gets(401, nil)
		}
		term := h.terminal()
		for _, way := range []how{header("Origin", "http://evil.example"), header("Sec-Fetch-Site", "none")} {
			h.sends("POST", "/hook/ask", term.secret, bash("k1"), way).gets(403, nil)
		}
		h.sends("GET", "/hook/ask", term.secret, nil).gets(405, nil)
		h.sends("POST", "/hook/ask", term.secret, bash("k1"), header("Content-Type", "text/plain")).gets(415, nil)
		if err := h.directory.RevokeAgents(t.Context(), term.sessionID); err != nil {
			t.Fatal(err)
		}
		term.asks(bash("k1")).gets(401, nil)
		is(t, "open", len(h.openRequests()), 0)
	})
}

// Two terminals that use the same key for a conversation of the same id are two.
func TestTerminalsAreApart(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		one, two := h.terminal(), h.terminal()
		first, second := one.asks(bash("k1")), two.asks(bash("k1"))
		rows := h.openRequests()
		is(t, "open", len(rows), 2)
		two.gone("k1", "terminal").gets(200, nil)
		second.gets(200, map[string]any{"status": "over"})
		first.waits()
		h.decides(h.asked(), pending.Submission{Decision: pending.Allow})
		first.gets(200, map[string]any{"status": "answered"})
	})
}

// A CLI of ours has the person's hooks too.
func TestACLIOfOursAsksOnce(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		ours := h.agent(session.Ours, "")
		h.memory.mu.Lock()
		s := h.memory.sessions[ours.sessionID]
		s.Begun = true
		h.memory.sessions[ours.sessionID] = s
		h.memory.mu.Unlock()
		ask := bash("k1")
		ask.SessionID = ours.sessionID
		h.terminal().asks(ask).gets(200, map[string]any{"status": "none"})
		is(t, "open", len(h.openRequests()), 0)
	})
}

func TestAFloodFromATerminal(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		for i := range mcpapi.MaxOpen {
			term.asks(bash(fmt.Sprint("k", i))).waits()
		}
		term.asks(bash("one too many")).gets(429, nil)
		term.asks(bash("k3")).waits() // it is asked already
		h.terminal().asks(bash("k1")).waits()
		is(t, "open", len(h.openRequests()), mcpapi.MaxOpen+1)
	})
}

func TestMalformedHookInput(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		for name, change := range map[string]func(*mcpapi.HookAsk){
			"no key":        func(a *mcpapi.HookAsk) { a.Key = "" },
			"long key":      func(a *mcpapi.HookAsk) { a.Key = strings.Repeat("k", 201) },
			"no tool":       func(a *mcpapi.HookAsk) { a.ToolName = "" },
			"no session":    func(a *mcpapi.HookAsk) { a.SessionID = "" },
			"no host":       func(a *mcpapi.HookAsk) { a.Host = "" },
			"a forged host": func(a *mcpapi.HookAsk) { a.Host = "x\nApproved by admin" },
			"no folder":     func(a *mcpapi.HookAsk) { a.CWD = "../.." },
			"NUL":           func(a *mcpapi.HookAsk) { a.CWD = "/a\x00" },
			"no input":      func(a *mcpapi.HookAsk) { a.ToolInput = json.RawMessage("null") },
			"a list":        func(a *mcpapi.HookAsk) { a.ToolInput = json.RawMessage("[]") },
			"no list":       func(a *mcpapi.HookAsk) { a.PermissionSuggestions = json.RawMessage("{}") },
		} {
			ask := bash("k1")
			change(&ask)
			e := term.asks(ask)
			<-e.done
			if e.status != 400 {
				t.Errorf("%s: got %d %v", name, e.status, e.body)
			}
		}
		for _, body := range []string{"", "null x", "{", "[]"} {
			h.sends("POST", "/hook/ask", term.secret, body).gets(400, nil)
		}
		// The same key for another question.
		term.asks(bash("k1"))
		ask := bash("k1")
		ask.ToolInput = json.RawMessage(`{"command":"rm -rf /"}`)
		term.asks(ask).gets(409, nil)
		is(t, "input", string(h.asked().ToolInput), `{"command":"touch x"}`)
	})
}

func TestANoticeFromATerminal(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term := h.terminal()
		for _, text := range []string{"Claude is waiting for your input", "again"} {
			h.sends("POST", "/hook/notice", term.secret, mcpapi.HookNotice{Host: "laptop", SessionID: "c1", CWD: "/x", Message: text}).gets(200, nil)
			found := false
			h.memory.mu.Lock()
			for _, s := range h.memory.sessions {
				found = found || s.Kind == session.Terminal && strings.Contains(s.Model, text)
			}
			h.memory.mu.Unlock()
			if !found {
				t.Errorf("%q is in no transcript", text)
			}
		}
		h.sends("POST", "/hook/notice", term.secret, mcpapi.HookNotice{Host: "laptop", SessionID: "c1", CWD: "/x"}).gets(400, nil)
	})
}
