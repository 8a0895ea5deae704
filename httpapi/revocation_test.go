package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestRevokedRightsEndInEveryAPI: attacks 34, 36 and 38. However a right ends,
// the next request is refused at once, and so is another tab; the open one is told
// and closed. That of an agent is in TestTokenThatEndsIsNoticedWithinASecond.
func TestRevokedRightsEndInEveryAPI(t *testing.T) {
	t.Parallel()
	type right struct {
		h       *harness
		user    account.User
		way     apitest.RequestOption // of the browser that loses it
		id      string
		p       wire.Project
		signIn  account.Identity
		another apitest.RequestOption // of the same person
	}
	rows := map[string]struct {
		end func(t *testing.T, r right)
		// Of a session in a project: what reading and speaking there answer afterwards.
		reads, speaks int
		word          string // why the tab is closed
	}{
		"signed out": {func(t *testing.T, r right) { must(t, r.h.Call("POST", "/api/logout", "{}", r.way), 204) }, 401, 401, "signed_out"},
		"ended from another browser": {func(t *testing.T, r right) {
			must(t, r.h.Call("DELETE", "/api/sign_ins/"+r.signIn.Credential.CredentialID, nil, r.another), 204)
		}, 401, 401, "signed_out"},
		"another password": {func(t *testing.T, r right) {
			must(t, r.h.Call("POST", "/api/me/password", wire.NewPassword{CurrentPassword: password, Password: "another one of mine"}, r.another), 204)
		}, 401, 401, "signed_out"},
		"shut out": {func(t *testing.T, r right) {
			out := true
			must(t, r.h.CallAs(account.Admin, "PATCH", "/api/users/"+r.user.UserID, wire.PersonChange{Disabled: &out}), 200)
		}, 401, 401, "signed_out"},
		"demoted": {func(t *testing.T, r right) {
			role := account.Viewer
			must(t, r.h.CallAs(account.Admin, "PATCH", "/api/users/"+r.user.UserID, wire.PersonChange{Role: &role}), 200)
		}, 200, 403, "role_changed"},
		"out of the project": {func(_ *testing.T, r right) {
			r.h.changed(r.p, wire.ProjectChange{Members: &[]wire.ProjectMember{}})
		}, 404, 404, "access_changed"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			ada := h.person("Ada", account.Member)
			own := apitest.Header("Origin", h.Web.URL) // as a browser sends it
			first, second := h.signIn("Ada"), h.signIn("Ada")
			r := right{h: h, user: ada, id: h.NewSession("api"), way: func(r *http.Request) { first(r); own(r) }, another: second}
			r.p = h.project("api", "/work/api")
			r.p = h.changed(r.p, wire.ProjectChange{Members: &[]wire.ProjectMember{member(someone{id: ada.UserID}, account.Member)}})
			list, err := h.Directory.SignIns(t.Context(), ada.UserID)
			if err != nil || len(list) != 2 {
				t.Fatalf("%d sign-ins: %v", len(list), err)
			}
			r.signIn.Credential = list[0]

			where := "/api/sessions/" + r.id
			speak := wire.SendMessage{Text: "x"}
			must(t, h.Call("GET", where, nil, r.way), 200)
			must(t, h.Call("POST", where+"/messages", speak, r.way), 202)
			tab := h.openAs(someone{way: r.way})

			row.end(t, r)
			for at, got := range map[string][2]int{
				"reading":  {h.Call("GET", where, nil, r.way).Status, row.reads},
				"speaking": {h.Call("POST", where+"/messages", speak, r.way).Status, row.speaks},
				"a tab":    {dialled(h, r.way), map[bool]int{true: http.StatusUnauthorized, false: http.StatusSwitchingProtocols}[row.reads == 401]},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: got %d, want %d", at, got[0], got[1])
				}
			}
			if _, last := tab.AwaitClose(); last["code"] != row.word {
				t.Errorf("the tab was closed after %v, want %s", last, row.word)
			}
		})
	}
}

func must(t *testing.T, got apitest.Response, status int) {
	t.Helper()
	if got.Status != status {
		t.Fatalf("got %d %s, want %d", got.Status, got.Body, status)
	}
}

// dialled is the status of an upgrade.
func dialled(h *harness, who apitest.RequestOption) int {
	h.T.Helper()
	b, resp, err := h.TryDial(h.T.Context(), who)
	if err == nil {
		_ = b.Conn.CloseNow()
	}
	if resp == nil {
		h.T.Fatal(err)
	}
	return resp.StatusCode
}
