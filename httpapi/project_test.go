package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// someone is a person with a token.
type someone struct {
	id  string
	way apitest.RequestOption
}

func (h *harness) someone(name string, role account.Role) someone {
	h.T.Helper()
	made, secret, err := h.Directory.CreateToken(h.T.Context(), h.Admin, name, role, 0)
	if err != nil {
		h.T.Fatal(err)
	}
	return someone{made.User.UserID, apitest.Bearer(secret)}
}

// opens a WebSocket and reads what comes first.
func (h *harness) openAs(who someone) *apitest.Tab {
	h.T.Helper()
	b, resp, err := h.TryDial(h.T.Context(), who.way)
	if err != nil {
		h.T.Fatalf("dial: %v (%v)", err, resp)
	}
	for _, want := range []string{"hello", "active_processes"} {
		if f := b.Next(); f["type"] != want {
			h.T.Fatalf("got %v, want %s first", f, want)
		}
	}
	return b
}

// project makes one over a folder.
func (h *harness) project(name, folder string, members ...wire.ProjectMember) wire.Project {
	h.T.Helper()
	got := h.CallAs(account.Admin, "POST", "/api/projects", wire.ProjectCreate{Name: name, Folders: []string{folder}, Members: members})
	if got.Status != http.StatusCreated {
		h.T.Fatalf("make project: got %d %s", got.Status, got.Body)
	}
	var p wire.Project
	got.Decode(h.T, &p)
	return p
}

// changed changes a project as an admin and returns it as it is then.
func (h *harness) changed(p wire.Project, change wire.ProjectChange) wire.Project {
	h.T.Helper()
	change.Version = p.Version
	got := h.CallAs(account.Admin, "PATCH", "/api/projects/"+p.ProjectID, change)
	if got.Status != http.StatusOK {
		h.T.Fatalf("change project: got %d %s", got.Status, got.Body)
	}
	var now wire.Project
	got.Decode(h.T, &now)
	return now
}

func member(who someone, role account.Role) wire.ProjectMember {
	return wire.ProjectMember{UserID: who.id, Role: role}
}

// commandBodies are bodies that a route takes, so that it comes to the question
// whose the session is.
var commandBodies = map[string]string{
	"PATCH /api/sessions/{id}":                `{"title":"mine"}`,
	"POST /api/sessions/{id}/messages":        `{"text":"hello"}`,
	"POST /api/sessions/{id}/model":           `{"model":"opus"}`,
	"POST /api/sessions/{id}/permission_mode": `{"permission_mode":"plan"}`,
	"POST /api/pending/{id}/response":         `{"request_type":"tool_approval","decision":"allow"}`,
	"POST /api/pending/{id}/preview":          `{"tool_input":{"command":"ls"}}`,
	"PATCH /api/projects/{id}":                `{"version":1,"members":[]}`,
}

