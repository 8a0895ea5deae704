package wsapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wsapi"
)

// counting runs the server's watch over held answers until the test ends.
func (h *house) counting() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.registry.RunHolds(ctx, h.server.MayCount) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
}

// heldOf is what a frame says of the answer that is held in the only request.
func heldOf(f map[string]any) map[string]any {
	if f["type"] != "process_state" || len(f["pending_requests"].([]any)) != 1 {
		return nil
	}
	held, _ := f["pending_requests"].([]any)[0].(map[string]any)["held"].(map[string]any)
	return held
}

// TestHeldAnswer: others see whose it is and cannot answer, its giver can take it
// back and give another, which counts.
func TestHeldAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	h.counting()
	r, answered := h.ask(h.session("api"), "one", nil)
	give := func(who someone, path string, body map[string]any) answer {
		return h.call("POST", "/api/pending/"+r.RequestID+"/"+path, body, who.way)
	}
	yes := func(commandID string, ms int) map[string]any {
		return map[string]any{"decision": "allow", "command_id": commandID, "undo_ms": ms}
	}
	a, b := h.openAs(ana), h.openAs(ben)
	checkRefusal(t, give(ana, "response", yes(uuid.NewString(), 10_001)), 400, "invalid")
	checkRefusal(t, give(ana, "undo", map[string]any{}), 409, "nothing_held")
	first := uuid.NewString()
	for range 2 {
		var out wsapi.Outcome
		give(ana, "response", yes(first, 10_000)).into(t, &out)
		if out.Result != wsapi.Applied || out.HeldUntil == nil {
			t.Fatalf("got %+v", out)
		}
	}
	b.until("Ana's held approval", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["by"] == "Ana" && held["mine"] == false && held["decision"] == "allow" && held["command_id"] == nil
	})
	a.until("that it is hers", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["mine"] == true && held["command_id"] == first
	})
	checkRefusal(t, give(ben, "response", map[string]any{"decision": "deny"}), 409, "held")
	checkRefusal(t, give(ben, "undo", map[string]any{}), 409, "nothing_held")
	checkRefusal(t, give(ana, "undo", map[string]any{"answer": uuid.NewString()}), 409, "nothing_held")
	undo := map[string]any{"command_id": uuid.NewString(), "answer": first}
	for range 2 { // the same again
		if got := give(ana, "undo", undo); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	checkRefusal(t, give(ana, "response", yes(first, 10_000)), 409, "taken_back")
	b.until("that it was taken back", func(f map[string]any) bool {
		return f["type"] == "process_state" && len(f["pending_requests"].([]any)) == 1 && heldOf(f) == nil
	})
	select {
	case got := <-answered:
		t.Fatalf("what was taken back counted: %+v", got.Resolution)
	default:
	}
	if got := give(ana, "response", yes(uuid.NewString(), 1)); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := <-answered; got.Status != pending.Answered || got.Resolution.Actor.Name != "Ana" {
		t.Fatalf("got %+v", got)
	}
	checkRefusal(t, give(ana, "undo", map[string]any{}), 409, "already_resolved")
}

// TestHeldAnswerOfSomebodyRemoved: what holds when an answer is given must hold
// when it counts.
func TestHeldAnswerOfSomebodyRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member), member(ben, account.Member))
	r, answered := h.ask(h.session("api"), "one", nil)
	got := h.call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"decision": "allow", "undo_ms": 1}, ana.way)
	if got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	h.changed(p, wsapi.ProjectChange{Members: &[]wsapi.ProjectMember{member(ben, account.Member)}})
	b := h.openAs(ben)
	h.counting()
	b.until("why it does not count", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["dropped"] == "They may not answer this any more."
	})
	select {
	case got := <-answered:
		t.Fatalf("it counted: %+v", got.Resolution)
	default:
	}
	now, err := h.store.Request(t.Context(), r.RequestID)
	if err != nil || now.Status != pending.Open || now.Held.Stands() {
		t.Fatalf("got %+v, %v", now, err)
	}
	if got := h.call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"decision": "allow"}, ben.way); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	select {
	case <-answered:
	case <-time.After(20 * time.Second):
		t.Fatal("Ben's answer did not count")
	}
}
