package httpapi_test

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestRunners(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, r := range []session.Runner{{RunnerID: "runner-1", Name: "atlas"}, {RunnerID: "far", Name: "build-02"}} { // the first is the server's
		if err := h.Store.RegisterRunner(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	lease, err := h.Store.TakeLease(t.Context(), session.Hello{RunnerID: "runner-1", Name: "atlas", Release: "1.0"})
	if err != nil {
		t.Fatal(err)
	}
	var list wire.RunnerList
	expect := func(what string, atlas, far wire.Runner) {
		t.Helper()
		if len(list.Runners) != 2 || list.Runners[0].SeenAt == nil || list.Runners[1].SeenAt != nil {
			t.Fatalf("%s: %+v", what, list)
		}
		list.Runners[0].SeenAt = nil
		if !reflect.DeepEqual(list.Runners, []wire.Runner{atlas, far}) {
			t.Errorf("%s: %+v", what, list)
		}
	}
	none := wire.Runner{Labels: []string{}, Roots: []string{}, CLIs: []wire.RunnerCLI{}}
	atlas, far := none, none
	atlas.RunnerID, atlas.Name, atlas.State, atlas.Release, atlas.Epoch = "runner-1", "atlas", wire.RunnerReady, "1.0", lease.Epoch
	far.RunnerID, far.Name, far.State = "far", "build-02", wire.RunnerUnreachable
	h.CallAs(account.Admin, "GET", "/api/runners", nil).Decode(t, &list)
	expect("at first", atlas, far)

	h.CallAs(account.Admin, "PATCH", "/api/runners/runner-1", wire.RunnerChange{Paused: new(true)}).Decode(t, &list)
	atlas.Paused = true
	expect("paused", atlas, far)
	h.CallAs(account.Admin, "PATCH", "/api/runners/runner-1", wire.RunnerChange{Paused: new(false)}).Decode(t, &list)
	atlas.Paused = false
	expect("resumed", atlas, far)
	if a := h.CallAs(account.Admin, "PATCH", "/api/runners/none", wire.RunnerChange{Paused: new(false)}); a.Status != 404 {
		t.Errorf("an unknown runner: %d", a.Status)
	}

	h.CallAs(account.Admin, "PATCH", "/api/runners/far", wire.RunnerChange{Draining: new(true)}).Decode(t, &list)
	far.Draining = true
	expect("draining", atlas, far)
	h.CallAs(account.Admin, "PATCH", "/api/runners/far", wire.RunnerChange{Draining: new(false)}).Decode(t, &list)
	far.Draining = false
	h.CallAs(account.Admin, "PATCH", "/api/runners/far", wire.RunnerChange{Labels: []string{"gpu"}}).Decode(t, &list)
	far.Labels, far.LabelsGiven = []string{"gpu"}, true
	expect("labels", atlas, far)
	for what, change := range map[string]wire.RunnerChange{
		"nothing": {}, "two things": {Name: new("x"), Paused: new(true)}, "labels and none": {Labels: []string{"a"}, UseOwnLabels: true},
		"a label with a space": {Labels: []string{"a b"}}, "an empty label": {Labels: []string{""}}, "an empty name": {Name: new(" ")},
	} {
		if a := h.CallAs(account.Admin, "PATCH", "/api/runners/far", change); a.Status != 400 {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	if a := h.CallAs(account.Admin, "PATCH", "/api/runners/runner-1", wire.RunnerChange{Name: new("x")}); a.Status != 404 {
		t.Errorf("renaming the server's own: %d", a.Status)
	}
	h.CallAs(account.Admin, "PATCH", "/api/runners/far", wire.RunnerChange{UseOwnLabels: true}).Decode(t, &list)
	far.Labels, far.LabelsGiven = []string{}, false
	expect("its own labels", atlas, far)

	var machines wire.MachineList
	h.CallAs(account.Member, "GET", "/api/machines", nil).Decode(t, &machines)
	want := []wire.Machine{
		{RunnerID: "runner-1", Name: "atlas", Here: true, State: wire.RunnerReady, Labels: []string{}},
		{RunnerID: "far", Name: "build-02", State: wire.RunnerUnreachable, Labels: []string{}},
	}
	if !reflect.DeepEqual(machines.Machines, want) {
		t.Errorf("machines: %+v", machines)
	}
}

// A token of a runner lets it in and does nothing else: it is no credential of a person or an agent.
func TestTokensOfRunners(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var made, again wire.RunnerToken
	h.CallAs(account.Admin, "POST", "/api/runners", wire.RunnerCreate{Name: " build-02 "}).Decode(t, &made)
	for name, want := range map[string]int{"build-02": 409, "": 400, "a\nb": 400, strings.Repeat("x", 101): 400} {
		if a := h.CallAs(account.Admin, "POST", "/api/runners", wire.RunnerCreate{Name: name}); a.Status != want {
			t.Errorf("the name %q: %d %s", name, a.Status, a.Body)
		}
	}
	for _, path := range []string{"/api/me", "/api/sessions", "/api/runners", "/ws", "/metrics"} {
		if a := h.Call("GET", path, nil, apitest.Header("Authorization", "Bearer "+made.Token)); a.Status != 401 {
			t.Errorf("GET %s with the token of a runner: %d", path, a.Status)
		}
	}
	if r, err := h.Store.RunnerByToken(t.Context(), sha256.Sum256([]byte(made.Token))); err != nil || r.RunnerID != made.RunnerID || r.Name != "build-02" {
		t.Fatalf("its token finds %+v, %v", r, err)
	}
	path := "/api/runners/" + made.RunnerID
	h.CallAs(account.Admin, "POST", path+"/token", struct{}{}).Decode(t, &again)
	expect := func(what, token string, want error) {
		t.Helper()
		if _, err := h.Store.RunnerByToken(t.Context(), sha256.Sum256([]byte(token))); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("the former token", made.Token, session.ErrNoRunner)
	expect("the new token", again.Token, nil)
	if a := h.CallAs(account.Admin, "DELETE", path+"/token", nil); a.Status != 204 {
		t.Errorf("revoke: %d %s", a.Status, a.Body)
	}
	expect("the revoked token", again.Token, session.ErrNoRunner)
	for _, want := range []int{204, 404} {
		if a := h.CallAs(account.Admin, "DELETE", path, nil); a.Status != want {
			t.Errorf("remove: %d %s, want %d", a.Status, a.Body, want)
		}
	}
	var list wire.RunnerList
	h.CallAs(account.Admin, "GET", "/api/runners", nil).Decode(t, &list)
	if len(list.Runners) != 1 || list.Runners[0].State != wire.RunnerRemoved || list.Runners[0].HasToken || !list.Runners[0].Remote {
		t.Errorf("at the end: %+v", list)
	}
}