// TestObjectsOfOthersAreNotFound walks every route and every command of the socket
// with the ids of somebody else's project, as a member and as a viewer of the same
// server. Each answers as for an id that there is none of.
func TestObjectsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("ana", account.Member), h.someone("ben", account.Member)
	secret := h.project("secret", "/work/secret", member(ana, account.Member))
	hidden := h.NewSession("secret")
	other := h.NewSession("open")
	request, _ := h.Ask(hidden, "one", nil)
	question, _ := h.Ask(hidden, "two", apitest.AsQuestions)
	idOf := func(pattern string) string {
		switch {
		case strings.HasPrefix(pattern, "/api/pending/"):
			return request.RequestID
		case strings.HasPrefix(pattern, "/api/projects/"):
			return secret.ProjectID
		}
		return hidden
	}
	leaks := []string{hidden, request.RequestID, question.RequestID, secret.ProjectID, "/work/secret", `"secret"`}
	clean := func(what string, body []byte) {
		t.Helper()
		for _, text := range leaks {
			if bytes.Contains(body, []byte(text)) {
				t.Errorf("%s tells of %s: %s", what, text, body)
			}
		}
	}

	tried := 0
	for _, rt := range httpapi.Routes() {
		name := rt.Method + " " + rt.Pattern
		if rt.Policy == "anybody" || rt.Policy == "admin" || rt.Pattern == "/ws" || rt.Pattern == "/api/logout" {
			continue
		}
		var body any
		if rt.Method != "GET" && rt.Method != "DELETE" {
			body = "{}"
			if text, ok := commandBodies[name]; ok {
				body = text
			}
		}
		at := func(id string) apitest.Response {
			path := strings.ReplaceAll(rt.Pattern, "{id}", id)
			path = strings.ReplaceAll(path, "{message_id}", uuid.NewString())
			return h.Call(rt.Method, path, body, ben.way)
		}
		got := at(idOf(rt.Pattern))
		clean(name, got.Body)
		if !strings.Contains(rt.Pattern, "{id}") {
			continue
		}
		tried++
		none := at(uuid.NewString())
		if got.Status != none.Status || !bytes.Equal(got.Body, none.Body) {
			t.Errorf("%s: hidden is %d %s, and not there %d %s", name, got.Status, got.Body, none.Status, none.Body)
		}
		if got.Status/100 == 2 {
			t.Errorf("%s: got %d %s", name, got.Status, got.Body)
		}
		for _, prefix := range []string{"/api/sessions/", "/api/pending/", "/api/projects/"} {
			if strings.HasPrefix(rt.Pattern, prefix) && got.Status != http.StatusNotFound {
				t.Errorf("%s: got %d %s, want 404", name, got.Status, got.Body)
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d routes have an id, so the walk is broken", tried)
	}
	if err := h.Store.PutItems(t.Context(), hidden, []session.Item{{Key: "a", At: time.Now(), Kind: session.ItemResult, Body: json.RawMessage(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	hour := time.Now().Add(-time.Hour).Unix()
	for _, path := range []string{"/api/sessions?q=secret", "/api/sessions?archived=true", "/api/pending",
		fmt.Sprintf("/api/catch_up?since=%d", hour), fmt.Sprintf("/api/waits?since=%d", hour)} {
		got := h.Call("GET", path, nil, ben.way)
		clean(path, got.Body)
		if got.Status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.Status, got.Body)
		}
	}
	for path, body := range map[string]string{
		"/api/mcp-answer": `{"questionId":"` + question.RequestID + `","answer":"x"}`,
		"/api/sessions":   `{"cwd":"/work/secret","prompt":"x"}`,
	} {
		if got := h.Call("POST", path, body, ben.way); got.Status != 404 && got.Status != 403 {
			t.Errorf("%s: got %d %s", path, got.Status, got.Body)
		}
	}
	apitest.CheckRefusal(t, h.Call("PATCH", "/api/bookmarks", map[string]any{"bookmarks": []any{map[string]any{"session_id": hidden, "pinned": true, "seen": 1}}}, ben.way), 404, "not_found")
	// 61: a conversation of another person, resumed or forked elsewhere.
	for _, fork := range []bool{false, true} {
		got := h.Call("POST", "/api/sessions", map[string]any{"cwd": "/work/open", "prompt": "x", "resume": hidden, "fork": fork}, ben.way)
		apitest.CheckRefusal(t, got, 404, "not_found")
	}

	b := h.openAs(ben)
	for name := range apitest.CommandRoles() {
		if slices.Contains([]string{"ping", "create_session", "unsubscribe"}, name) {
			continue
		}
		fields := func(sessionID, requestID string) map[string]any {
			f := map[string]any{}
			switch name {
			case "extend", "draft", "withdraw_approval", "undo":
				f["request_id"] = requestID
			case "pending_request_response":
				f["session_id"], f["request_id"], f["request_type"], f["decision"] = sessionID, requestID, "tool_approval", "allow"
			default:
				f["session_id"] = sessionID
			}
			switch name {
			case "draft":
				f["value"] = "x"
			case "send_message":
				f["text"] = "x"
			case "set_model":
				f["model"] = "opus"
			case "set_permission_mode":
				f["permission_mode"] = "plan"
			}
			return f
		}
		got := b.Do(name, fields(hidden, request.RequestID))
		none := b.Do(name, fields(uuid.NewString(), uuid.NewString()))
		got.CommandID, none.CommandID = "", ""
		if got.Result == wire.Applied && name != "typing" || string(wire.Encode(got)) != string(wire.Encode(none)) {
			t.Errorf("%s: hidden is %s, and not there %s", name, wire.Encode(got), wire.Encode(none))
		}
	}
	// Bells of the hidden session are heard by nobody else; of the other by all.
	h.SetState(hidden, session.UserTurn)
	h.Driver.Write(hidden, "a secret word")
	h.SetState(other, session.UserTurn)
	b.Until("the open session", func(f map[string]any) bool { return f["session_id"] == other && f["state"] == "user_turn" })
	for _, f := range b.Frames {
		clean("a frame", wire.Encode(f))
	}
	asked := slices.DeleteFunc(h.Driver.Calls(), func(s string) bool { return strings.HasPrefix(s, "folders of") })
	if len(asked) != 0 {
		t.Errorf("something was done: %v", asked)
	}

	// Whoever belongs there, and an admin, sees all of it.
	for who, way := range map[string]apitest.RequestOption{"ana": ana.way, "an admin": apitest.Bearer(h.Token(account.Admin))} {
		if got := h.Call("GET", "/api/sessions/"+hidden, nil, way); got.Status != 200 || !bytes.Contains(got.Body, []byte(`"project_name":"secret"`)) {
			t.Errorf("%s: got %d %s", who, got.Status, got.Body)
		}
		if got := h.Call("GET", "/api/pending", nil, way); !bytes.Contains(got.Body, []byte(request.RequestID)) {
			t.Errorf("%s does not see the request: %s", who, got.Body)
		}
	}
}

// TestDeletionsReachOnlyWhoMaySee deletes ended sessions, on this server and on another one: nobody
// hears of one in a project that is hidden from them.
func TestDeletionsReachOnlyWhoMaySee(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("ana", account.Member), h.someone("ben", account.Member)
	h.project("secret", "/work/secret", member(ana, account.Member))
	own, foreign, open := h.NewSession("secret"), h.NewSession("secret"), h.NewSession("open")
	anas, bens, admins := h.openAs(ana), h.openAs(ben), h.OpenTab(account.Admin)
	deletion := func(id string) func(map[string]any) bool {
		return func(f map[string]any) bool {
			return f["type"] == "process_state" && f["session_id"] == id && f["deleted"] == true
		}
	}
	for _, id := range []string{own, foreign, open} {
		h.SetState(id, session.Dead)
		anas.Until("its end", func(f map[string]any) bool { return f["session_id"] == id && f["state"] == "dead" })
	}

	anas.Do("subscribe", map[string]any{"session_id": own})
	if a := h.CallAs(account.Admin, "DELETE", "/api/sessions/"+own, nil); a.Status != http.StatusNoContent {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	anas.Until("the deletion", deletion(own))
	h.Hub.Touch(own) // the orchestrator announces it, too
	// Another server deletes one that nobody reads here.
	if err := h.Store.DeleteSession(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	h.Hub.Touch(foreign)
	admins.Until("the deletion by another server", deletion(foreign))
	if a := h.CallAs(account.Admin, "DELETE", "/api/sessions/"+open, nil); a.Status != http.StatusNoContent {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	bens.Until("the deletion of what everybody may see", deletion(open))
	for _, f := range bens.Frames {
		if text, _ := json.Marshal(f); bytes.Contains(text, []byte(own)) || bytes.Contains(text, []byte(foreign)) {
			t.Errorf("Ben got %s", text)
		}
	}
}

// TestMembershipReachesOpenTabs holds that a tab is ended when something is
// hidden from its person or shown to them, and is told anew.
func TestMembershipReachesOpenTabs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana := h.someone("ana", account.Member)
	id := h.NewSession("api")
	b := h.openAs(ana)
	b.Do("subscribe", map[string]any{"session_id": id})

	p := h.project("api", "/work/api")
	code, last := b.AwaitClose()
	if code != wire.CloseGoingAway || last["code"] != "access_changed" {
		t.Fatalf("got %v %v", code, last)
	}
	b = h.openAs(ana)
	if list := b.Frames[1]["processes"].([]any); len(list) != 0 {
		t.Fatalf("still told of %v", list)
	}
	if got := h.Call("GET", "/api/sessions/"+id, nil, ana.way); got.Status != 404 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}

	p = h.changed(p, wire.ProjectChange{Members: &[]wire.ProjectMember{member(ana, account.Viewer)}})
	if code, last := b.AwaitClose(); code != wire.CloseGoingAway || last["code"] != "access_changed" {
		t.Fatalf("got %v %v", code, last)
	}
	b = h.openAs(ana)
	list := b.Frames[1]["processes"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["project_name"] != "api" {
		t.Fatalf("told of %v", list)
	}
	version := list[0].(map[string]any)["version"].(float64)

	// What one may do there changes without a new connection.
	if a := b.Do("send_message", map[string]any{"session_id": id, "text": "x"}); a.Result != wire.Rejected || a.Error.Code != "forbidden" {
		t.Errorf("a viewer of the project speaks: %+v", a)
	}
	p = h.changed(p, wire.ProjectChange{Members: &[]wire.ProjectMember{member(ana, account.Member)}})
	b.Until("the new rights", func(f map[string]any) bool {
		return f["type"] == "process_state" && f["session_id"] == id && f["version"].(float64) > version && slices.Contains(f["rights"].([]any), any("run"))
	})
	if a := b.Do("send_message", map[string]any{"session_id": id, "text": "x"}); a.Result != wire.Applied {
		t.Errorf("a member does not speak: %+v", a.Error)
	}

	// A folder less: the session is everybody's again, and nobody is told of rights.
	h.changed(p, wire.ProjectChange{Folders: &[]string{"/work/else"}})
	b.Until("the default project", func(f map[string]any) bool {
		return f["type"] == "process_state" && f["session_id"] == id && f["rights"] == nil && f["project_name"] == nil
	})
}

// TestFolderThatJoinsAHiddenProject: the session goes from the tab with it.
func TestFolderThatJoinsAHiddenProject(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana := h.someone("ana", account.Member)
	p := h.project("api", "/work/else")
	h.NewSession("api")
	b := h.openAs(ana)
	h.changed(p, wire.ProjectChange{Folders: &[]string{"/work/api"}})
	if code, last := b.AwaitClose(); code != wire.CloseGoingAway || last["code"] != "access_changed" {
		t.Fatalf("got %v %v", code, last)
	}
}

func TestRightsAndRulesOfAnswers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben, cleo := h.someone("Ana", account.Member), h.someone("Ben", account.Member), h.someone("Cleo", account.Member)
	p := h.project("api-server", "/work/api", member(ana, account.Member), member(ben, account.Member), member(cleo, account.Viewer))
	id := h.NewSession("api")
	p = h.changed(p, wire.ProjectChange{
		Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: project.Allow, People: []string{ana.id}}, {Tool: "Write", Effect: project.Deny}},
		Start: &wire.Whom{Role: account.Admin},
	})
	command, answered := h.Ask(id, "one", nil)
	file, denied := h.Ask(id, "two", func(r *pending.Request) {
		r.ToolName, r.ToolInput = "Write", json.RawMessage(`{"file_path":"/work/api/x","content":"x"}`)
	})
	say := func(who someone, r pending.Request, body map[string]any) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/response", body, who.way)
	}
	yes, no := map[string]any{"request_type": "tool_approval", "decision": "allow"}, map[string]any{"request_type": "tool_approval", "decision": "deny", "message": "no"}

	apitest.CheckRefusal(t, say(cleo, command, yes), 403, "forbidden")
	got := say(ben, command, yes)
	apitest.CheckRefusal(t, got, 403, "forbidden")
	if m := got.Refusal(t).Message; m != "Only Ana can approve Bash in api-server." {
		t.Errorf("got %q", m)
	}
	// What is kept for one is not given away by an approval of something else, nor
	// by a mode, nor beforehand.
	with := map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_permissions": []any{map[string]any{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}}
	apitest.CheckRefusal(t, say(ana, command, with), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+id+"/permission_mode", `{"permission_mode":"acceptEdits"}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+id+"/permission_mode", `{"permission_mode":"bypassPermissions"}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x"}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+id+"/fork", `{}`, ana.way), 403, "forbidden")
	p = h.changed(p, wire.ProjectChange{Start: &wire.Whom{Role: account.Member}})
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x","allowed_tools":["Bash(ls)"]}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x","permission_mode":"acceptEdits"}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x","permission_mode":"bypassPermissions"}`, ana.way), 403, "forbidden")
	apitest.CheckRefusal(t, say(ana, file, yes), 403, "forbidden")

	if got := say(ben, file, no); got.Status != 200 {
		t.Errorf("whoever may answer may deny: got %d %s", got.Status, got.Body)
	}
	if got := say(ana, command, yes); got.Status != 200 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	if r := <-answered; r.Status != pending.Answered || r.Resolution.Actor.Name != "Ana" {
		t.Errorf("got %+v", r)
	}
	if r := <-denied; r.Status != pending.Denied {
		t.Errorf("got %+v", r)
	}

	// The right to have Claude ask nobody is given by name, and by an admin of the
	// server.
	h.changed(p, wire.ProjectChange{Bypass: &[]string{ana.id}, Rules: &[]wire.ProjectRule{}})
	if got := h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x","permission_mode":"bypassPermissions"}`, ana.way); got.Status != 201 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x","permission_mode":"bypassPermissions"}`, ben.way), 403, "forbidden")
	mode := "bypassPermissions"
	if _, err := h.Store.UpdateSession(t.Context(), id, session.Patch{PermissionMode: &mode}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/messages", "/resume", "/fork"} {
		body := "{}"
		if path == "/messages" {
			body = `{"text":"x"}`
		}
		apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+id+path, body, ben.way), 403, "forbidden")
	}
	if got := h.Call("POST", "/api/sessions/"+id+"/permission_mode", `{"permission_mode":"default"}`, ben.way); got.Status != 202 {
		t.Errorf("nobody leaves the mode: got %d %s", got.Status, got.Body)
	}
}

func TestProjectsOverREST(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/src/api", member(ana, account.Admin), member(ben, account.Member))
	one := func(who someone) (out wire.Project) {
		h.Call("GET", "/api/projects/"+p.ProjectID, nil, who.way).Decode(t, &out)
		return out
	}
	if got := one(ana); got.Role != account.Admin || len(got.People) < 2 || got.Names[ben.id] != "Ben" || !slices.Contains(got.Rights, project.Manage) {
		t.Errorf("got %+v", got)
	}
	if got := one(ben); got.Role != account.Member || len(got.People) != 0 {
		t.Errorf("got %+v", got)
	}
	path := "/api/projects/" + p.ProjectID
	for name, c := range map[string]struct {
		who    someone
		method string
		path   string
		body   string
		status int
		code   string
	}{
		"a member manages":        {ben, "PATCH", path, `{"version":1,"members":[]}`, 403, "forbidden"},
		"an admin of it, folders": {ana, "PATCH", path, `{"version":1,"folders":["/src/b"]}`, 403, "forbidden"},
		"an admin of it, bypass":  {ana, "PATCH", path, `{"version":1,"bypass":["` + ana.id + `"]}`, 403, "forbidden"},
		"an admin of it, limits":  {ana, "PATCH", path, `{"version":1,"limits":{"sessions":1,"memory":0}}`, 403, "forbidden"},
		"an admin of it, delete":  {ana, "DELETE", path, ``, 403, "forbidden"},
		"a member makes":          {ana, "POST", "/api/projects", `{"name":"x","folders":["/x"]}`, 403, "forbidden"},
		"no version":              {ana, "PATCH", path, `{"members":[]}`, 400, "invalid"},
		"an old version":          {ana, "PATCH", path, `{"version":7,"members":[]}`, 409, "changed"},
		"a stranger":              {ana, "PATCH", path, `{"version":1,"members":[{"user_id":"x","role":"member"}]}`, 400, "invalid"},
		"a field of its own":      {ana, "PATCH", path, `{"version":1,"project_id":"x"}`, 400, "invalid"},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		got := h.Call(c.method, c.path, body, c.who.way)
		if got.Status != c.status || got.Refusal(t).Code != c.code {
			t.Errorf("%s: got %d %s", name, got.Status, got.Body)
		}
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/projects", `{"name":"API","folders":["/x"]}`), 409, "exists")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/projects", `{"name":"b","folders":["/src/api"]}`), 409, "folder_taken")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/projects", `{"name":"b","folders":["x"]}`), 400, "invalid")

	got := h.Call("PATCH", path, `{"version":1,"rules":[{"tool":"Bash","pattern":"","effect":"two_people","people":[]}],"members":[{"user_id":"`+ana.id+`","role":"admin"}]}`, ana.way)
	if got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := h.Call("GET", path, nil, ben.way); got.Status != 404 {
		t.Errorf("who left still sees it: %d %s", got.Status, got.Body)
	}
	if got := h.CallAs(account.Admin, "DELETE", path, nil); got.Status != 204 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "DELETE", path, nil), 404, "not_found")
	var whats []string
	if err := account.WalkAudit(t.Context(), h.Store, func(e account.AuditEntry) error {
		var entry struct{ What string }
		err := json.Unmarshal(e.Body, &entry)
		if strings.HasPrefix(entry.What, "project_") {
			whats = append(whats, entry.What)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"project_created", "project_changed", "project_deleted"}; !slices.Equal(whats, want) {
		t.Errorf("on record: %v, want %v", whats, want)
	}
}

// TestProjectsOfElsewhere: what another server on the same database has changed
// reaches the tabs of this one.
func TestProjectsOfElsewhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana := h.someone("ana", account.Member)
	h.NewSession("api")
	b := h.openAs(ana)
	_, err := h.Store.CreateProject(t.Context(), project.Project{ProjectID: "p", Name: "api", Folders: []string{"/work/api"}, CreatedAt: time.Now()}, pending.Actor{Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	if code, last := b.AwaitClose(); code != wire.CloseGoingAway || last["code"] != "access_changed" {
		t.Fatalf("got %v %v", code, last)
	}
}

// TestTwoPeople: the second approval is another person's, and the request is
// answered once, with both names.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben, cleo := h.someone("Ana", account.Member), h.someone("Ben", account.Member), h.someone("Cleo", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member), member(ben, account.Member), member(cleo, account.Member))
	id := h.NewSession("api")
	p = h.changed(p, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: project.TwoPeople}}})
	r, answered := h.Ask(id, "one", nil)
	give := func(who someone, path string, body map[string]any) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/"+path, body, who.way)
	}
	yes := func(commandID string) map[string]any {
		return map[string]any{"request_type": "tool_approval", "decision": "allow", "command_id": commandID}
	}
	b := h.openAs(ben)

	got := give(ana, "response", map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_input": map[string]any{"command": "other"}})
	apitest.CheckRefusal(t, got, 422, "invalid_answer")
	first := uuid.NewString()
	for range 2 { // the same command again changes nothing
		if got := give(ana, "response", yes(first)); got.Status != 200 {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	apitest.CheckRefusal(t, give(ana, "response", yes(uuid.NewString())), 409, "another_needed")
	firstOf := func(f map[string]any) map[string]any {
		if f["type"] != "process_state" || len(f["pending_requests"].([]any)) != 1 {
			return nil
		}
		rule, _ := f["pending_requests"].([]any)[0].(map[string]any)["approval"].(map[string]any)
		one, _ := rule["first"].(map[string]any)
		return one
	}
	b.Until("Ana's approval", func(f map[string]any) bool {
		one := firstOf(f)
		return one != nil && one["by"] == "Ana" && one["mine"] == false
	})

	apitest.CheckRefusal(t, give(ben, "withdraw_approval", map[string]any{}), 409, "not_approved")
	if got := give(ana, "withdraw_approval", map[string]any{}); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, give(ana, "withdraw_approval", map[string]any{}), 409, "not_approved")

	// An approval counts while its giver may give it.
	if got := give(ana, "response", yes(uuid.NewString())); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	h.changed(p, wire.ProjectChange{Members: &[]wire.ProjectMember{member(ben, account.Member), member(cleo, account.Member)}})
	if got := give(ben, "response", yes(uuid.NewString())); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	select {
	case r := <-answered:
		t.Fatalf("answered with the approval of somebody who may not: %+v", r.Resolution)
	default:
	}
	now, err := h.Store.Request(t.Context(), r.RequestID)
	if err != nil || now.Status != pending.Open || now.Approval == nil || now.Approval.Actor.Name != "Ben" {
		t.Fatalf("got %+v, %v", now, err)
	}
	if got := give(cleo, "response", yes(uuid.NewString())); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if done := <-answered; done.Status != pending.Answered || done.ResolvedBy() != "Ben and Cleo" {
		t.Errorf("got %s by %s", done.Status, done.ResolvedBy())
	}
	var fate wire.RequestFate
	h.Call("GET", "/api/pending/"+r.RequestID, nil, ben.way).Decode(t, &fate)
	if fate.Resolved == nil || fate.Resolved.Summary != "Approved by Ben and Cleo." {
		t.Errorf("got %+v", fate.Resolved)
	}

	// A deny by one ends it.
	other, refused := h.Ask(id, "two", nil)
	if got := h.Call("POST", "/api/pending/"+other.RequestID+"/response", yes(uuid.NewString()), ben.way); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := h.Call("POST", "/api/pending/"+other.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "deny"}, cleo.way); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if done := <-refused; done.Status != pending.Denied {
		t.Errorf("got %s", done.Status)
	}
}

// TestLimitsOfAProject: nothing starts above them, and what runs goes on.
func TestLimitsOfAProject(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member), member(ben, account.Member))
	running := h.NewSession("api")
	p = h.changed(p, wire.ProjectChange{Limits: &wire.Limits{Sessions: 1}})
	var shown wire.Project
	h.Call("GET", "/api/projects/"+p.ProjectID, nil, ana.way).Decode(t, &shown)
	if shown.Use == nil || shown.Use.Sessions != 1 || shown.Limits.Sessions != 1 {
		t.Errorf("got %+v of %+v", shown.Use, shown.Limits)
	}
	start := func(who someone) apitest.Response {
		return h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x"}`, who.way)
	}
	got := start(ana)
	apitest.CheckRefusal(t, got, 429, "limit_reached")
	if m := got.Refusal(t).Message; m != "Sessions in api are limited to 1 at a time. End one of them first." {
		t.Errorf("got %q", m)
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+running+"/fork", `{}`, ana.way), 429, "limit_reached")
	if got := h.Call("POST", "/api/sessions/"+running+"/messages", `{"text":"x"}`, ana.way); got.Status != 202 {
		t.Errorf("what runs goes on: got %d %s", got.Status, got.Body)
	}
	if got := h.Call("POST", "/api/sessions", `{"cwd":"/work/else","prompt":"x"}`, ana.way); got.Status != 201 {
		t.Errorf("elsewhere: got %d %s", got.Status, got.Body)
	}
	dead := h.NewSession("api")
	h.SetState(dead, session.Dead)
	for path, body := range map[string]string{"/messages": `{"text":"x"}`, "/resume": `{}`} {
		apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+dead+path, body, ana.way), 429, "limit_reached")
	}

	// How long a question waits is for an admin of the project to say.
	seconds := func(n int) *int { return &n }
	if p = h.changed(p, wire.ProjectChange{AskTimeout: seconds(120)}); p.AskTimeout != 120 {
		t.Errorf("got %d", p.AskTimeout)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "PATCH", "/api/projects/"+p.ProjectID, wire.ProjectChange{Version: p.Version, AskTimeout: seconds(5)}), 400, "invalid")
	if p = h.changed(p, wire.ProjectChange{AskTimeout: seconds(0)}); p.AskTimeout != 0 {
		t.Errorf("got %d", p.AskTimeout)
	}

	// Of one person: the session that runs is the admin's.
	p = h.changed(p, wire.ProjectChange{Limits: &wire.Limits{}, EachLimits: &wire.Limits{Sessions: 1}})
	if got := start(ben); got.Status != 201 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	p = h.changed(p, wire.ProjectChange{EachLimits: &wire.Limits{}, Limits: &wire.Limits{Memory: 1 << 20}})
	if _, err := h.Store.SaveProcess(t.Context(), session.ProcessState{SessionID: running, State: session.UserTurn, Memory: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	got = start(ben)
	apitest.CheckRefusal(t, got, 429, "limit_reached")
	// Of costs, which a change that says nothing of them leaves as they are.
	dollar := 1.0
	p = h.changed(p, wire.ProjectChange{Limits: &wire.Limits{Cost: &dollar}})
	p = h.changed(p, wire.ProjectChange{Limits: &wire.Limits{}})
	if p.Limits.Cost == nil || *p.Limits.Cost != 1 {
		t.Errorf("got %+v", p.Limits)
	}
	if _, err := h.Store.SaveProgress(t.Context(), running, session.Progress{Spent: 1_250_000, SpentAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	got = start(ana)
	apitest.CheckRefusal(t, got, 429, "limit_reached")
	if m := got.Refusal(t).Message; !strings.HasPrefix(m, "Sessions in api are limited to $1.00 a day and have cost $1.25 today.") {
		t.Errorf("got %q", m)
	}
	none := 0.0
	h.changed(p, wire.ProjectChange{Limits: &wire.Limits{Cost: &none}})
	if got := start(ana); got.Status != 201 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}
