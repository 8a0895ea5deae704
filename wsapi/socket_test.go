package wsapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestOneOfTwoTabsWins(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	ada, grace := h.OpenTab(account.Admin), h.OpenTab(account.Member)
	r, answered := h.Ask(id, "a", nil)
	for _, tab := range []*apitest.Tab{ada, grace} {
		f := tab.AwaitState(id, 1)
		first := f["pending_request"].(map[string]any)
		if first["request_id"] != r.RequestID || first["input_hash"] != r.InputHash {
			t.Fatalf("got %v, want the request %s", first, r.RequestID)
		}
	}
	if a := ada.Do("pending_request_response", apitest.Deny(r, "Use pnpm")); a.Result != wire.Applied {
		t.Fatalf("got %+v, want applied", a)
	}
	got := <-answered
	if got.Status != pending.Denied || got.Resolution.Answer.Message != "Use pnpm" || got.Resolution.Actor.Name != "admin-user" {
		t.Fatalf("the asker got %+v", got.Resolution)
	}
	for _, tab := range []*apitest.Tab{ada, grace} {
		if f := tab.AwaitState(id, 0); f["pending_request"] != nil {
			t.Fatalf("pending_request is still there: %v", f)
		}
	}
	a := grace.Do("pending_request_response", apitest.Allow(r))
	if a.Result != wire.AlreadyResolved || a.Resolved == nil || a.Resolved.Outcome != pending.Denied ||
		a.Resolved.By == nil || *a.Resolved.By != "admin-user" || a.Resolved.At == 0 || a.Resolved.Summary != "Denied by admin-user: Use pnpm" {
		t.Fatalf("the loser got %+v, want who, what and when", a)
	}
}

// TestOppositeAnswersAtOneInstant races an allow against a deny, 50 times or 1,000.
func TestOppositeAnswersAtOneInstant(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	ada, grace := h.OpenTab(account.Admin), h.OpenTab(account.Member)
	rounds := 50
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		rounds = 1000
	}
	for i := range rounds {
		r, answered := h.Ask(id, strconv.Itoa(i), nil)
		var wg sync.WaitGroup
		commands := make([]string, 2)
		wg.Go(func() { commands[0] = ada.Send("pending_request_response", apitest.Allow(r)) })
		wg.Go(func() { commands[1] = grace.Send("pending_request_response", apitest.Deny(r, "no")) })
		wg.Wait()
		acks := []wire.Ack{ada.AwaitAck(commands[0]), grace.AwaitAck(commands[1])}
		names, outcomes := []string{"admin-user", "member-user"}, []pending.Status{pending.Answered, pending.Denied}
		winner := 0
		if acks[1].Result == wire.Applied {
			winner = 1
		}
		lost := acks[1-winner]
		if acks[winner].Result != wire.Applied || lost.Result != wire.AlreadyResolved ||
			lost.Resolved == nil || *lost.Resolved.By != names[winner] || lost.Resolved.Outcome != outcomes[winner] {
			t.Fatalf("round %d: got %+v and %+v, want one winner and the loser told of them", i, acks[0], acks[1])
		}
		if got := <-answered; got.Resolution.Actor.Name != names[winner] || got.Status != outcomes[winner] {
			t.Fatalf("round %d: the asker got %+v, want what %s said", i, got.Resolution, names[winner])
		}
	}
}

