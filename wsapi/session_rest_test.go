package wsapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

func quietHouse(t testing.TB, change ...func(*wsapi.Options)) *house {
	t.Helper()
	return openHouse(t, filepath.Join(t.TempDir(), "sayso.db"), change...)
}

func TestCreateSessionOnce(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	body := map[string]any{"cwd": "/w", "prompt": "Hello", "command_id": uuid.NewString()}
	h.token(account.Member)
	ids := make(chan string, 8)
	var wg sync.WaitGroup
	for range cap(ids) {
		wg.Go(func() {
			a := h.as(account.Member, "POST", "/api/sessions", body)
			var out wire.Outcome
			if err := json.Unmarshal(a.body, &out); err != nil || a.status != 201 || out.Result != wire.Applied {
				t.Errorf("got %d %s, %v", a.status, a.body, err)
			}
			ids <- out.SessionID
		})
	}
	wg.Wait()
	close(ids)
	var first string
	for id := range ids {
		if first == "" {
			first = id
		}
		if id == "" || id != first {
			t.Errorf("got session %q, want %q from every repetition", id, first)
		}
	}
	if asked := h.driver.asked(); len(asked) != 1 {
		t.Fatalf("started %v, want one session", asked)
	}
	other := h.as(account.Admin, "POST", "/api/sessions", body)
	var out wire.Outcome
	other.into(t, &out)
	if out.SessionID == first {
		t.Error("another person's command of the same id gave the same session")
	}
}

// TestRepeatedCommandAfterCrash gives a command again to a server that knows
// nothing of it but what is stored.
func TestRepeatedCommandAfterCrash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	h := openHouse(t, path)
	id := h.session("one")
	send := map[string]any{"text": "Go on", "command_id": uuid.NewString()}
	refused := map[string]any{"command_id": uuid.NewString()}
	a := h.as(account.Member, "POST", "/api/sessions/"+id+"/messages", send)
	if a.status != 202 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	h.driver.failWith(orchestrator.ErrNotRunning)
	r := h.as(account.Member, "POST", "/api/sessions/"+id+"/interrupt", refused)
	checkRefusal(t, r, 409, "not_running")

	again := openHouse(t, path)
	again.tokens = h.tokens
	if b := again.as(account.Member, "POST", "/api/sessions/"+id+"/messages", send); b.status != a.status || string(b.body) != string(a.body) {
		t.Errorf("got %d %s, want the first ack %s", b.status, b.body, a.body)
	}
	if b := again.as(account.Member, "POST", "/api/sessions/"+id+"/interrupt", refused); b.status != r.status || string(b.body) != string(r.body) {
		t.Errorf("got %d %s, want the first refusal %s", b.status, b.body, r.body)
	}
	if asked := again.driver.asked(); len(asked) != 0 {
		t.Errorf("the repetition did something: %v", asked)
	}
}

// TestFaultsAreNotRemembered: after a fault of the server the same command may
// still be carried out.
func TestFaultsAreNotRemembered(t *testing.T) {
	t.Parallel()
	passing := errors.New("locked")
	h := quietHouse(t, func(o *wsapi.Options) {
		o.ClassifyStoreError = func(err error) wire.NoticeCode {
			if errors.Is(err, passing) {
				return wire.Unavailable
			}
			return ""
		}
	})
	id := h.session("one")
	path := "/api/sessions/" + id + "/interrupt"
	body := map[string]any{"command_id": uuid.NewString()}
	h.driver.failWith(errors.New("the disk holds canary-1234"))
	a := h.as(account.Member, "POST", path, body)
	checkRefusal(t, a, 500, "internal")
	if strings.Contains(string(a.body), "canary") {
		t.Errorf("the refusal tells what only the log may say: %s", a.body)
	}
	for _, err := range []error{passing, orchestrator.ErrClosing} {
		h.driver.failWith(err)
		a := h.as(account.Member, "POST", path, body)
		checkRefusal(t, a, 503, "unavailable")
		if a.header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
	}
	h.driver.failWith(nil)
	if a := h.as(account.Member, "POST", path, body); a.status != 202 {
		t.Fatalf("got %d %s, want it carried out now", a.status, a.body)
	}
}

