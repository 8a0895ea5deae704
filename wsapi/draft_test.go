package wsapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestDraftsFollowTheirPerson: what is half written comes to every tab of its
// writer, to those that open later too, and to nobody else, not with the state of
// the session either.
func TestDraftsFollowTheirPerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "q", apitest.AsQuestions)
	desk, phone, stranger := h.OpenTab(account.Member), h.OpenTab(account.Member), h.OpenTab(account.Admin)
	about := func(request string) func(map[string]any) bool {
		return func(f map[string]any) bool {
			got, _ := f["request_id"].(string)
			return f["type"] == "draft" && f["session_id"] == id && got == request
		}
	}
	half := map[string]any{"reason": "Use pn"}
	if a := desk.Do("draft", map[string]any{"request_id": r.RequestID, "value": half}); a.Result != wire.Applied {
		t.Fatalf("got %+v", a)
	}
	if f := phone.Until("the draft", about(r.RequestID)); fmt.Sprint(f["value"]) != fmt.Sprint(half) || f["command_id"] == "" {
		t.Errorf("got %v", f)
	}
	desk.Do("draft", map[string]any{"session_id": id, "value": "And th"})
	phone.Until("the message", about(""))

	late := h.OpenTab(account.Member)
	late.Until("the draft", about(r.RequestID))
	phone.Do("draft", map[string]any{"request_id": r.RequestID, "value": nil})
	if f := late.Until("its end", about(r.RequestID)); f["value"] != nil {
		t.Errorf("got %v", f)
	}

	// The state that all get comes after everything that was half written.
	if a := h.CallAs(account.Admin, "PATCH", "/api/sessions/"+id, `{"title":"renamed"}`); a.Status != 200 {
		t.Fatal(a.Status)
	}
	f := stranger.Until("the new title", func(f map[string]any) bool {
		if f["type"] == "draft" {
			t.Errorf("a stranger got %v", f)
		}
		return f["type"] == "process_state" && f["title"] == "renamed"
	})
	if raw, _ := json.Marshal(f); strings.Contains(string(raw), "Use pn") {
		t.Errorf("a stranger got %s", raw)
	}
}

func TestDraftsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "q", apitest.AsQuestions)
	tab := h.OpenTab(account.Member)
	long := strings.Repeat("x", account.MaxDraftBytes)
	for name, row := range map[string]struct {
		fields map[string]any
		code   string
	}{
		"too long":          {map[string]any{"request_id": r.RequestID, "value": long}, "too_large"},
		"neither":           {map[string]any{"value": 1}, "invalid"},
		"unknown request":   {map[string]any{"request_id": "none", "value": 1}, "not_found"},
		"unknown session":   {map[string]any{"session_id": "none", "value": 1}, "not_found"},
		"of another's form": {map[string]any{"request_id": r.RequestID, "session_id": h.NewSession("two"), "value": 1}, "not_found"},
	} {
		if a := tab.Do("draft", row.fields); a.Result == wire.Applied || a.Error == nil || a.Error.Code != row.code {
			t.Errorf("%s: got %+v %+v, want %s", name, a, a.Error, row.code)
		}
	}
	tab.Do("pending_request_response", map[string]any{"session_id": id, "request_id": r.RequestID, "request_type": r.RequestType, "decision": "deny", "message": "Not now"})
	if a := tab.Do("draft", map[string]any{"request_id": r.RequestID, "value": 1}); a.Result == wire.Applied {
		t.Errorf("of a request that is answered: got %+v", a)
	}
}

// TestTemplatesAreLearned: the reason of a deny is there to be said again, for
// whoever said it alone.
func TestTemplatesAreLearned(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	list := func(role account.Role) []wire.Template {
		t.Helper()
		var l wire.TemplateList
		h.CallAs(role, "GET", "/api/templates", nil).Decode(t, &l)
		return l.Templates
	}
	for i := range 2 {
		r, _ := h.Ask(id, fmt.Sprint("q", i), nil)
		tab.Do("pending_request_response", map[string]any{"session_id": id, "request_id": r.RequestID, "request_type": r.RequestType, "decision": "deny", "message": " Use pnpm, not npm "})
	}
	got := list(account.Member)
	if len(got) != 1 || got[0].Text != "Use pnpm, not npm" || got[0].Uses != 2 {
		t.Fatalf("got %+v", got)
	}
	if others := list(account.Admin); len(others) != 0 {
		t.Fatalf("another has %+v", others)
	}
	path := "/api/templates/" + got[0].TemplateID
	if a := h.CallAs(account.Admin, "DELETE", path, nil); a.Status != 404 {
		t.Errorf("removed by another: %d", a.Status)
	}
	h.CallAs(account.Member, "PATCH", path, wire.TemplateText{Text: "Use pnpm"})
	h.CallAs(account.Member, "POST", "/api/templates", wire.TemplateText{Text: "Tests first"})
	if got = list(account.Member); len(got) != 2 || got[0].Text != "Tests first" || got[1].Text != "Use pnpm" {
		t.Errorf("got %+v", got)
	}
	if a := h.CallAs(account.Member, "DELETE", path, nil); a.Status != 204 || len(list(account.Member)) != 1 {
		t.Errorf("removed: %d", a.Status)
	}
	for name, text := range map[string]string{"empty": "", "blank": "  ", "too long": strings.Repeat("x", account.MaxTemplateBytes+1)} {
		if a := h.CallAs(account.Member, "PATCH", path, wire.TemplateText{Text: text}); a.Status < 400 {
			t.Errorf("%s: got %d", name, a.Status)
		}
	}
}
