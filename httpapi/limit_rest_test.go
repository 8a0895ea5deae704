package httpapi_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// TestLimitsAreShown: everybody sees theirs and those of their projects, an admin
// those of all.
func TestLimitsAreShown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.UserLimits = project.Limits{Sessions: 2, Cost: 5}
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member))
	ten := 10.0
	h.changed(p, wire.ProjectChange{Limits: &wire.Limits{Sessions: 4, Cost: &ten}})
	var started wire.Outcome
	h.Call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x"}`, ana.way).Decode(t, &started)
	for _, p := range []any{session.ProcessState{SessionID: started.SessionID, State: session.UserTurn, Memory: 7}, session.Progress{Spent: 500_000, SpentAt: time.Now()}} {
		var err error
		switch p := p.(type) {
		case session.ProcessState:
			_, err = h.Store.SaveProcess(t.Context(), p)
		case session.Progress:
			_, err = h.Store.SaveProgress(t.Context(), started.SessionID, p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	see := func(way apitest.RequestOption) (list wire.LimitList) {
		h.Call("GET", "/api/limits", nil, way).Decode(t, &list)
		return list
	}
	list := see(ana.way)
	if m := list.Mine; m.Limits.Sessions != 2 || *m.Limits.Cost != 5 || m.Use.Sessions != 1 || m.Use.Memory != 7 || *m.Use.Cost != 0.5 {
		t.Errorf("hers: %+v", m)
	}
	if len(list.Projects) != 1 || list.Projects[0].All.Limits.Sessions != 4 || *list.Projects[0].All.Use.Cost != 0.5 || list.Projects[0].Mine.Use.Sessions != 1 {
		t.Errorf("of her projects: %+v", list.Projects)
	}
	if list.People != nil || list.Everybody != nil || list.NextDay <= float64(time.Now().Unix()) {
		t.Errorf("she is told of others: %+v", list)
	}
	if list := see(ben.way); len(list.Projects) != 0 || list.Mine.Use.Sessions != 0 {
		t.Errorf("a stranger is told %+v", list)
	}

	// Another limit for one person holds at once, and is on record.
	change := func(body string) apitest.Response {
		return h.CallAs(account.Admin, "PATCH", "/api/users/"+ana.id, body)
	}
	if got := change(`{"limits":{"sessions":1,"cost":0}}`); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/work/else","prompt":"x"}`, ana.way), 429, "limit_reached")
	apitest.CheckRefusal(t, change(`{"limits":{"sessions":-1}}`), 400, "invalid")
	apitest.CheckRefusal(t, h.Call("PATCH", "/api/users/"+ana.id, `{"limits":{}}`, ana.way), 403, "forbidden")
	list = see(apitest.Bearer(h.Token(account.Admin)))
	for _, u := range list.People {
		if u.UserID == ana.id && (u.Limits.Sessions != 1 || *u.Limits.Cost != 0 || *u.Own.Sessions != 1 || u.Own.Memory != nil || u.Use.Sessions != 1) {
			t.Errorf("an admin is told %+v", u)
		}
	}
	if len(list.People) < 3 || list.Everybody.Sessions != 2 {
		t.Errorf("an admin is told %+v", list)
	}
	if got := change(`{"limits":{}}`); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := h.Call("POST", "/api/sessions", `{"cwd":"/work/else","prompt":"x"}`, ana.way); got.Status != 201 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}