func TestSessionLifeOverREST(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	id := h.session("Login page")
	h.session("Other")
	var list wire.SessionList
	h.as(account.Viewer, "GET", "/api/sessions?limit=1", nil).into(t, &list)
	if len(list.Sessions) != 1 || list.Next == nil {
		t.Fatalf("got %+v, want one of two and a cursor", list)
	}
	var rest wire.SessionList
	h.as(account.Viewer, "GET", "/api/sessions?cursor="+*list.Next, nil).into(t, &rest)
	if len(rest.Sessions) != 1 || rest.Sessions[0].SessionID == list.Sessions[0].SessionID || rest.Next != nil {
		t.Fatalf("got %+v, want the other one", rest)
	}
	h.as(account.Viewer, "GET", "/api/sessions?q=login", nil).into(t, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Fatalf("got %+v, want the one that was searched", list)
	}
	checkRefusal(t, h.as(account.Viewer, "GET", "/api/sessions?limit=-1", nil), 400, "invalid")
	checkRefusal(t, h.as(account.Viewer, "GET", "/api/sessions?cursor=none", nil), 400, "invalid")

	var ses wire.Session
	h.as(account.Member, "PATCH", "/api/sessions/"+id, `{"title":"Log in","archived":true}`).into(t, &ses)
	if ses.Title != "Log in" || !ses.Archived {
		t.Fatalf("got %+v", ses)
	}
	checkRefusal(t, h.as(account.Member, "PATCH", "/api/sessions/"+id, `{"title":""}`), 400, "invalid")
	var read wire.Session
	h.as(account.Viewer, "GET", "/api/sessions/"+id, nil).into(t, &read)
	if read.ProcessState == nil || read.ProcessState.Title != "Log in" || read.ProcessState.State != session.AssistantTurn {
		t.Fatalf("got %+v, want it with its state", read)
	}
	h.as(account.Viewer, "GET", "/api/sessions?archived=true&q=log", nil).into(t, &list)
	if len(list.Sessions) != 1 {
		t.Fatalf("got %+v, want the archived one", list)
	}
	checkRefusal(t, h.as(account.Member, "DELETE", "/api/sessions/"+id, nil), 403, "forbidden")
	if got := h.as(account.Admin, "DELETE", "/api/sessions/"+id, nil); got.status != http.StatusNoContent {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	checkRefusal(t, h.as(account.Admin, "GET", "/api/sessions/"+id, nil), 404, "not_found")
}

func TestTranscriptOverREST(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	id := h.session("one")
	h.say(id, 5, "x")
	var all []wire.TranscriptPage
	after := int64(0)
	for {
		a := h.as(account.Viewer, "GET", fmt.Sprintf("/api/sessions/%s/transcript?after=%d&limit=2", id, after), nil)
		var page struct {
			Items []map[string]any `json:"items"`
			Next  int64            `json:"next"`
			More  bool             `json:"more"`
			Total int64            `json:"total"`
		}
		a.into(t, &page)
		if page.Total != 5 {
			t.Fatalf("got %s, want a total of 5", a.body)
		}
		for _, it := range page.Items {
			if it["kind"] != "text" || it["text"] != "x" || it["agent_id"] != nil {
				t.Fatalf("got item %v, want the fields of its body beside the others", it)
			}
		}
		all = append(all, wire.TranscriptPage{Items: make([]wire.Item, len(page.Items)), Next: page.Next})
		after = page.Next
		if !page.More {
			break
		}
	}
	if len(all) != 3 || len(all[2].Items) != 1 {
		t.Fatalf("got %d pages, want 2+2+1 items", len(all))
	}
}

// say writes n items of text into a transcript and rings.
func (h *house) say(sessionID string, n int, text string) {
	h.t.Helper()
	var items []session.Item
	for range n {
		items = append(items, session.Item{Key: uuid.NewString(), At: time.Now(), Kind: session.ItemText, Body: wire.Encode(session.TextBody{Text: text})})
	}
	if err := h.store.PutItems(h.t.Context(), sessionID, items); err != nil {
		h.t.Fatal(err)
	}
	h.bell.Ring(sessionID)
}

func TestQueueOverREST(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	id := h.session("one")
	at := "/api/sessions/" + id + "/messages"
	for _, m := range []session.Message{
		{MessageID: "m1", SessionID: id, Text: "first", By: pending.Actor{Name: "Ada"}, CreatedAt: time.Unix(5, 0),
			Attachments: []session.Attachment{{Name: "a.txt", MediaType: "text/plain", Data: []byte("xyz")}}},
		{MessageID: "m2", SessionID: id, Text: "second", By: pending.Actor{Name: "Grace"}, CreatedAt: time.Unix(6, 0)},
	} {
		if _, err := h.store.QueueMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	list := func() string { return string(h.as(account.Viewer, "GET", at, nil).body) }
	want := `{"messages":[{"message_id":"m1","text":"first","attachments":[{"name":"a.txt","media_type":"text/plain","size":3}],"by":"Ada","created_at":5},` +
		`{"message_id":"m2","text":"second","attachments":[],"by":"Grace","created_at":6}]}`
	if got := list(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	checkRefusal(t, h.as(account.Viewer, "DELETE", at+"/m1", nil), 403, "forbidden")
	if a := h.as(account.Member, "DELETE", at+"/m1", nil); a.status != 204 {
		t.Errorf("got %d %s, want 204", a.status, a.body)
	}
	checkRefusal(t, h.as(account.Member, "DELETE", at+"/m1", nil), 409, "not_queued")
	checkRefusal(t, h.as(account.Member, "DELETE", "/api/sessions/none/messages/m2", nil), 404, "not_found")
	checkRefusal(t, h.as(account.Viewer, "GET", "/api/sessions/none/messages", nil), 404, "not_found")
	if got := list(); !strings.Contains(got, "m2") || strings.Contains(got, "m1") {
		t.Errorf("m2 alone should wait: %s", got)
	}
}

func TestCommandsOverREST(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	id := h.session("one")
	path := "/api/sessions/" + id
	for _, row := range []struct {
		role   account.Role
		route  string
		body   any
		status int
		asked  string
	}{
		{account.Member, "/messages", map[string]any{"text": "Hi", "attachments": []wire.Attachment{{Name: "a.txt", MediaType: "text/plain", Data: []byte("x")}}}, 202, `"Hi" 1`},
		{account.Member, "/messages", map[string]any{"text": "Hi", "session_id": id}, 202, `"Hi" 0`},
		{account.Member, "/interrupt", nil, 202, "interrupt " + id},
		{account.Admin, "/kill", `{"force":true}`, 202, "kill " + id + " true Ended by admin-user."},
		{account.Member, "/resume", nil, 202, "resume " + id + " by member-user"},
		{account.Member, "/fork", nil, 202, "fork " + id},
		{account.Member, "/model", `{"model":"opus"}`, 202, "model " + id + " opus"},
		{account.Member, "/permission_mode", `{"permission_mode":"plan"}`, 202, "mode " + id + " plan"},
	} {
		a := h.as(row.role, "POST", path+row.route, row.body)
		asked := h.driver.asked()
		if a.status != row.status || len(asked) == 0 || !strings.HasSuffix(asked[len(asked)-1], row.asked) {
			t.Errorf("%s: got %d %s and %v, want %d and %q", row.route, a.status, a.body, asked, row.status, row.asked)
		}
	}
	before := len(h.driver.asked())
	for _, row := range []struct {
		role   account.Role
		route  string
		body   any
		status int
		code   string
	}{
		{account.Member, "/kill", nil, 403, "forbidden"},
		{account.Member, "/messages", `{"text":""}`, 400, "invalid"},
		{account.Member, "/messages", `{}`, 400, "invalid"},
		{account.Member, "/messages", map[string]any{"text": "x", "session_id": "another"}, 400, "invalid"},
		{account.Member, "/messages", map[string]any{"text": "x", "command_id": "no uuid"}, 400, "invalid"},
		{account.Member, "/messages", map[string]any{"text": "x", "attachments": []wire.Attachment{{Name: "a", MediaType: "image/svg+xml", Data: []byte("x")}}}, 400, "invalid"},
		{account.Member, "/permission_mode", `{}`, 400, "invalid"},
		{account.Member, "/model", `{"model":{}}`, 400, "invalid"},
	} {
		checkRefusal(t, h.as(row.role, "POST", path+row.route, row.body), row.status, row.code)
	}
	checkRefusal(t, h.as(account.Admin, "POST", "/api/sessions/none/messages", `{"text":"x"}`), 404, "not_found")
	checkRefusal(t, h.as(account.Admin, "POST", "/api/sessions/none/kill", nil), 404, "not_found")
	for _, body := range []string{`{"prompt":"x"}`, `{"cwd":"/w"}`, `{"cwd":"/w","prompt":"x","owner":"me"}`} {
		checkRefusal(t, h.as(account.Member, "POST", "/api/sessions", body), 400, "invalid")
	}
	if after := len(h.driver.asked()); after != before {
		t.Errorf("a refused command did something: %v", h.driver.asked()[before:])
	}
	if a := h.as(account.Member, "POST", "/api/sessions", `{"demo":true}`); a.status != 201 {
		t.Errorf("a demo needs nothing: got %d %s", a.status, a.body)
	}
	h.driver.failWith(&orchestrator.InvalidError{Field: "cwd", Sentence: "This folder does not exist."})
	a := h.as(account.Member, "POST", "/api/sessions", `{"cwd":"/none","prompt":"x"}`)
	checkRefusal(t, a, 400, "invalid")
	if e := a.refusal(t); e.Field != "cwd" || e.Message != "This folder does not exist." {
		t.Errorf("got %+v, want the sentence of the orchestrator", e)
	}
}

func TestAnswerOverREST(t *testing.T) {
	t.Parallel()
	h := quietHouse(t)
	id := h.session("one")
	bash, answered := h.ask(id, "a", nil)
	question, _ := h.ask(id, "b", questions)

	var list wire.PendingList
	h.as(account.Viewer, "GET", "/api/pending", nil).into(t, &list)
	if len(list.PendingRequests) != 2 || list.PendingRequests[0].RequestID != bash.RequestID ||
		list.PendingRequests[0].SessionTitle != "one" || list.PendingRequests[1].Form == nil {
		t.Fatalf("got %+v, want both, oldest first", list)
	}

	path := "/api/pending/" + bash.RequestID + "/response"
	checkRefusal(t, h.as(account.Member, "POST", "/api/pending/none/response", `{"request_type":"tool_approval","decision":"allow"}`), 404, "not_found")
	checkRefusal(t, h.as(account.Member, "POST", path, map[string]any{"request_type": "tool_approval", "decision": "allow", "session_id": "another"}), 404, "not_found")
	checkRefusal(t, h.as(account.Member, "POST", path, map[string]any{"request_type": "tool_approval", "decision": "allow", "input_hash": "sha256:00"}), 409, "stale")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"request_type":"tool_approval","decision":"maybe"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"request_type":"tool_approval","decision":"allow","request_id":"other"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "POST", path, `{}`), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"decision":"allow"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"type":"pending_request_response","request_type":"tool_approval","decision":"allow"}`), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"request_type":"tool_approval"}`), 422, "invalid_answer")
	checkRefusal(t, h.as(account.Member, "POST", path, `{"request_type":"ask_user_question","answers":{"Which format?":"Summary"}}`), 422, "invalid_answer")
	questionPath := "/api/pending/" + question.RequestID + "/response"
	checkRefusal(t, h.as(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","answers":{"Which format?":"Summary"}}`), 422, "invalid_answer")
	checkRefusal(t, h.as(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","decision":"allow"}`), 422, "invalid_answer")

	command := map[string]any{"type": "pending_request_response", "session_id": bash.SessionID, "request_type": "tool_approval", "decision": "allow", "command_id": uuid.NewString(), "updated_input": map[string]any{"command": "touch b"}}
	for range 3 {
		a := h.as(account.Member, "POST", path, command)
		var out wire.Outcome
		a.into(t, &out)
		if a.status != 200 || out.Result != wire.Applied {
			t.Fatalf("got %d %s, want applied, every time", a.status, a.body)
		}
	}
	if got := <-answered; string(got.Resolution.Answer.UpdatedInput) != `{"command":"touch b"}` || got.Resolution.Actor.Device != "token member-user" {
		t.Fatalf("the asker got %+v", got.Resolution)
	}
	a := h.as(account.Admin, "POST", path, `{"request_type":"tool_approval","decision":"deny"}`)
	checkRefusal(t, a, 409, "already_resolved")
	var out wire.Outcome
	a.into(t, &out)
	if out.Result != wire.AlreadyResolved || out.Resolved == nil || *out.Resolved.By != "member-user" ||
		out.Resolved.Outcome != pending.Answered || out.Resolved.At == 0 || out.Resolved.Summary != "Approved by member-user with changes." {
		t.Fatalf("got %s, want who, what and when", a.body)
	}
	if a := h.as(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","responses":[{"id":"q1","values":["Summary"]},{"id":"q2","values":["Web"],"text":""}]}`); a.status != 200 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	a = h.as(account.Admin, "POST", questionPath, `{"request_type":"ask_user_question","decision":"deny"}`)
	a.into(t, &out)
	if a.status != 409 || out.Resolved.Summary != "Answered by member-user: Summary, Web." {
		t.Fatalf("got %d %s", a.status, a.body)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	quiet := quietHouse(t)
	if a := quiet.call("GET", "/healthz", nil); a.status != 200 || strings.TrimSpace(string(a.body)) != `{"status":"ok"}` {
		t.Errorf("got %d %s, want nothing but ok", a.status, a.body)
	}
	checkRefusal(t, quiet.call("GET", "/readyz", nil), 503, "unavailable")
	h := newHouse(t)
	h.open(account.Viewer)
	if a := h.call("GET", "/readyz", nil); a.status != 200 {
		t.Errorf("ready: got %d %s", a.status, a.body)
	}
	id := h.session("one")
	h.ask(id, "a", nil)
	a := h.as(account.Admin, "GET", "/metrics", nil)
	for _, line := range []string{`sayso_sessions{state="assistant_turn"} 1`, "sayso_open_requests 1", "sayso_tabs 1", "go_goroutines ", "sayso_uptime_seconds "} {
		if !strings.Contains(string(a.body), "\n"+line) {
			t.Errorf("metrics lack %q:\n%s", line, a.body)
		}
	}
	var list wire.ProcessList
	h.as(account.Admin, "GET", "/api/processes", nil).into(t, &list)
	if len(list.Processes) != 1 || list.Processes[0].PID != 4711 || list.Processes[0].OpenRequests != 1 || *list.Processes[0].WaitsFor != "A person, to answer Bash." {
		t.Errorf("got %+v", list)
	}
	h.driver.next = orchestrator.Environment{Problem: "There is no claude.", Home: "/home/a", DemoAvailable: true}
	var env wire.Environment
	h.as(account.Viewer, "GET", "/api/environment", nil).into(t, &env)
	if env.Claude.Problem == nil || *env.Claude.Problem != "There is no claude." || !env.DemoAvailable || env.WorkspaceRoots == nil {
		t.Errorf("got %+v", env)
	}
}
