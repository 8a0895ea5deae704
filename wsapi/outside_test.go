package wsapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// outside stores a session of another kind than ours.
func (h *harness) outside(kind session.Kind) string {
	h.T.Helper()
	id, now := uuid.NewString(), time.Now()
	err := h.Store.CreateSession(h.T.Context(), session.Session{
		SessionID: id, ProjectID: "project", Title: "agent Reviewer", CWD: "/work", PermissionMode: "default", Kind: kind,
		OwnerID: h.Admin.UserID, CreatedAt: now, UpdatedAt: now,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return id
}

// within makes a request one of an outside agent with a deadline.
func within(d time.Duration) func(*pending.Request) {
	return func(r *pending.Request) {
		apitest.AsQuestions(r)
		r.Source, r.Asker, r.CreatedAt = pending.SourceMCP, "agent Reviewer over MCP", time.Now()
		r.ExpiresAt = r.CreatedAt.Add(d)
	}
}

// processCommands are those that need a process, with what else they must say.
var processCommands = map[string]map[string]any{
	"send_message": {"text": "x"}, "resume_session": {}, "fork_session": {}, "interrupt": {}, "kill_process": {},
	"set_model": {"model": "opus"}, "set_permission_mode": {"permission_mode": "plan"},
}

func TestASessionOfOutsidersTakesOnlyAnswers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tab := h.OpenTab(account.Admin)
	for _, kind := range []session.Kind{session.Agent, session.Terminal} {
		id := h.outside(kind)
		for name, fields := range processCommands {
			with := map[string]any{"session_id": id}
			for k, v := range fields {
				with[k] = v
			}
			a := tab.Do(name, with)
			if a.Result != wire.Rejected || a.Error == nil || a.Error.Code != "not_ours" || a.Error.Message == "" {
				t.Errorf("%s of a session of kind %s: got %+v", name, kind, a)
			}
		}
		for path, body := range map[string]string{
			"messages": `{"text":"x"}`, "resume": `{}`, "fork": `{}`, "interrupt": `{}`, "kill": `{}`, "model": `{"model":"opus"}`,
			"permission_mode": `{"permission_mode":"plan"}`,
		} {
			apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/sessions/"+id+"/"+path, body), http.StatusConflict, "not_ours")
		}
		r, answered := h.Ask(id, "a", within(time.Hour))
		f := tab.AwaitState(id, 1)
		first := f["pending_request"].(map[string]any)
		if f["kind"] != string(kind) || first["asker"] != "agent Reviewer over MCP" {
			t.Errorf("the state of a session of kind %s: kind %v, asker %v", kind, f["kind"], first["asker"])
		}
		if a := tab.Do("pending_request_response", map[string]any{"session_id": id, "request_id": r.RequestID,
			"request_type": "ask_user_question", "answers": map[string]string{"Which format?": "Summary", "Which parts?": "Web"}}); a.Result != wire.Applied {
			t.Fatalf("an answer: got %+v", a)
		}
		if got := <-answered; got.Status != pending.Answered {
			t.Errorf("the asker got %s", got.Status)
		}
		var listed wire.SessionList
		h.CallAs(account.Viewer, "GET", "/api/sessions", nil).Decode(t, &listed)
		found := false
		for _, s := range listed.Sessions {
			found = found || s.SessionID == id && s.Kind == kind
		}
		if !found {
			t.Errorf("the list does not tell the kind %s: %+v", kind, listed)
		}
	}
	if asked := h.Driver.Calls(); len(asked) != 0 {
		t.Errorf("the driver was asked for %v", asked)
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab, other := h.OpenTab(account.Member), h.OpenTab(account.Viewer)
	r, answered := h.Ask(id, "a", within(time.Minute))
	was := *deadline(tab.AwaitState(id, 1))
	other.AwaitState(id, 1)

	command := tab.Send("extend", map[string]any{"session_id": id, "request_id": r.RequestID})
	a := tab.AwaitAck(command)
	if a.Result != wire.Applied || a.ExpiresAt == nil || *a.ExpiresAt-was != 300 {
		t.Fatalf("got %+v, want five minutes after %v", a, was)
	}
	for _, b := range []*apitest.Tab{tab, other} {
		if got := deadline(b.AwaitState(id, 1)); got == nil || *got != *a.ExpiresAt {
			t.Fatalf("the tabs see %v, want %v", got, *a.ExpiresAt)
		}
	}
	// A repetition of the same command is no second extension.
	if again := tab.Do("extend", map[string]any{"command_id": command, "session_id": id, "request_id": r.RequestID}); again.ExpiresAt == nil || *again.ExpiresAt != *a.ExpiresAt {
		t.Fatalf("repeated: got %+v, want the first ack", again)
	}

	path := "/api/pending/" + r.RequestID + "/extend"
	var out wire.Outcome
	for range 4 {
		got := h.CallAs(account.Member, "POST", path, `{}`)
		if got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		got.Decode(t, &out)
	}
	last := *out.ExpiresAt
	for range 2 { // 1 + 5·5 minutes, and what is left of 30
		got := h.CallAs(account.Member, "POST", path, nil)
		if got.Status == http.StatusOK {
			got.Decode(t, &out)
			last = *out.ExpiresAt
			continue
		}
		var refused wire.Outcome
		got.Decode(t, &refused)
		if got.Status != http.StatusUnprocessableEntity || refused.Error.Code != "cannot_extend" {
			t.Fatalf("past the longest wait: got %d %s", got.Status, got.Body)
		}
	}
	if want := float64(r.CreatedAt.Add(30*time.Minute).UnixMicro()) / 1e6; last != want {
		t.Errorf("the last deadline is %v, want %v, 30 minutes after it was asked", last, want)
	}

	// Named with another session it is as if it were not there.
	if a := tab.Do("extend", map[string]any{"session_id": h.NewSession("two"), "request_id": r.RequestID}); a.Error == nil || a.Error.Code != "not_found" {
		t.Errorf("as a request of another session: got %+v", a)
	}
	if a := tab.Do("extend", map[string]any{"request_id": uuid.NewString()}); a.Error == nil || a.Error.Code != "not_found" {
		t.Errorf("an unknown request: got %+v", a)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, `{"request_id":"other"}`), http.StatusBadRequest, "invalid")

	endless, _ := h.Ask(id, "b", nil)
	if a := tab.Do("extend", map[string]any{"request_id": endless.RequestID}); a.Result != wire.Rejected || a.Error.Code != "cannot_extend" {
		t.Errorf("without a deadline: got %+v", a)
	}
	if a := tab.Do("pending_request_response", map[string]any{"session_id": r.SessionID, "request_id": r.RequestID, "request_type": "ask_user_question", "decision": "deny"}); a.Result != wire.Applied {
		t.Fatalf("declined: got %+v", a)
	}
	<-answered
	if a := tab.Do("extend", map[string]any{"request_id": r.RequestID}); a.Result != wire.AlreadyResolved || a.Resolved == nil || a.Resolved.Outcome != pending.Denied {
		t.Errorf("after it was declined: got %+v", a)
	}
}

// deadline is the expires_at of the first request of a state.
func deadline(f map[string]any) *float64 {
	if at, ok := f["pending_request"].(map[string]any)["expires_at"].(float64); ok {
		return &at
	}
	return nil
}

func TestWhatBecameOfARequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "a", nil)
	var fate wire.RequestFate
	h.CallAs(account.Viewer, "GET", "/api/pending/"+r.RequestID, nil).Decode(t, &fate)
	if fate.Status != pending.Open || fate.Resolved != nil || fate.SessionID != id {
		t.Errorf("open: got %+v", fate)
	}
	if err := h.Registry.Withdraw(t.Context(), r.RequestID, "Claude stopped waiting (its own time limit)."); err != nil {
		t.Fatal(err)
	}
	h.CallAs(account.Viewer, "GET", "/api/pending/"+r.RequestID, nil).Decode(t, &fate)
	if fate.Resolved == nil || fate.Resolved.Outcome != pending.Withdrawn || fate.Resolved.Summary != "Claude stopped waiting (its own time limit)." {
		t.Errorf("withdrawn: got %+v", fate.Resolved)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/pending/"+uuid.NewString(), nil), http.StatusNotFound, "not_found")
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id, ended := h.NewSession("one"), h.NewSession("two")
	h.SetState(ended, session.Dead)
	tab := h.OpenTab(account.Viewer)
	report := func(sessionID, event string, step float64) {
		t.Helper()
		total := 5.0
		l := session.Lifecycle{EventType: event, PhaseName: "Hook Bridge", PhaseNumber: "33", Step: &step, TotalSteps: &total, At: time.Now()}
		if err := h.Store.SetLifecycle(t.Context(), sessionID, l); err != nil {
			t.Fatal(err)
		}
		h.Notifier.Notify(sessionID)
	}
	until := func(b *apitest.Tab, sessionID string, step float64) map[string]any {
		t.Helper()
		return b.Until("a lifecycle frame", func(f map[string]any) bool {
			return f["type"] == "lifecycle" && f["session_id"] == sessionID && f["step"] == step
		})
	}
	report(id, "plan-started", 1)
	f := until(tab, id, 1)
	if f["event_type"] != "plan-started" || f["phase_name"] != "Hook Bridge" || f["phase_number"] != "33" || f["total_steps"] != 5.0 || f["at"] == nil {
		t.Errorf("got %v", f)
	}
	report(id, "task-started", 2)
	until(tab, id, 2)
	report(ended, "plan-completed", 3)
	until(tab, ended, 3)

	// Who comes later is told the last one: of what runs at once, of the rest on
	// subscribing.
	late := h.OpenTab(account.Viewer)
	until(late, id, 2)
	late.Do("subscribe", map[string]any{"session_id": ended})
	until(late, ended, 3)
	for _, f := range late.Frames {
		if f["type"] == "lifecycle" && f["session_id"] == id && f["step"] != 2.0 {
			t.Errorf("an outdated frame: %v", f)
		}
	}
}