func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	cookie, token := h.Cookie(), apitest.Bearer(h.Token(account.Viewer))
	own := apitest.Header("Origin", h.Web.URL)
	for _, row := range []struct {
		name   string
		ways   []apitest.RequestOption
		status int
		code   string
	}{
		{"7.22 nobody", nil, 401, "not_signed_in"},
		{"7.22 nobody from our page", []apitest.RequestOption{own}, 401, "not_signed_in"},
		{"7.22 unknown token", []apitest.RequestOption{apitest.Bearer("x")}, 401, "not_signed_in"},
		{"7.2 another host", []apitest.RequestOption{token, func(r *http.Request) { r.Host = "evil.com" }, apitest.Header("Origin", "http://evil.com")}, 421, "wrong_host"},
		{"7.7 cookie from another site", []apitest.RequestOption{cookie, apitest.Header("Origin", "http://evil.com")}, 403, "wrong_origin"},
		{"7.8 cookie without an origin", []apitest.RequestOption{cookie}, 403, "wrong_origin"},
		{"7.9 cookie from nowhere", []apitest.RequestOption{cookie, apitest.Header("Origin", "null")}, 403, "wrong_origin"},
		{"7.10 cookie from another port", []apitest.RequestOption{cookie, apitest.Header("Origin", "http://127.0.0.1:1")}, 403, "wrong_origin"},
		{"7.11 cookie from another scheme", []apitest.RequestOption{cookie, apitest.Header("Origin", strings.Replace(h.Web.URL, "http", "https", 1))}, 403, "wrong_origin"},
		{"7.12 cookie from a longer name", []apitest.RequestOption{cookie, apitest.Header("Origin", h.Web.URL+".evil.com")}, 403, "wrong_origin"},
		{"two origins", []apitest.RequestOption{cookie, own, func(r *http.Request) { r.Header.Add("Origin", "http://evil.com") }}, 403, "wrong_origin"},
		{"token from another site", []apitest.RequestOption{token, apitest.Header("Origin", "http://evil.com")}, 403, "wrong_origin"},
		{"token from nowhere", []apitest.RequestOption{token, apitest.Header("Origin", "null")}, 403, "wrong_origin"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, resp, err := h.TryDial(t.Context(), row.ways...)
			if err == nil || resp == nil {
				t.Fatalf("the upgrade went through: %v", err)
			}
			data, err := io.ReadAll(resp.Body) // the library keeps the first kilobyte
			if err != nil {
				t.Fatal(err)
			}
			apitest.CheckRefusal(t, apitest.Response{Status: resp.StatusCode, Header: resp.Header, Body: data}, row.status, row.code)
		})
	}
	for name, ways := range map[string][]apitest.RequestOption{
		"cookie from our page":     {cookie, own},
		"token of a script":        {token},
		"token and our own origin": {token, own},
	} {
		if _, _, err := h.TryDial(t.Context(), ways...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	apitest.CheckRefusal(t, h.Call("GET", "/ws", nil, token), 426, "upgrade_required")
	apitest.CheckRefusal(t, quietHarness(t).CallAs(account.Viewer, "GET", "/ws", nil, apitest.Header("Upgrade", "websocket")), 503, "unavailable")
}

func TestFirstFrames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	running := h.NewSession("runs")
	waiting := h.NewSession("waits")
	over := h.NewSession("over")
	r, _ := h.Ask(waiting, "a", apitest.AsQuestions)
	h.SetState(over, session.Dead)
	b := h.Dial(account.Member)
	hello := b.Next()
	user := hello["user"].(map[string]any)
	if hello["type"] != "hello" || hello["protocol"] != 1.0 || hello["server_version"] != "0.0.0-test" || hello["node_id"] != "node-1" ||
		user["name"] != "member-user" || user["role"] != "member" || hello["server_time"].(float64) < 1e9 {
		t.Fatalf("got %v", hello)
	}
	all := b.Next()
	byID := map[string]map[string]any{}
	for _, p := range all["processes"].([]any) {
		p := p.(map[string]any)
		byID[p["session_id"].(string)] = p
	}
	if all["type"] != "active_processes" || len(byID) != 2 || byID[running] == nil || byID[waiting] == nil {
		t.Fatalf("got %v, want what runs and what waits", all)
	}
	if p := byID[running]; p["pending_request"] != nil || len(p["pending_requests"].([]any)) != 0 {
		t.Errorf("got %v, want no pending_request and an empty list", p)
	}
	// A tab that comes back has its forms again, whole.
	for range 2 {
		again := h.Dial(account.Viewer)
		again.Next()
		all := again.Next()
		found := false
		for _, p := range all["processes"].([]any) {
			if list := p.(map[string]any)["pending_requests"].([]any); len(list) == 1 {
				req := list[0].(map[string]any)
				form := req["form"].(map[string]any)
				found = req["request_id"] == r.RequestID && len(form["questions"].([]any)) == 2
			}
		}
		if !found {
			t.Fatalf("got %v, want the form of %s", all, r.RequestID)
		}
		_ = again.Conn.CloseNow()
	}
}

