package httpapi_test

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
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestCreateSessionOnce(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	body := map[string]any{"cwd": "/w", "prompt": "Hello", "command_id": uuid.NewString()}
	h.Token(account.Member)
	ids := make(chan string, 8)
	var wg sync.WaitGroup
	for range cap(ids) {
		wg.Go(func() {
			a := h.CallAs(account.Member, "POST", "/api/sessions", body)
			var out wire.Outcome
			if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != 201 || out.Result != wire.Applied {
				t.Errorf("got %d %s, %v", a.Status, a.Body, err)
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
	if asked := h.Driver.Calls(); len(asked) != 1 {
		t.Fatalf("started %v, want one session", asked)
	}
	other := h.CallAs(account.Admin, "POST", "/api/sessions", body)
	var out wire.Outcome
	other.Decode(t, &out)
	if out.SessionID == first {
		t.Error("another person's command of the same id gave the same session")
	}
}

// TestRepeatedCommandAfterCrash gives a command again to a server that knows
// nothing of it but what is stored.
func TestRepeatedCommandAfterCrash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	h := openHarness(t, path)
	id := h.NewSession("one")
	send := map[string]any{"text": "Go on", "command_id": uuid.NewString()}
	refused := map[string]any{"command_id": uuid.NewString()}
	a := h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/messages", send)
	if a.Status != 202 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	h.Driver.FailWith(orchestrator.ErrNotRunning)
	r := h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/interrupt", refused)
	apitest.CheckRefusal(t, r, 409, "not_running")

	again := openHarness(t, path)
	again.Tokens = h.Tokens
	if b := again.CallAs(account.Member, "POST", "/api/sessions/"+id+"/messages", send); b.Status != a.Status || string(b.Body) != string(a.Body) {
		t.Errorf("got %d %s, want the first ack %s", b.Status, b.Body, a.Body)
	}
	if b := again.CallAs(account.Member, "POST", "/api/sessions/"+id+"/interrupt", refused); b.Status != r.Status || string(b.Body) != string(r.Body) {
		t.Errorf("got %d %s, want the first refusal %s", b.Status, b.Body, r.Body)
	}
	if asked := again.Driver.Calls(); len(asked) != 0 {
		t.Errorf("the repetition did something: %v", asked)
	}
}

// TestFaultsAreNotRemembered: after a fault of the server the same command may
// still be carried out.
func TestFaultsAreNotRemembered(t *testing.T) {
	t.Parallel()
	passing := errors.New("locked")
	h := quietHarness(t, func(o *apitest.Options) {
		o.Refusals.ClassifyStoreError = func(err error) wire.NoticeCode {
			if errors.Is(err, passing) {
				return wire.Unavailable
			}
			return ""
		}
	})
	id := h.NewSession("one")
	path := "/api/sessions/" + id + "/interrupt"
	body := map[string]any{"command_id": uuid.NewString()}
	h.Driver.FailWith(errors.New("the disk holds canary-1234"))
	a := h.CallAs(account.Member, "POST", path, body)
	apitest.CheckRefusal(t, a, 500, "internal")
	if strings.Contains(string(a.Body), "canary") {
		t.Errorf("the refusal tells what only the log may say: %s", a.Body)
	}
	for _, err := range []error{passing, orchestrator.ErrClosing} {
		h.Driver.FailWith(err)
		a := h.CallAs(account.Member, "POST", path, body)
		apitest.CheckRefusal(t, a, 503, "unavailable")
		if a.Header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
	}
	h.Driver.FailWith(nil)
	if a := h.CallAs(account.Member, "POST", path, body); a.Status != 202 {
		t.Fatalf("got %d %s, want it carried out now", a.Status, a.Body)
	}
}

func TestSessionLifeOverREST(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("Login page")
	h.NewSession("Other")
	var list wire.SessionList
	h.CallAs(account.Viewer, "GET", "/api/sessions?limit=1", nil).Decode(t, &list)
	if len(list.Sessions) != 1 || list.Next == nil {
		t.Fatalf("got %+v, want one of two and a cursor", list)
	}
	var rest wire.SessionList
	h.CallAs(account.Viewer, "GET", "/api/sessions?cursor="+*list.Next, nil).Decode(t, &rest)
	if len(rest.Sessions) != 1 || rest.Sessions[0].SessionID == list.Sessions[0].SessionID || rest.Next != nil {
		t.Fatalf("got %+v, want the other one", rest)
	}
	h.CallAs(account.Viewer, "GET", "/api/sessions?q=login", nil).Decode(t, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Fatalf("got %+v, want the one that was searched", list)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions?limit=-1", nil), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions?cursor=none", nil), 400, "invalid")

	var ses wire.Session
	h.CallAs(account.Member, "PATCH", "/api/sessions/"+id, `{"title":"Log in","archived":true}`).Decode(t, &ses)
	if ses.Title != "Log in" || !ses.Archived {
		t.Fatalf("got %+v", ses)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "PATCH", "/api/sessions/"+id, `{"title":""}`), 400, "invalid")
	var read wire.Session
	h.CallAs(account.Viewer, "GET", "/api/sessions/"+id, nil).Decode(t, &read)
	if read.ProcessState == nil || read.ProcessState.Title != "Log in" || read.ProcessState.State != session.AssistantTurn {
		t.Fatalf("got %+v, want it with its state", read)
	}
	h.CallAs(account.Viewer, "GET", "/api/sessions?archived=true&q=log", nil).Decode(t, &list)
	if len(list.Sessions) != 1 {
		t.Fatalf("got %+v, want the archived one", list)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "DELETE", "/api/sessions/"+id, nil), 403, "forbidden")
	if got := h.CallAs(account.Admin, "DELETE", "/api/sessions/"+id, nil); got.Status != http.StatusNoContent {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "GET", "/api/sessions/"+id, nil), 404, "not_found")
}

