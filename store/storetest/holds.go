package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store"
)

// heldAnswerOf returns a held answer of a user.
func heldAnswerOf(userID string) pending.Held {
	return pending.Held{CredentialID: "credential",
		Actor: pending.Actor{UserID: userID, Name: "name of " + userID, Device: "Chrome", Address: "192.0.2.7"},
		At:    after(1), Until: after(4), CommandID: "h-" + userID,
		Answer: pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"make -k"}`)},
	}
}

// countHeld returns the resolution with which a held answer takes effect.
func countHeld(h pending.Held) pending.Resolution {
	return pending.Resolution{Status: pending.Answered, Answer: &h.Answer, Actor: h.Actor, At: after(4), CommandID: h.CommandID, HeldSince: h.At}
}

func holds(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("HeldAnswerIsReadWithItsRequest", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		h := heldAnswerOf("ana")
		_, won, err := st.ResolveRequest(ctx, r.RequestID, countHeld(h))
		must(t, err)
		equal(t, "counts without a hold", won, false)
		before := version(t, st, id)
		now, done, err := st.HoldRequest(ctx, r.RequestID, h)
		must(t, err)
		equal(t, "done", done, true)
		equal(t, "status", now.Status, pending.Open)
		equal(t, "version", version(t, st, id), before+1)
		equal(t, "held", now.Held, &h)
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "read", read, now)
		state, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "in the state", state.Requests[0].Held, &h)
		list, err := st.HeldRequests(ctx)
		must(t, err)
		equal(t, "listed", list, []pending.Request{now})

		_, done, err = st.HoldRequest(ctx, r.RequestID, heldAnswerOf("ben"))
		must(t, err)
		equal(t, "another's", done, false)
		now, won, err = st.ResolveRequest(ctx, r.RequestID, approval("c"))
		must(t, err)
		equal(t, "answered over it", []any{won, now.Status}, []any{false, pending.Open})
		_, won, err = st.ResolveRequest(ctx, r.RequestID, countHeld(heldAnswerOf("ben")))
		must(t, err)
		equal(t, "what was not held counts", won, false)
		equal(t, "version", version(t, st, id), before+1)
		if n, err := st.OrphanRequests(ctx, id, "the process died"); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		now, won, err = st.ResolveRequest(ctx, r.RequestID, countHeld(h))
		must(t, err)
		if !won || now.Status != pending.Answered || now.Delivery != pending.Queued || now.Held != nil || now.Resolution.CommandID != h.CommandID {
			t.Fatalf("got %v, %+v", won, now)
		}
		equal(t, "answer", *now.Resolution.Answer, h.Answer)
		list, err = st.HeldRequests(ctx)
		must(t, err)
		equal(t, "listed", len(list), 0)
		_, done, err = st.HoldRequest(ctx, r.RequestID, heldAnswerOf("cleo"))
		must(t, err)
		equal(t, "held after the end", done, false)
		_, done, err = st.UnholdRequest(ctx, r.RequestID, h.CommandID, h.Actor, "")
		must(t, err)
		equal(t, "taken back after the end", done, false)
		_, _, err = st.HoldRequest(ctx, "nothing", h)
		wantError(t, "no request", err, pending.ErrNotFound)
		_, _, err = st.UnholdRequest(ctx, "nothing", h.CommandID, h.Actor, "")
		wantError(t, "no request", err, pending.ErrNotFound)
		equal(t, "on record", heldAuditRecords(t, st), []string{"answered name of ana 3 "})
	})

	s.run("UndoneAnswerNeverCounts", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		ana, ben := heldAnswerOf("ana"), heldAnswerOf("ben")
		_, _, err := st.HoldRequest(ctx, r.RequestID, ana)
		must(t, err)
		_, done, err := st.UnholdRequest(ctx, r.RequestID, ben.CommandID, ben.Actor, "")
		must(t, err)
		equal(t, "what is not held", done, false)
		before := version(t, st, id)
		now, done, err := st.UnholdRequest(ctx, r.RequestID, ana.CommandID, ana.Actor, "")
		must(t, err)
		if !done || now.Held != nil || now.Status != pending.Open {
			t.Fatalf("got %v, %+v", done, now)
		}
		equal(t, "taken back", now.Undone, []string{ana.CommandID})
		equal(t, "version", version(t, st, id), before+1)
		_, done, err = st.HoldRequest(ctx, r.RequestID, ana)
		must(t, err)
		equal(t, "the same command held again", done, false)
		for _, res := range []pending.Resolution{countHeld(ana), approval(ana.CommandID)} {
			_, won, err := st.ResolveRequest(ctx, r.RequestID, res)
			must(t, err)
			equal(t, "the same command", won, false)
		}

		_, done, err = st.HoldRequest(ctx, r.RequestID, ben)
		must(t, err)
		equal(t, "held by another", done, true)
		now, done, err = st.UnholdRequest(ctx, r.RequestID, ben.CommandID, ben.Actor, "Ben was removed.")
		must(t, err)
		if !done || now.Held.Active() || now.Held.Dropped != "Ben was removed." {
			t.Fatalf("got %v, %+v", done, now.Held)
		}
		equal(t, "taken back", now.Undone, []string{ana.CommandID, ben.CommandID})
		list, err := st.HeldRequests(ctx)
		must(t, err)
		equal(t, "listed", len(list), 0)
		now, won, err := st.ResolveRequest(ctx, r.RequestID, approval("c"))
		must(t, err)
		equal(t, "another answer", []any{won, now.Held == nil}, []any{true, true})
		equal(t, "on record", heldAuditRecords(t, st), []string{"answer_taken_back name of ana + ", "answer_dropped name of ben + Ben was removed.", "answered " + approval("c").Actor.Name + " 0 "})
	})

	s.run("DenialReplacesItsHold", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		ana, ben := heldAnswerOf("ana"), heldAnswerOf("ben")
		no := func(over pending.Held) pending.Resolution {
			return pending.Resolution{Status: pending.Denied, Answer: &pending.Answer{Decision: pending.Deny}, At: after(3), CommandID: "no",
				Actor: pending.Actor{UserID: "cleo", Name: "Cleo"}, Overrules: &over}
		}
		refused := func(what string, res pending.Resolution) {
			t.Helper()
			before := version(t, st, id)
			now, won, err := st.ResolveRequest(ctx, r.RequestID, res)
			must(t, err)
			equal(t, what, []any{won, now.Status.Final(), version(t, st, id)}, []any{false, false, before})
		}
		refused("what is not held", no(ana))
		_, _, err := st.HoldRequest(ctx, r.RequestID, ana)
		must(t, err)
		refused("what another holds", no(ben))
		_, _, err = st.UnholdRequest(ctx, r.RequestID, ana.CommandID, ana.Actor, "")
		must(t, err)
		refused("what was taken back", no(ana))
		_, _, err = st.HoldRequest(ctx, r.RequestID, ben)
		must(t, err)
		mine := no(ben)
		mine.CommandID = ana.CommandID
		refused("by a command that was taken back", mine)

		before := version(t, st, id)
		now, won, err := st.ResolveRequest(ctx, r.RequestID, no(ben))
		must(t, err)
		if !won || now.Status != pending.Denied || now.Delivery != pending.Queued || now.Held != nil || now.Resolution.Actor.Name != "Cleo" {
			t.Fatalf("got %v, %+v", won, now)
		}
		equal(t, "version", version(t, st, id), before+1)
		_, won, err = st.ResolveRequest(ctx, r.RequestID, countHeld(ben))
		must(t, err)
		equal(t, "it counts all the same", won, false)
		_, done, err := st.HoldRequest(ctx, r.RequestID, ben)
		must(t, err)
		equal(t, "it is held again", done, false)
		var over struct {
			Overruled struct {
				By     struct{ Name string }
				Answer struct{ Text string }
			}
		}
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error { return json.Unmarshal(e.Body, &over) }))
		equal(t, "on record", over.Overruled.By.Name, "name of ben")
		equal(t, "what was held", over.Overruled.Answer.Text, `{"decision":"allow","updated_input":{"command":"make -k"}}`)
	})

	s.run("ConcurrentDenialAndHold", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for round := range 20 {
			r := openRequest(t, st, bashRequest(id, fmt.Sprint("make ", round)))
			h := heldAnswerOf("ana")
			_, _, err := st.HoldRequest(ctx, r.RequestID, h)
			must(t, err)
			var wins atomic.Int64
			concurrently(8, func(i int) {
				res := countHeld(h)
				if i%2 == 0 {
					res = pending.Resolution{Status: pending.Denied, Answer: &pending.Answer{Decision: pending.Deny}, At: after(3), CommandID: fmt.Sprint("no", i),
						Actor: pending.Actor{UserID: "cleo", Name: "Cleo"}, Overrules: &h}
				}
				if _, won, err := st.ResolveRequest(ctx, r.RequestID, res); err != nil {
					t.Error(err)
				} else if won {
					wins.Add(1)
				}
			})
			equal(t, "wins", wins.Load(), int64(1))
		}
	})

	s.run("HoldEndsWithItsRequest", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "make"))
		_, _, err := st.HoldRequest(ctx, r.RequestID, heldAnswerOf("ana"))
		must(t, err)
		now, won, err := st.ResolveRequest(ctx, r.RequestID, pending.Resolution{Status: pending.Withdrawn, Reason: "gone", At: after(2)})
		must(t, err)
		if !won || now.Held != nil {
			t.Fatalf("got %v, %+v", won, now)
		}
		equal(t, "on record", len(heldAuditRecords(t, st)), 0)
	})

	s.run("ConcurrentHoldsAndAnswers", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		var held, back, won, undone atomic.Int64
		concurrently(concurrentCallers, func(i int) {
			h := heldAnswerOf(fmt.Sprint("u", i/4))
			switch i % 4 {
			case 0:
				if _, done, err := st.HoldRequest(ctx, r.RequestID, h); err != nil {
					t.Error(err)
				} else if done {
					held.Add(1)
				}
			case 1:
				if _, done, err := st.UnholdRequest(ctx, r.RequestID, h.CommandID, h.Actor, ""); err != nil {
					t.Error(err)
				} else if done {
					back.Add(1)
				}
			case 2:
				if _, mine, err := st.ResolveRequest(ctx, r.RequestID, countHeld(h)); err != nil {
					t.Error(err)
				} else if mine {
					won.Add(1)
				}
			case 3:
				// Undoes its own held answer, or makes it take effect.
				h = heldAnswerOf(fmt.Sprint("v", i))
				_, _, err := st.HoldRequest(ctx, r.RequestID, h)
				if err != nil {
					t.Error(err)
				}
				_, done, err := st.UnholdRequest(ctx, r.RequestID, h.CommandID, h.Actor, "")
				if err != nil {
					t.Error(err)
				}
				_, mine, err := st.ResolveRequest(ctx, r.RequestID, countHeld(h))
				if err != nil {
					t.Error(err)
				}
				if done && mine {
					undone.Add(1)
				}
			}
		})
		now, err := st.Request(ctx, r.RequestID)
		must(t, err)
		stands := int64(0)
		if now.Held.Active() {
			stands = 1
		}
		equal(t, "counted after it was taken back", undone.Load(), int64(0))
		equal(t, "held less taken back", held.Load()-back.Load(), won.Load()+stands)
		equal(t, "final", now.Status.Final(), won.Load() == 1)
	})
}

// heldAuditRecords returns the audit entries of held answers: what, by whom, for how many seconds it was
// held (+ for more than 0), and why it was dropped.
func heldAuditRecords(t *testing.T, st store.Store) (list []string) {
	t.Helper()
	must(t, account.WalkAudit(context.Background(), st, func(e account.AuditEntry) error {
		var entry struct {
			What   string
			By     struct{ Name string }
			Held   float64 `json:"held_seconds"`
			Reason string
		}
		err := json.Unmarshal(e.Body, &entry)
		seconds := fmt.Sprint(entry.Held)
		if entry.What == "answer_taken_back" || entry.What == "answer_dropped" {
			seconds = "-"
			if entry.Held > 0 {
				seconds = "+"
			}
		}
		list = append(list, entry.What+" "+entry.By.Name+" "+seconds+" "+entry.Reason)
		return err
	}))
	return list
}