func TestStaleAnswers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	gone, _ := h.Ask(id, "gone", nil)
	if err := h.Registry.Withdraw(t.Context(), gone.RequestID, "Claude withdrew this request."); err != nil {
		t.Fatal(err)
	}
	open, _ := h.Ask(id, "open", nil)
	other := h.NewSession("other")

	a := tab.Do("pending_request_response", apitest.Allow(gone))
	if a.Result != wire.Stale || a.Resolved == nil || a.Resolved.Outcome != pending.Withdrawn || a.Resolved.By != nil ||
		a.Resolved.At == 0 || a.Resolved.Summary != "Claude withdrew this request." {
		t.Errorf("withdrawn: got %+v, want stale with what and when", a)
	}
	unknown := apitest.Allow(open)
	unknown["request_id"] = "none"
	hash := apitest.Allow(open)
	hash["input_hash"] = pending.HashInput(json.RawMessage(`{"command":"ls"}`))
	misrouted := apitest.Allow(open)
	misrouted["session_id"] = other
	for name, fields := range map[string]map[string]any{"unknown": unknown, "another input": hash, "of another session": misrouted} {
		if a := tab.Do("pending_request_response", fields); a.Result != wire.Stale || a.Error == nil || a.Error.Message == "" {
			t.Errorf("%s: got %+v, want stale with a sentence", name, a)
		}
	}
	empty := map[string]any{"session_id": id, "request_id": open.RequestID, "request_type": "tool_approval"}
	if a := tab.Do("pending_request_response", empty); a.Result != wire.Rejected || a.Error.Code != "invalid_answer" {
		t.Errorf("no decision: got %+v, want rejected", a)
	}
	if open, err := h.Registry.Open(t.Context(), id); err != nil || len(open) != 1 {
		t.Errorf("got %v, %v, want the request still open", open, err)
	}
}

// TestRepeatedAnswer sends the same command again, on the same socket and on a
// new one, as a tab does that lost its connection before the ack.
func TestRepeatedAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, answered := h.Ask(id, "a", nil)
	first, second := h.OpenTab(account.Member), h.OpenTab(account.Member)
	command := apitest.Allow(r)
	command["command_id"] = uuid.NewString()
	for _, tab := range []*apitest.Tab{first, first, second} {
		if a := tab.Do("pending_request_response", command); a.Result != wire.Applied || a.CommandID != command["command_id"] {
			t.Fatalf("got %+v, want applied again", a)
		}
	}
	<-answered
	send := map[string]any{"session_id": id, "text": "Go on", "command_id": uuid.NewString()}
	var acks []wire.Ack
	for _, tab := range []*apitest.Tab{first, first, second} {
		acks = append(acks, tab.Do("send_message", send))
	}
	if acks[0].Result != wire.Applied || acks[0].MessageID == "" || !reflect.DeepEqual(acks[0], acks[1]) || !reflect.DeepEqual(acks[0], acks[2]) {
		t.Errorf("got %+v, want the same ack three times", acks)
	}
	if asked := h.Driver.Calls(); len(asked) != 1 {
		t.Errorf("sent %v, want one message", asked)
	}
	other := h.OpenTab(account.Admin)
	if a := other.Do("pending_request_response", command); a.Result != wire.AlreadyResolved {
		t.Errorf("another person with the same command id got %+v", a)
	}
}