func TestTranscriptOverREST(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	h.AppendText(id, 5, "x")
	var all []wire.TranscriptPage
	after := int64(0)
	for {
		a := h.CallAs(account.Viewer, "GET", fmt.Sprintf("/api/sessions/%s/transcript?after=%d&limit=2", id, after), nil)
		var page struct {
			Items []map[string]any `json:"items"`
			Next  int64            `json:"next"`
			More  bool             `json:"more"`
			Total int64            `json:"total"`
		}
		a.Decode(t, &page)
		if page.Total != 5 {
			t.Fatalf("got %s, want a total of 5", a.Body)
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

func TestQueueOverREST(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	at := "/api/sessions/" + id + "/messages"
	for _, m := range []session.Message{
		{MessageID: "m1", SessionID: id, Text: "first", By: pending.Actor{Name: "Ada"}, CreatedAt: time.Unix(5, 0),
			Attachments: []session.Attachment{{Name: "a.txt", MediaType: "text/plain", Data: []byte("xyz")}}},
		{MessageID: "m2", SessionID: id, Text: "second", By: pending.Actor{Name: "Grace"}, CreatedAt: time.Unix(6, 0)},
	} {
		if _, err := h.Store.QueueMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	list := func() string { return string(h.CallAs(account.Viewer, "GET", at, nil).Body) }
	want := `{"messages":[{"message_id":"m1","text":"first","attachments":[{"name":"a.txt","media_type":"text/plain","size":3}],"by":"Ada","created_at":5},` +
		`{"message_id":"m2","text":"second","attachments":[],"by":"Grace","created_at":6}]}`
	if got := list(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "DELETE", at+"/m1", nil), 403, "forbidden")
	if a := h.CallAs(account.Member, "DELETE", at+"/m1", nil); a.Status != 204 {
		t.Errorf("got %d %s, want 204", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "DELETE", at+"/m1", nil), 409, "not_queued")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "DELETE", "/api/sessions/none/messages/m2", nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions/none/messages", nil), 404, "not_found")
	if got := list(); !strings.Contains(got, "m2") || strings.Contains(got, "m1") {
		t.Errorf("m2 alone should wait: %s", got)
	}
}

func TestCommandsOverREST(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
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
		a := h.CallAs(row.role, "POST", path+row.route, row.body)
		asked := h.Driver.Calls()
		if a.Status != row.status || len(asked) == 0 || !strings.HasSuffix(asked[len(asked)-1], row.asked) {
			t.Errorf("%s: got %d %s and %v, want %d and %q", row.route, a.Status, a.Body, asked, row.status, row.asked)
		}
	}
	before := len(h.Driver.Calls())
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
		apitest.CheckRefusal(t, h.CallAs(row.role, "POST", path+row.route, row.body), row.status, row.code)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/sessions/none/messages", `{"text":"x"}`), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/sessions/none/kill", nil), 404, "not_found")
	for _, body := range []string{`{"prompt":"x"}`, `{"cwd":"/w"}`, `{"cwd":"/w","prompt":"x","owner":"me"}`} {
		apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/sessions", body), 400, "invalid")
	}
	if after := len(h.Driver.Calls()); after != before {
		t.Errorf("a refused command did something: %v", h.Driver.Calls()[before:])
	}
	if a := h.CallAs(account.Member, "POST", "/api/sessions", `{"demo":true}`); a.Status != 201 {
		t.Errorf("a demo needs nothing: got %d %s", a.Status, a.Body)
	}
	h.Driver.FailWith(problem.For("cwd", "folder_not_found", "folder", "/nowhere"))
	a := h.CallAs(account.Member, "POST", "/api/sessions", `{"cwd":"/none","prompt":"x"}`)
	apitest.CheckRefusal(t, a, 400, "invalid")
	if e := a.Refusal(t); e.Field != "cwd" || e.Reason != "folder_not_found" || e.Message != "There is no folder /nowhere on the server." {
		t.Errorf("got %+v, want the sentence of the orchestrator", e)
	}
}

