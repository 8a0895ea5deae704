package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// counting runs the server's watch over held answers until the test ends.
func (h *harness) counting() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Registry.RunHolds(ctx, h.Rules) }()
	h.T.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.T.Error(err)
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
	h := newHarness(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	h.counting()
	r, answered := h.Ask(h.NewSession("api"), "one", nil)
	give := func(who someone, path string, body map[string]any) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/"+path, body, who.way)
	}
	yes := func(commandID string, ms int) map[string]any {
		return map[string]any{"request_type": "tool_approval", "decision": "allow", "command_id": commandID, "undo_ms": ms}
	}
	a, b := h.openAs(ana), h.openAs(ben)
	apitest.CheckRefusal(t, give(ana, "response", yes(uuid.NewString(), 10_001)), 400, "invalid")
	apitest.CheckRefusal(t, give(ana, "undo", map[string]any{}), 409, "nothing_held")
	first := uuid.NewString()
	for range 2 {
		var out wire.Outcome
		give(ana, "response", yes(first, 10_000)).Decode(t, &out)
		if out.Result != wire.Applied || out.HeldUntil == nil {
			t.Fatalf("got %+v", out)
		}
	}
	b.Until("Ana's held approval", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["by"] == "Ana" && held["mine"] == false && held["decision"] == "allow" && held["command_id"] == nil
	})
	a.Until("that it is hers", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["mine"] == true && held["command_id"] == first
	})
	apitest.CheckRefusal(t, give(ben, "response", map[string]any{"request_type": "tool_approval", "decision": "allow"}), 409, "held")
	apitest.CheckRefusal(t, give(ben, "undo", map[string]any{}), 409, "nothing_held")
	apitest.CheckRefusal(t, give(ana, "undo", map[string]any{"answer": uuid.NewString()}), 409, "nothing_held")
	undo := map[string]any{"command_id": uuid.NewString(), "answer": first}
	for range 2 { // the same again
		if got := give(ana, "undo", undo); got.Status != 200 {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	apitest.CheckRefusal(t, give(ana, "response", yes(first, 10_000)), 409, "taken_back")
	b.Until("that it was taken back", func(f map[string]any) bool {
		return f["type"] == "process_state" && len(f["pending_requests"].([]any)) == 1 && heldOf(f) == nil
	})
	select {
	case got := <-answered:
		t.Fatalf("what was taken back counted: %+v", got.Resolution)
	default:
	}
	if got := give(ana, "response", yes(uuid.NewString(), 1)); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := <-answered; got.Status != pending.Answered || got.Resolution.Actor.Name != "Ana" {
		t.Fatalf("got %+v", got)
	}
	apitest.CheckRefusal(t, give(ana, "undo", map[string]any{}), 409, "already_resolved")
}

// TestDenialOverAHeldApproval: whoever may answer denies while an approval of somebody
// else is held, or their own; whoever approved is told who it was, over every way.
func TestDenialOverAHeldApproval(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"Ben", "Ana"} {
		for _, over := range []string{"REST", "the socket"} {
			t.Run(by+" over "+over, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t)
				people := map[string]someone{"Ana": h.someone("Ana", account.Member), "Ben": h.someone("Ben", account.Member)}
				vera := h.someone("Vera", account.Viewer)
				h.counting()
				r, answered := h.Ask(h.NewSession("api"), "one", nil)
				path := "/api/pending/" + r.RequestID
				yes := map[string]any{"decision": "allow", "command_id": uuid.NewString(), "undo_ms": 10_000, "session_id": r.SessionID, "request_type": r.RequestType}
				if got := h.Call("POST", path+"/response", yes, people["Ana"].way); got.Status != 200 {
					t.Fatalf("got %d %s", got.Status, got.Body)
				}
				no := map[string]any{"decision": "deny", "message": "Not today.", "session_id": r.SessionID, "request_type": r.RequestType}
				apitest.CheckRefusal(t, h.Call("POST", path+"/response", no, vera.way), 403, "forbidden")
				if over == "REST" {
					var out wire.Outcome
					h.Call("POST", path+"/response", no, people[by].way).Decode(t, &out)
					if out.Result != wire.Applied || out.HeldUntil != nil {
						t.Fatalf("got %+v", out)
					}
				} else {
					no["request_id"] = r.RequestID
					if ack := h.openAs(people[by]).Do("pending_request_response", no); ack.Result != wire.Applied {
						t.Fatalf("got %+v", ack)
					}
				}
				if got := <-answered; got.Status != pending.Denied || got.Resolution.Actor.Name != by || got.Resolution.Answer.Message != "Not today." {
					t.Fatalf("got %+v", got)
				}
				for name, got := range map[string]apitest.Response{
					"the approval again": h.Call("POST", path+"/response", yes, people["Ana"].way),
					"its undo":           h.Call("POST", path+"/undo", map[string]any{}, people["Ana"].way),
				} {
					apitest.CheckRefusal(t, got, 409, "already_resolved")
					if !strings.Contains(got.Refusal(t).Message, "Denied by "+by) {
						t.Errorf("%s: %s", name, got.Body)
					}
				}
				entries := h.record()
				last := entries[len(entries)-1]
				overruled, _ := last["overruled"].(map[string]any)
				if last["what"] != "denied" || overruled == nil || overruled["by"].(map[string]any)["name"] != "Ana" {
					t.Errorf("on record: %v", last)
				}
			})
		}
	}
}

// TestHeldAnswerOfSomebodyRemoved: what holds when an answer is given must hold
// when it counts.
func TestHeldAnswerOfSomebodyRemoved(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	p := h.project("api", "/work/api", member(ana, account.Member), member(ben, account.Member))
	r, answered := h.Ask(h.NewSession("api"), "one", nil)
	got := h.Call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "undo_ms": 1}, ana.way)
	if got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	h.changed(p, wire.ProjectChange{Members: &[]wire.ProjectMember{member(ben, account.Member)}})
	b := h.openAs(ben)
	h.counting()
	b.Until("why it does not count", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["dropped"] == "They can no longer answer this request."
	})
	select {
	case got := <-answered:
		t.Fatalf("it counted: %+v", got.Resolution)
	default:
	}
	now, err := h.Store.Request(t.Context(), r.RequestID)
	if err != nil || now.Status != pending.Open || now.Held.Active() {
		t.Fatalf("got %+v, %v", now, err)
	}
	if got := h.Call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, ben.way); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	select {
	case <-answered:
	case <-time.After(2 * time.Minute):
		t.Fatal("Ben's answer did not count")
	}
}

// record is the audit log, oldest first.
func (h *harness) record() (entries []map[string]any) {
	h.T.Helper()
	if err := account.WalkAudit(context.Background(), h.Store, func(e account.AuditEntry) error {
		entries = append(entries, nil)
		return json.Unmarshal(e.Body, &entries[len(entries)-1])
	}); err != nil {
		h.T.Fatal(err)
	}
	return entries
}
