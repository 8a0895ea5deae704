package httpapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// sessionOf creates a session of a kind in a folder, started by the admin.
func (h *harness) sessionOf(kind session.Kind, folder string) string {
	h.T.Helper()
	id := uuid.NewString()
	if err := h.Store.CreateSession(h.T.Context(), session.Session{
		SessionID: id, Title: "t", CWD: folder, Kind: kind, PermissionMode: "default", OwnerID: h.Admin.UserID, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}); err != nil {
		h.T.Fatal(err)
	}
	return id
}

func TestToolsOfASession(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.sessionOf(session.Ours, "/w")
	api := "/api/sessions/" + id
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", api+"/tools", nil), 409, "not_running")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", api+"/context", nil), 409, "not_running")
	terminal := "/api/sessions/" + h.sessionOf(session.Terminal, "/w")
	for _, path := range []string{"/tools", "/context"} {
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", terminal+path, nil), 409, "not_ours")
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions/nothing"+path, nil), 404, "not_found")
	}

	h.Driver.Usable = &orchestrator.Tools{
		Servers: []orchestrator.ToolServer{{Name: "<b>\u202e", Status: "connected", Tools: []orchestrator.ServerTool{{Name: "x", Approval: orchestrator.ApprovalAsks}}}},
		Hooks:   []claude.ListedHook{{Event: "Stop", Type: "command", Text: "echo"}}, Missing: []string{"rules"},
	}
	may := map[account.Role][]string{
		account.Viewer: {}, account.Member: {"enable", "disable", "reconnect"}, account.Admin: {"enable", "disable", "reconnect", "sign_in", "finish_sign_in"},
	}
	for role, want := range may {
		var got wire.SessionTools
		h.CallAs(role, "GET", api+"/tools", nil).Decode(t, &got)
		if !slices.Equal(got.May, want) || got.Servers[0].Name != "<b>\u202e" || got.Servers[0].Tools[0].Approval != "asks" || got.Hooks[0].Kind != "command" || got.Missing[0] != "rules" || got.Skills == nil {
			t.Errorf("%s: got %+v", role, got)
		}
	}
	var context wire.ContextUsage
	h.CallAs(account.Viewer, "GET", api+"/context", nil).Decode(t, &context)
	if context.Tokens != 30 || context.CompactsAt != 167 || *context.Limits[0].Percent != 12 || *context.Limits[0].ResetsAt != 10 || context.Limits[1].Percent != nil || context.Limits[1].ResetsAt != nil {
		t.Errorf("got %+v", context)
	}
}

func TestServersAreChangedByWhoMay(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.sessionOf(session.Ours, "/w")
	api := "/api/sessions/" + id + "/tools/server"
	change := func(action string) wire.ServerChange { return wire.ServerChange{Server: "a", Action: action} }
	for _, action := range []string{"enable", "disable", "reconnect", "sign_in", "finish_sign_in"} {
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", api, change(action)), 403, "forbidden")
	}
	for _, action := range []string{"sign_in", "finish_sign_in"} {
		apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api, change(action)), 403, "forbidden")
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api, change("delete")), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/sessions/"+h.sessionOf(session.Terminal, "/w")+"/tools/server", change("enable")), 409, "not_ours")
	if calls := h.Driver.Calls(); len(calls) != 0 {
		t.Fatalf("got %q", calls)
	}
	for _, action := range []string{"enable", "disable", "reconnect"} {
		if got := h.CallAs(account.Member, "POST", api, change(action)); got.Status != 200 {
			t.Errorf("%s: %d %s", action, got.Status, got.Body)
		}
	}
	var out wire.ServerChanged
	h.CallAs(account.Admin, "POST", api, change("sign_in")).Decode(t, &out)
	if out.SignInURL != "https://sign-in.example.org/a" {
		t.Errorf("got %+v", out)
	}
	if got := h.CallAs(account.Admin, "POST", api, wire.ServerChange{Server: "a", Action: "finish_sign_in", Callback: "http://localhost:1/?state=x"}); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	calls := strings.Join(h.Driver.Calls(), "\n")
	for _, want := range []string{"enable a of " + id + ": true", "enable a of " + id + ": false", "reconnect a of " + id, "sign in to a of " + id, "with http://localhost:1/?state=x"} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %q in %s", want, calls)
		}
	}
}

func TestCostsOfDays(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.project("api", "/w/api")
	in, out := h.sessionOf(session.Ours, "/w/api"), h.sessionOf(session.Ours, "/w")
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for at, micros := range map[time.Time]int64{today: 250_000, today.AddDate(0, 0, -29): 500_000, today.AddDate(0, 0, -30): 9_000_000} {
		if _, err := h.Store.SaveProgress(t.Context(), in, session.Progress{Spent: micros, SpentAt: at}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Store.SaveProgress(t.Context(), out, session.Progress{Spent: 1_000_000, SpentAt: today}); err != nil {
		t.Fatal(err)
	}
	var got wire.CostHistory
	h.Call("GET", "/api/sessions/"+in+"/costs", nil, h.Cookie()).Decode(t, &got)
	want := []wire.CostDay{{At: wire.Seconds(today.AddDate(0, 0, -29)), Mine: 0.5, Project: 0.5}, {At: wire.Seconds(today), Mine: 1.25, Project: 0.25}}
	if !slices.Equal(got.Days, want) || got.Project != "api" || got.Count != 30 || got.Today != wire.Seconds(today) {
		t.Errorf("got %+v", got)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions/"+in+"/costs", nil), 404, "not_found")
	h.CallAs(account.Viewer, "GET", "/api/sessions/"+out+"/costs", nil).Decode(t, &got)
	if len(got.Days) != 1 || got.Days[0].Mine != 0 || got.Days[0].Project != 1 || got.Project != "" {
		t.Errorf("got %+v", got)
	}
}