func TestCommandsOnTheSocket(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	question, _ := h.Ask(id, "q", apitest.AsQuestions)
	tab := h.OpenTab(account.Admin)
	for _, row := range []struct {
		kind   string
		fields map[string]any
		asked  string
	}{
		{"send_message", map[string]any{"session_id": id, "text": "Hi"}, `"Hi" 0`},
		{"create_session", map[string]any{"cwd": "/w", "prompt": "Go"}, `"Go" demo=false`},
		{"create_session", map[string]any{"demo": true}, `"" demo=true`},
		{"resume_session", map[string]any{"session_id": id}, "resume " + id + " by admin-user"},
		{"fork_session", map[string]any{"session_id": id}, "fork " + id},
		{"interrupt", map[string]any{"session_id": id}, "interrupt " + id},
		{"kill_process", map[string]any{"session_id": id, "force": true}, "kill " + id + " true Ended by admin-user."},
		{"set_model", map[string]any{"session_id": id, "model": "opus"}, "model " + id + " opus"},
		{"set_permission_mode", map[string]any{"session_id": id, "permission_mode": "plan"}, "mode " + id + " plan"},
		{"subscribe", map[string]any{"session_id": id}, ""},
		{"typing", map[string]any{"session_id": id}, ""},
		{"unsubscribe", map[string]any{"session_id": id}, ""},
		{"draft", map[string]any{"request_id": question.RequestID, "value": map[string]any{"x": 1}}, ""},
		{"draft", map[string]any{"request_id": question.RequestID, "session_id": id, "value": nil}, ""},
		{"ping", nil, ""},
	} {
		a := tab.Do(row.kind, row.fields)
		asked := strings.Join(h.Driver.Calls(), "\n")
		if a.Result != wire.Applied || !strings.HasSuffix(asked, row.asked) {
			t.Errorf("%s: got %+v and %s, want %q", row.kind, a, asked, row.asked)
		}
		if (row.kind == "create_session" || row.kind == "fork_session") && a.SessionID == "" {
			t.Errorf("%s: the ack names no session", row.kind)
		}
	}
	before := len(h.Driver.Calls())
	for name, row := range map[string]struct{ text, code string }{
		"no JSON":            {`{`, "invalid"},
		"no object":          {`[]`, "invalid"},
		"no type":            {`{"command_id":"018f3a52-0000-4000-8000-00000000c0de"}`, "unknown_type"},
		"unknown type":       {`{"type":"shutdown","command_id":"018f3a52-0000-4000-8000-00000000c0de"}`, "unknown_type"},
		"unknown field":      {`{"type":"ping","command_id":"018f3a52-0000-4000-8000-00000000c0de","role":"admin"}`, "invalid"},
		"repeated field":     {`{"type":"ping","type":"interrupt","command_id":"018f3a52-0000-4000-8000-00000000c0de","session_id":"` + id + `"}`, "invalid"},
		"another case":       {`{"type":"ping","Command_ID":"018f3a52-0000-4000-8000-00000000c0de"}`, "invalid"},
		"no command id":      {`{"type":"interrupt","session_id":"` + id + `"}`, "invalid"},
		"command id no UUID": {`{"type":"interrupt","command_id":"1","session_id":"` + id + `"}`, "invalid"},
		"no session":         {`{"type":"interrupt","command_id":"018f3a52-0000-4000-8000-00000000c0de"}`, "invalid"},
		"unknown session":    {`{"type":"subscribe","command_id":"018f3a52-0000-4000-8000-00000000c0de","session_id":"none"}`, "not_found"},
		"deep":               {`{"type":"draft","command_id":"018f3a52-0000-4000-8000-00000000c0de","request_id":"x","value":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "invalid"},
		"something after":    {`{"type":"ping","command_id":"018f3a52-0000-4000-8000-00000000c0de"} {}`, "invalid"},
	} {
		if err := tab.Conn.Write(t.Context(), websocket.MessageText, []byte(row.text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := tab.Until("the ack", func(f map[string]any) bool { return f["type"] == "ack" })
		e, _ := f["error"].(map[string]any)
		if f["result"] != "rejected" || e["code"] != row.code || e["message"] == "" {
			t.Errorf("%s: got %v, want rejected as %s", name, f, row.code)
		}
	}
	if after := len(h.Driver.Calls()); after != before {
		t.Errorf("a rejected command did something: %v", h.Driver.Calls()[before:])
	}
}

func TestRolesOnTheSocket(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "a", nil)
	viewer := h.OpenTab(account.Viewer)
	for kind, need := range apitest.CommandRoles() {
		fields := map[string]any{}
		switch kind {
		case "pending_request_response":
			fields = apitest.Allow(r)
		case "draft":
			fields = map[string]any{"request_id": r.RequestID, "value": 1}
		case "create_session":
			fields = map[string]any{"demo": true}
		case "ping":
		case "looking":
			fields["looking"] = true
		case "noticed", "extend", "undo", "withdraw_approval":
			fields["request_id"] = r.RequestID
		default:
			fields["session_id"] = id
		}
		switch kind {
		case "send_message":
			fields["text"] = "x"
		case "set_model":
			fields["model"] = "opus"
		case "set_permission_mode":
			fields["permission_mode"] = "plan"
		}
		a := viewer.Do(kind, fields)
		if need == "viewer" && a.Result != wire.Applied || need != "viewer" && (a.Result != wire.Rejected || a.Error.Code != "forbidden") {
			t.Errorf("%s from a viewer: got %+v", kind, a)
		}
	}
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("a viewer did %v", asked)
	}
	member := h.OpenTab(account.Member)
	if a := member.Do("kill_process", map[string]any{"session_id": id}); a.Result != wire.Rejected || a.Error.Code != "forbidden" {
		t.Errorf("a member ended another person's session: %+v", a)
	}
}

// TestSignInEndsOnOpenSockets ends sign-ins here and elsewhere; reliability.md
// attacks 34 and 38.
func TestSignInEndsOnOpenSockets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		end  func(t *testing.T, h *harness, id account.Identity)
		code websocket.StatusCode
		word string
	}{
		{"revoked here", func(t *testing.T, h *harness, id account.Identity) {
			if err := h.Directory.RevokeToken(t.Context(), id.Credential.CredentialID); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseSignedOut, "signed_out"},
		{"revoked by another program", func(t *testing.T, h *harness, id account.Identity) {
			if err := h.Store.RevokeCredential(t.Context(), id.Credential.CredentialID); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseSignedOut, "signed_out"},
		{"shut out", func(t *testing.T, h *harness, id account.Identity) {
			if err := h.Directory.SetDisabled(t.Context(), id.User.UserID, true); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseSignedOut, "signed_out"},
		{"shut out by another program", func(t *testing.T, h *harness, id account.Identity) {
			out := true
			if _, err := h.Store.ChangeUser(t.Context(), id.User.UserID, account.UserChange{Disabled: &out}); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseSignedOut, "signed_out"},
		{"demoted here", func(t *testing.T, h *harness, id account.Identity) {
			if err := h.Directory.SetRole(t.Context(), id.User.UserID, account.Viewer); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseGoingAway, "role_changed"},
		{"demoted by another program", func(t *testing.T, h *harness, id account.Identity) {
			id.User.Role = account.Viewer
			if err := h.Store.PutUser(t.Context(), id.User); err != nil {
				t.Fatal(err)
			}
		}, wire.CloseGoingAway, "role_changed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			tab, other := h.OpenTab(account.Member), h.OpenTab(account.Admin)
			id, err := h.Directory.Identify(t.Context(), account.APIToken, h.Token(account.Member))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			row.end(t, h, id)
			code, last := tab.AwaitClose()
			if code != row.code || last["type"] != "error" || last["code"] != row.word || last["message"] == "" {
				t.Errorf("got close %d after %v, want %d after the error %s", code, last, row.code, row.word)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("closed after %v, want about a second", took)
			}
			if a := other.Do("ping", nil); a.Result != wire.Applied {
				t.Errorf("another person's tab: %+v", a)
			}
		})
	}
}

// TestDemotedBetweenTwoCommands gives a command at once after the role changed,
// before anything else could notice.
func TestDemotedBetweenTwoCommands(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	who, err := h.Directory.Identify(t.Context(), account.APIToken, h.Token(account.Member))
	if err != nil {
		t.Fatal(err)
	}
	who.User.Role = account.Viewer
	if err := h.Store.PutUser(t.Context(), who.User); err != nil {
		t.Fatal(err)
	}
	tab.Send("interrupt", map[string]any{"session_id": id})
	if code, _ := tab.AwaitClose(); code != wire.CloseGoingAway {
		t.Errorf("got close %d, want %d", code, wire.CloseGoingAway)
	}
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("a demoted member did %v", asked)
	}
}

func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.Web = httptest.NewServer(h.Server)
	h.Client = h.Web.Client()
	defer h.Web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Hub.Run(ctx) }()
	var tab *apitest.Tab
	for tab == nil { // until Run has begun
		tab, _, _ = h.TryDial(t.Context(), apitest.Bearer(h.Token(account.Member)))
	}
	id := h.NewSession("one")
	h.Driver.Mu.Lock()
	h.Driver.BlockKill = make(chan struct{}) // a kill that never ends
	h.Driver.Mu.Unlock()
	tab.Send("kill_process", map[string]any{"session_id": id})
	cancel()
	if code, _ := tab.AwaitClose(); code != wire.CloseGoingAway {
		t.Errorf("got close %d, want %d", code, wire.CloseGoingAway)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	_, resp, err := h.TryDial(t.Context(), apitest.Bearer(h.Token(account.Member)))
	if err == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %v, %v, want 503 with Retry-After", resp, err)
	}
}

func TestMessagesThatEndTheConnection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	large := func(kind string, n int) []byte {
		return []byte(`{"type":"` + kind + `","command_id":"018f3a52-0000-4000-8000-00000000c0de","session_id":"` + id + `","text":"` + strings.Repeat("x", n) + `"}`)
	}
	for name, row := range map[string]struct {
		role account.Role
		kind websocket.MessageType
		data []byte
		code websocket.StatusCode
	}{
		"binary":                    {account.Admin, websocket.MessageBinary, []byte(`{}`), websocket.StatusUnsupportedData},
		"not UTF-8":                 {account.Admin, websocket.MessageText, []byte("{\"\xff\":1}"), websocket.StatusInvalidFramePayloadData},
		"a large small command":     {account.Admin, websocket.MessageText, large("interrupt", command.SmallLimit), websocket.StatusMessageTooBig},
		"large without a type":      {account.Admin, websocket.MessageText, []byte(`{"text":"` + strings.Repeat("x", command.SmallLimit) + `"}`), websocket.StatusMessageTooBig},
		"large from a viewer":       {account.Viewer, websocket.MessageText, large("send_message", command.SmallLimit), websocket.StatusMessageTooBig},
		"an answer beyond its size": {account.Admin, websocket.MessageText, large("pending_request_response", command.AnswerLimit), websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := h.OpenTab(row.role)
			// The server may end the connection before it has read everything.
			_ = tab.Conn.Write(t.Context(), row.kind, row.data)
			if code, _ := tab.AwaitClose(); code != row.code && code != -1 || code == -1 && len(row.data) < 1<<20 {
				t.Errorf("got close %d, want %d", code, row.code)
			}
		})
	}
}

func TestLargeMessagesArrive(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	data := bytes.Repeat([]byte("picture "), 128<<10) // 1 MB
	a := tab.Do("send_message", map[string]any{"session_id": id, "text": "Look", "attachments": []wire.Attachment{{Name: "a.png", MediaType: "image/png", Data: data}}})
	if a.Result != wire.Applied {
		t.Fatalf("got %+v, %+v", a, a.Error)
	}
	queued, err := h.Store.QueuedMessages(t.Context(), id)
	if err != nil || len(queued) != 1 {
		t.Fatalf("queued: %+v, %v", queued, err)
	}
	kept, err := h.Attachments.Read(t.Context(), queued[0].Attachments[0].AttachmentID)
	if err != nil || !bytes.Equal(kept, data) {
		t.Fatalf("the attachment did not arrive whole: %v", err)
	}
	r, answered := h.Ask(id, "w", nil)
	fields := apitest.Allow(r)
	fields["updated_input"] = map[string]any{"command": strings.Repeat("x", 1<<20)}
	if a := tab.Do("pending_request_response", fields); a.Result != wire.Applied {
		t.Fatalf("got %+v, %+v", a, a.Error)
	}
	if got := <-answered; len(got.Resolution.Answer.UpdatedInput) < 1<<20 {
		t.Error("the edited input did not arrive whole")
	}
}

func TestOldProtocol(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.Web.URL, "http")+"/ws?protocol=0", &websocket.DialOptions{
		HTTPClient: h.Client, HTTPHeader: http.Header{"Authorization": {"Bearer " + h.Token(account.Viewer)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	b := apitest.NewTab(t, conn)
	if code, last := b.AwaitClose(); code != wire.CloseOldVersion || last["code"] != "old_protocol" {
		t.Errorf("got close %d after %v", code, last)
	}
}

// TestAnswersDoNotWaitForKills gives an answer while a kill on the same socket
// takes its time.
func TestAnswersDoNotWaitForKills(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "a", nil)
	tab := h.OpenTab(account.Admin)
	block := make(chan struct{})
	h.Driver.Mu.Lock()
	h.Driver.BlockKill = block
	h.Driver.Mu.Unlock()
	kill := tab.Send("kill_process", map[string]any{"session_id": id})
	if a := tab.Do("pending_request_response", apitest.Allow(r)); a.Result != wire.Applied {
		t.Fatalf("got %+v, %+v", a, a.Error)
	}
	close(block)
	if a := tab.AwaitAck(kill); a.Result != wire.Applied {
		t.Fatalf("got %+v, %+v", a, a.Error)
	}
}

func TestOtherTabsLearnOfEverything(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tab := h.OpenTab(account.Member)
	id := h.NewSession("new")
	if f := tab.AwaitState(id, 0); f["title"] != "new" {
		t.Fatalf("a session made by another tab: got %v", f)
	}
	if a := h.CallAs(account.Member, "PATCH", "/api/sessions/"+id, `{"title":"renamed"}`); a.Status != 200 {
		t.Fatal(a.Status)
	}
	tab.Until("the new title", func(f map[string]any) bool { return f["type"] == "process_state" && f["title"] == "renamed" })
	h.SetState(id, session.Dead)
	tab.Until("its end", func(f map[string]any) bool { return f["type"] == "process_state" && f["state"] == "dead" })
	if a := h.CallAs(account.Admin, "DELETE", "/api/sessions/"+id, nil); a.Status != 204 {
		t.Fatal(a.Status)
	}
	f := tab.Until("its deletion", func(f map[string]any) bool { return f["type"] == "process_state" && f["deleted"] == true })
	if f["session_id"] != id || f["state"] != "dead" || f["version"] != float64(wire.MaxSafeInteger) || len(f["pending_requests"].([]any)) != 0 {
		t.Fatalf("got %v", f)
	}
}

// TestVersionsNeverFall lets many writers change one session while a tab reads.
func TestVersionsNeverFall(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tabs := []*apitest.Tab{h.OpenTab(account.Member), h.OpenTab(account.Viewer)}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				h.SetState(id, session.AssistantTurn)
			}
		})
	}
	wg.Wait()
	want, err := h.Store.ProcessState(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range tabs {
		last := 0.0
		tab.Until("the last version", func(f map[string]any) bool {
			if f["type"] != "process_state" {
				return false
			}
			v := f["version"].(float64)
			if v < last {
				t.Errorf("version %v after %v", v, last)
			}
			last = v
			return v == float64(want.Version)
		})
	}
}

// defectiveRequests fails in a way that nobody expects.
type defectiveRequests struct{ command.Requests }

func (defectiveRequests) Answer(context.Context, pending.Submission) (pending.Request, error) {
	panic("a defect")
}

// defectiveDriver fails in a way that nobody expects.
type defectiveDriver struct{ command.Driver }

func (defectiveDriver) SetModel(context.Context, string, string) error { panic("a defect") }

// TestDefectEndsTheTabAlone: the server goes on when a command of a tab panics, also one that runs
// beside others.
func TestDefectEndsTheTabAlone(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(h *harness, tab *apitest.Tab, r pending.Request){
		"at once": func(h *harness, tab *apitest.Tab, r pending.Request) {
			tab.Send("pending_request_response", apitest.Allow(r))
		},
		"slow": func(h *harness, tab *apitest.Tab, r pending.Request) {
			tab.Send("set_model", map[string]any{"session_id": r.SessionID, "model": "opus"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(o *apitest.Options) {
				o.Command.Requests, o.Command.Driver = defectiveRequests{o.Command.Requests}, defectiveDriver{o.Command.Driver}
			})
			id := h.NewSession("one")
			r, _ := h.Ask(id, "a", nil)
			tab, other := h.OpenTab(account.Member), h.OpenTab(account.Member)
			send(h, tab, r)
			for {
				if _, _, err := tab.Conn.Read(t.Context()); err != nil {
					break
				}
			}
			other.Do("ping", nil)
			for h.Hub.Tabs() != 1 {
				runtime.Gosched() // the tab leaves after its connection has ended
			}
			if n := h.Hub.Faults(); n != 1 {
				t.Errorf("got %d faults, want 1", n)
			}
		})
	}
}