func TestAnswerOverREST(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	bash, answered := h.Ask(id, "a", nil)
	question, _ := h.Ask(id, "b", apitest.AsQuestions)

	var list wire.PendingList
	h.CallAs(account.Viewer, "GET", "/api/pending", nil).Decode(t, &list)
	if len(list.PendingRequests) != 2 || list.PendingRequests[0].RequestID != bash.RequestID ||
		list.PendingRequests[0].SessionTitle != "one" || list.PendingRequests[1].Form == nil {
		t.Fatalf("got %+v, want both, oldest first", list)
	}

	path := "/api/pending/" + bash.RequestID + "/response"
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/pending/none/response", `{"request_type":"tool_approval","decision":"allow"}`), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, map[string]any{"request_type": "tool_approval", "decision": "allow", "session_id": "another"}), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, map[string]any{"request_type": "tool_approval", "decision": "allow", "input_hash": "sha256:00"}), 409, "stale")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"request_type":"tool_approval","decision":"maybe"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"request_type":"tool_approval","decision":"allow","request_id":"other"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"decision":"allow"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"type":"pending_request_response","request_type":"tool_approval","decision":"allow"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"request_type":"tool_approval"}`), 422, "invalid_answer")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"request_type":"ask_user_question","answers":{"Which format?":"Summary"}}`), 422, "invalid_answer")
	questionPath := "/api/pending/" + question.RequestID + "/response"
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","answers":{"Which format?":"Summary"}}`), 422, "invalid_answer")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","decision":"allow"}`), 422, "invalid_answer")

	command := map[string]any{"type": "pending_request_response", "session_id": bash.SessionID, "request_type": "tool_approval", "decision": "allow", "command_id": uuid.NewString(), "updated_input": map[string]any{"command": "touch b"}}
	for range 3 {
		a := h.CallAs(account.Member, "POST", path, command)
		var out wire.Outcome
		a.Decode(t, &out)
		if a.Status != 200 || out.Result != wire.Applied {
			t.Fatalf("got %d %s, want applied, every time", a.Status, a.Body)
		}
	}
	if got := <-answered; string(got.Resolution.Answer.UpdatedInput) != `{"command":"touch b"}` || got.Resolution.Actor.Device != "token member-user" {
		t.Fatalf("the asker got %+v", got.Resolution)
	}
	a := h.CallAs(account.Admin, "POST", path, `{"request_type":"tool_approval","decision":"deny"}`)
	apitest.CheckRefusal(t, a, 409, "already_resolved")
	var out wire.Outcome
	a.Decode(t, &out)
	if out.Result != wire.AlreadyResolved || out.Resolved == nil || *out.Resolved.By != "member-user" ||
		out.Resolved.Outcome != pending.Answered || out.Resolved.At == 0 || out.Resolved.Summary != "Approved by member-user with changes." {
		t.Fatalf("got %s, want who, what and when", a.Body)
	}
	if a := h.CallAs(account.Member, "POST", questionPath, `{"request_type":"ask_user_question","responses":[{"id":"q1","values":["Summary"]},{"id":"q2","values":["Web"],"text":""}]}`); a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	a = h.CallAs(account.Admin, "POST", questionPath, `{"request_type":"ask_user_question","decision":"deny"}`)
	a.Decode(t, &out)
	if a.Status != 409 || out.Resolved.Summary != "Answered by member-user: Summary, Web." {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	quiet := quietHarness(t)
	if a := quiet.Call("GET", "/healthz", nil); a.Status != 200 || strings.TrimSpace(string(a.Body)) != `{"status":"ok"}` {
		t.Errorf("got %d %s, want nothing but ok", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, quiet.Call("GET", "/readyz", nil), 503, "unavailable")
	h := newHarness(t)
	h.OpenTab(account.Viewer)
	if a := h.Call("GET", "/readyz", nil); a.Status != 200 {
		t.Errorf("ready: got %d %s", a.Status, a.Body)
	}
	id := h.NewSession("one")
	h.Ask(id, "a", nil)
	a := h.CallAs(account.Admin, "GET", "/metrics", nil)
	for _, line := range []string{`sayso_sessions{state="assistant_turn"} 1`, "sayso_open_requests 1", "sayso_tabs 1", "go_goroutines ", "sayso_uptime_seconds "} {
		if !strings.Contains(string(a.Body), "\n"+line) {
			t.Errorf("metrics lack %q:\n%s", line, a.Body)
		}
	}
	var list wire.ProcessList
	h.CallAs(account.Admin, "GET", "/api/processes", nil).Decode(t, &list)
	if len(list.Processes) != 1 || list.Processes[0].PID != 4711 || list.Processes[0].OpenRequests != 1 || *list.Processes[0].WaitsFor != "A person's answer to Bash." {
		t.Errorf("got %+v", list)
	}
	h.Driver.Claude = orchestrator.Environment{Installation: launch.Installation{Problem: "There is no claude.", Home: "/home/a"}, DemoAvailable: true}
	var env wire.Environment
	h.CallAs(account.Viewer, "GET", "/api/environment", nil).Decode(t, &env)
	if env.Claude.Problem == nil || *env.Claude.Problem != "There is no claude." || !env.DemoAvailable || env.WorkspaceRoots == nil {
		t.Errorf("got %+v", env)
	}
}
