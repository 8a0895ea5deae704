package httpapi_test

import (
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
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
		if list.Runners[0] != atlas || list.Runners[1] != far {
			t.Errorf("%s: %+v", what, list)
		}
	}
	atlas := wire.Runner{RunnerID: "runner-1", Name: "atlas", State: wire.RunnerReady, Release: "1.0", Epoch: lease.Epoch}
	far := wire.Runner{RunnerID: "far", Name: "build-02", State: wire.RunnerUnreachable}
	h.CallAs(account.Admin, "GET", "/api/runners", nil).Decode(t, &list)
	expect("at first", atlas, far)

	h.CallAs(account.Admin, "PATCH", "/api/runners/runner-1", wire.RunnerChange{Paused: true}).Decode(t, &list)
	atlas.Paused = true
	expect("paused", atlas, far)
	h.CallAs(account.Admin, "PATCH", "/api/runners/runner-1", wire.RunnerChange{}).Decode(t, &list)
	atlas.Paused = false
	expect("resumed", atlas, far)
	if a := h.CallAs(account.Admin, "PATCH", "/api/runners/none", wire.RunnerChange{}); a.Status != 404 {
		t.Errorf("an unknown runner: %d", a.Status)
	}
}
