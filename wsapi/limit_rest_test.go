package wsapi_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// TestLimitsAreShown: everybody sees theirs and those of their projects, an admin
// those of all.
func TestLimitsAreShown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.everybody = project.Limits{Sessions: 2, Cost: 5}
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member))
	ten := 10.0
	h.changed(p, wire.ProjectChange{Limits: &wire.Limits{Sessions: 4, Cost: &ten}})
	var started wire.Outcome
	h.call("POST", "/api/sessions", `{"cwd":"/work/api","prompt":"x"}`, ana.way).into(t, &started)
	for _, p := range []any{session.ProcessState{SessionID: started.SessionID, State: session.UserTurn, Memory: 7}, session.Progress{Spent: 500_000, SpentAt: time.Now()}} {
		var err error
		switch p := p.(type) {
		case session.ProcessState:
			_, err = h.store.SaveProcess(t.Context(), p)
		case session.Progress:
			_, err = h.store.SaveProgress(t.Context(), started.SessionID, p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	see := func(way way) (list wire.LimitList) {
		h.call("GET", "/api/limits", nil, way).into(t, &list)
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
	change := func(body string) answer { return h.as(account.Admin, "PATCH", "/api/users/"+ana.id, body) }
	if got := change(`{"limits":{"sessions":1,"cost":0}}`); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	checkRefusal(t, h.call("POST", "/api/sessions", `{"cwd":"/work/else","prompt":"x"}`, ana.way), 429, "limit_reached")
	checkRefusal(t, change(`{"limits":{"sessions":-1}}`), 400, "invalid")
	checkRefusal(t, h.call("PATCH", "/api/users/"+ana.id, `{"limits":{}}`, ana.way), 403, "forbidden")
	list = see(bearer(h.token(account.Admin)))
	for _, u := range list.People {
		if u.UserID == ana.id && (u.Limits.Sessions != 1 || *u.Limits.Cost != 0 || *u.Own.Sessions != 1 || u.Own.Memory != nil || u.Use.Sessions != 1) {
			t.Errorf("an admin is told %+v", u)
		}
	}
	if len(list.People) < 3 || list.Everybody.Sessions != 2 {
		t.Errorf("an admin is told %+v", list)
	}
	if got := change(`{"limits":{}}`); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := h.call("POST", "/api/sessions", `{"cwd":"/work/else","prompt":"x"}`, ana.way); got.status != 201 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
