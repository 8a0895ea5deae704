package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// requestOf returns a request of a process for permission to run a command.
func requestOf(sessionID, processID string) pending.Request {
	r := bashRequest(sessionID, "make")
	r.ProcessID = processID
	return r
}

// undeliveredRequest stores an allowed request of the process "one" whose answer was not delivered.
func undeliveredRequest(t *testing.T, st store.Store, sessionID string) pending.Request {
	t.Helper()
	r := openRequest(t, st, requestOf(sessionID, "one"))
	return resolveRequest(t, st, r.RequestID, approval("c1"))
}

// withCarriedAnswer returns r as it must be stored with the answer carried over from from.
func withCarriedAnswer(r, from pending.Request) pending.Request {
	r.Status, r.Delivery = from.Status, pending.Queued
	r.Resolution = &pending.Resolution{Status: from.Status, Answer: from.Resolution.Answer, Actor: from.Resolution.Actor,
		At: r.CreatedAt, CarriedFrom: from.RequestID}
	return r
}

func carrying(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	stands := func(t *testing.T, st store.Store, what string, want pending.Request) {
		t.Helper()
		read, err := st.Request(ctx, want.RequestID)
		must(t, err)
		equal(t, what, read, want)
	}
	carry := func(t *testing.T, st store.Store, r pending.Request, from string) pending.Request {
		t.Helper()
		stored, carried, err := st.CarryAnswer(ctx, r, from)
		must(t, err)
		equal(t, "carried", carried, true)
		return stored
	}

	answers := []pending.Resolution{
		{Status: pending.Answered, At: after(5), CommandID: "c1", Actor: pending.Actor{UserID: "u", Name: "Ada", Device: "phone"},
			Answer: &pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"ls -l"}`), UpdatedPermissions: json.RawMessage(`[{"a":1}]`),
				Responses: []pending.Response{{ID: "q1", Values: []string{"a, b", ""}, Text: "free"}}}},
		{Status: pending.Denied, At: after(5), CommandID: "c2", Actor: pending.Actor{UserID: "u"},
			Answer: &pending.Answer{Decision: pending.Deny, Message: "not\nnow", Interrupt: true}},
	}
	for _, res := range answers {
		s.run("CarryTo_"+string(res.Status), func(t *testing.T, st store.Store) {
			id := newSession(t, st)
			first := fullRequest(id)
			first.Earlier = nil
			old := resolveRequest(t, st, openRequest(t, st, first).RequestID, res)
			r := fullRequest(id)
			r.ProcessID, r.CreatedAt = "process-2", after(60)
			want := withCarriedAnswer(r, old)
			given := r
			given.Status, given.Delivery = pending.Open, pending.Consumed
			given.Resolution = &pending.Resolution{Status: pending.Withdrawn, Reason: "none of this", CarriedFrom: "nor this"}
			expectVersionBump(t, st, id, func() { equal(t, "stored", carry(t, st, given, old.RequestID), want) })
			stands(t, st, "read", want)
			old.Delivery = pending.Carried
			stands(t, st, "the one that was answered", old)

			list, err := st.UndeliveredRequests(ctx, id)
			must(t, err)
			equal(t, "undelivered", list, []pending.Request{want})
			state, err := st.ProcessState(ctx, id)
			must(t, err)
			equal(t, "to answer", len(state.Requests), 0)
		})
	}

	s.run("CarryAnswerOfAnOrphan", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, requestOf(id, "one"))
		_, err := st.OrphanRequests(ctx, id, "it died")
		must(t, err)
		old := resolveRequest(t, st, r.RequestID, approval("c1"))
		again := requestOf(id, "two")
		equal(t, "stored", carry(t, st, again, old.RequestID), withCarriedAnswer(again, old))
	})

	s.run("CarryIsIdempotent", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		old, other := undeliveredRequest(t, st, id), undeliveredRequest(t, st, id)
		r := requestOf(id, "two")
		stored := carry(t, st, r, old.RequestID)
		again := r
		again.Title, again.CreatedAt, again.ProcessID = "another title", after(9), "three"
		expectNoVersionBump(t, st, id, func() {
			equal(t, "again", carry(t, st, again, old.RequestID), stored)
			now, carried, err := st.CarryAnswer(ctx, r, other.RequestID)
			must(t, err)
			equal(t, "carried from another", carried, false)
			equal(t, "from another", now, stored)
			now, carried, err = st.CarryAnswer(ctx, r, r.RequestID)
			must(t, err)
			equal(t, "carried from itself", carried, false)
			equal(t, "from itself", now, stored)
			now, isNew, err := st.OpenRequest(ctx, r)
			must(t, err)
			equal(t, "opened", isNew, false)
			equal(t, "opened again", now, stored)
		})
		stands(t, st, "the other", other)
		must(t, st.SetDelivery(ctx, r.RequestID, pending.Consumed))
		stored.Delivery = pending.Consumed
		equal(t, "once it is delivered", carry(t, st, r, old.RequestID), stored)
	})

	s.run("CarryToAKnownRequest", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		old := undeliveredRequest(t, st, id)
		known := openRequest(t, st, requestOf(id, "two"))
		expectNoVersionBump(t, st, id, func() {
			now, carried, err := st.CarryAnswer(ctx, known, old.RequestID)
			must(t, err)
			equal(t, "carried", carried, false)
			equal(t, "the known one", now, known)
			other := bashRequest(id, "rm -rf /")
			other.RequestID, other.ProcessID = known.RequestID, "two"
			_, carried, err = st.CarryAnswer(ctx, other, old.RequestID)
			wantError(t, "another input under one id", err, pending.ErrConflict)
			equal(t, "carried", carried, false)
		})
		stands(t, st, "the known one", known)
		stands(t, st, "the answer", old)
	})

	// Each of these differs in one respect from a request to which an answer is carried over.
	refused := map[string]func(t *testing.T, st store.Store, id string) (r pending.Request, from string){
		"FromAnOpen": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(id, "two"), openRequest(t, st, requestOf(id, "one")).RequestID
		},
		"FromAnOrphan": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := openRequest(t, st, requestOf(id, "one"))
			_, err := st.OrphanRequests(ctx, id, "died")
			must(t, err)
			return requestOf(id, "two"), r.RequestID
		},
		"FromAnotherSession": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(id, "two"), undeliveredRequest(t, st, newSession(t, st)).RequestID
		},
		"FromTheSameProcess": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(id, "one"), undeliveredRequest(t, st, id).RequestID
		},
		"FromNoProcess": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := openRequest(t, st, requestOf(id, ""))
			return requestOf(id, "two"), resolveRequest(t, st, r.RequestID, approval("c1")).RequestID
		},
		"ToNoProcess": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(id, ""), undeliveredRequest(t, st, id).RequestID
		},
		"FromNobody": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := openRequest(t, st, requestOf(id, "one"))
			res := approval("")
			res.Actor = pending.Actor{}
			return requestOf(id, "two"), resolveRequest(t, st, r.RequestID, res).RequestID
		},
		"FromNoAnswer": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := openRequest(t, st, requestOf(id, "one"))
			res := approval("c1")
			res.Answer = nil
			return requestOf(id, "two"), resolveRequest(t, st, r.RequestID, res).RequestID
		},
		"FromUnknown": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(id, "two"), uuid.NewString()
		},
		"FromItself": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := requestOf(id, "two")
			return r, r.RequestID
		},
		"ToAnUnknownSession": func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			return requestOf(uuid.NewString(), "two"), undeliveredRequest(t, st, id).RequestID
		},
	}
	for _, status := range []pending.Status{pending.Withdrawn, pending.Expired} {
		refused["From_"+string(status)] = func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := openRequest(t, st, requestOf(id, "one"))
			res := approval("c1")
			res.Status = status
			return requestOf(id, "two"), resolveRequest(t, st, r.RequestID, res).RequestID
		}
	}
	for _, d := range []pending.Delivery{pending.Delivered, pending.Consumed, pending.Carried, pending.Dropped} {
		refused["From_"+string(d)] = func(t *testing.T, st store.Store, id string) (pending.Request, string) {
			r := undeliveredRequest(t, st, id)
			must(t, st.SetDelivery(ctx, r.RequestID, d))
			return requestOf(id, "two"), r.RequestID
		}
	}
	for name, prepare := range refused {
		s.run("Refuse"+name, func(t *testing.T, st store.Store) {
			id := newSession(t, st)
			r, from := prepare(t, st, id)
			before, fromErr := st.Request(ctx, from)
			expectNoVersionBump(t, st, id, func() {
				stored, carried, err := st.CarryAnswer(ctx, r, from)
				must(t, err)
				equal(t, "carried", carried, false)
				equal(t, "stored", stored, pending.Request{})
			})
			_, err := st.Request(ctx, r.RequestID)
			wantError(t, "the new request", err, pending.ErrNotFound)
			if fromErr == nil {
				stands(t, st, "the old one", before)
			}
		})
	}

	// If a process dies before it gets a carried answer, the answer is carried to the next process.
	s.run("CarryRepeatedly", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		first := undeliveredRequest(t, st, id)
		second, third := requestOf(id, "two"), requestOf(id, "three")
		carry(t, st, second, first.RequestID)
		want := withCarriedAnswer(third, first) // the request that the person answered
		equal(t, "stored", carry(t, st, third, second.RequestID), want)
		stands(t, st, "read", want)
		equal(t, "again", carry(t, st, third, second.RequestID), want)
		_, carried, err := st.CarryAnswer(ctx, third, first.RequestID)
		must(t, err)
		equal(t, "from the first", carried, false)
		read, err := st.Request(ctx, second.RequestID)
		must(t, err)
		equal(t, "delivery of the second", read.Delivery, pending.Carried)
	})

	s.run("ProcessAndEarlierAreRead", func(t *testing.T, st store.Store) {
		r := fullRequest(newSession(t, st))
		openRequest(t, st, r)
		list, err := st.AnswerableRequests(ctx, r.SessionID)
		must(t, err)
		equal(t, "answerable", list, []pending.Request{r})
		states, err := st.ActiveProcesses(ctx)
		must(t, err)
		equal(t, "active", states[0].Requests, []pending.Request{r})
		now := resolveRequest(t, st, r.RequestID, approval("c1"))
		equal(t, "resolved", []any{now.ProcessID, now.Earlier}, []any{r.ProcessID, r.Earlier})
		list, err = st.UndeliveredRequests(ctx, r.SessionID)
		must(t, err)
		equal(t, "undelivered", list, []pending.Request{now})
	})

	s.run("EarlierByteForByte", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		inputs := []json.RawMessage{nil}
		for _, text := range awkwardTexts {
			inputs = append(inputs, json.RawMessage(text))
		}
		for _, input := range inputs {
			r := requestOf(id, "two")
			r.Earlier = &pending.Earlier{RequestID: uuid.NewString(), ToolInput: input, Status: pending.Denied,
				Summary: `<b> "no" & 日本` + "\u2028", By: "Ada", At: after(3)}
			equal(t, fmt.Sprintf("stored %q", input), openRequest(t, st, r), r)
			stands(t, st, fmt.Sprintf("read %q", input), r)
		}
		r := requestOf(id, "two")
		r.Earlier = &pending.Earlier{}
		openRequest(t, st, r)
		stands(t, st, "an empty one", r)
		r = requestOf(id, "two")
		r.Earlier = &pending.Earlier{Summary: "a\x00b\xff\xffc", By: "\xff", At: after(3)}
		r.ProcessID = "\x00"
		stored := openRequest(t, st, r)
		stands(t, st, "mended", stored)
		equal(t, "shown text", []string{stored.Earlier.Summary, stored.Earlier.By}, []string{"a\uFFFDb\uFFFDc", "\uFFFD"})
		equal(t, "the argument is left alone", r.Earlier.By, "\xff")
	})

	s.run("CarryRaces", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		const callers = 32
		for round := range 6 {
			old := undeliveredRequest(t, st, id)
			same := requestOf(id, "two")
			before := version(t, st, id)
			var winners, told atomic.Int64
			var winner atomic.Pointer[pending.Request]
			concurrently(callers, func(i int) {
				r := same // in even rounds all open the same request
				if round%2 == 1 {
					r = requestOf(id, fmt.Sprint("p", i))
				}
				if round >= 2 && i%2 == 0 {
					d := []pending.Delivery{pending.Delivered, pending.Dropped}[round%2]
					if round >= 4 {
						d = pending.Carried // setting the delivery alone carries nothing
					}
					if err := st.SetDelivery(ctx, old.RequestID, d); err != nil {
						t.Error(err)
					}
					return
				}
				stored, carried, err := st.CarryAnswer(ctx, r, old.RequestID)
				if err != nil {
					t.Error(err)
				}
				if carried {
					told.Add(1)
					if last := winner.Swap(&stored); last == nil || last.RequestID != stored.RequestID {
						winners.Add(1)
					}
				}
			})
			now, err := st.Request(ctx, old.RequestID)
			must(t, err)
			list, err := st.UndeliveredRequests(ctx, id)
			must(t, err)
			if winners.Load() == 0 {
				if round < 2 {
					t.Fatal("nobody carried it")
				}
				equal(t, "version", version(t, st, id), before)
				equal(t, "undelivered", len(list), 0)
				continue
			}
			equal(t, "winners", winners.Load(), int64(1))
			if round == 0 {
				equal(t, "told so", told.Load(), int64(callers))
			}
			if round%2 == 1 {
				equal(t, "told so", told.Load(), int64(1))
			}
			equal(t, "delivery", now.Delivery, pending.Carried)
			equal(t, "version", version(t, st, id), before+1)
			equal(t, "undelivered", list, []pending.Request{*winner.Load()})
			must(t, st.SetDelivery(ctx, winner.Load().RequestID, pending.Delivered))
		}
	})

	// One request is opened as a new question and with the answers of two others, at the same time.
	s.run("ConcurrentChangesOfOneRequest", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for range 5 {
			answers := []pending.Request{undeliveredRequest(t, st, id), undeliveredRequest(t, st, id)}
			r := requestOf(id, "two")
			before := version(t, st, id)
			var openings atomic.Int64
			var froms [2]atomic.Int64
			concurrently(32, func(i int) {
				if i%4 == 0 {
					_, isNew, err := st.OpenRequest(ctx, r)
					if err != nil {
						t.Error(err)
					}
					if isNew {
						openings.Add(1)
					}
					return
				}
				stored, carried, err := st.CarryAnswer(ctx, r, answers[i%2].RequestID)
				if err != nil {
					t.Error(err)
				}
				if carried {
					froms[i%2].Store(1)
					if stored.Resolution.CarriedFrom != answers[i%2].RequestID {
						t.Errorf("carried from %s, asked for %s", stored.Resolution.CarriedFrom, answers[i%2].RequestID)
					}
				}
			})
			equal(t, "ways that won", openings.Load()+froms[0].Load()+froms[1].Load(), int64(1))
			equal(t, "version", version(t, st, id), before+1)
			for i, a := range answers {
				now, err := st.Request(ctx, a.RequestID)
				must(t, err)
				equal(t, fmt.Sprint("answer ", i, " was carried"), now.Delivery == pending.Carried, froms[i].Load() == 1)
				must(t, st.SetDelivery(ctx, a.RequestID, pending.Dropped))
			}
		}
	})

	s.run("CarryWhileDeleting", func(t *testing.T, st store.Store) {
		for range 4 {
			id := newSession(t, st)
			old := undeliveredRequest(t, st, id)
			concurrently(8, func(i int) {
				if i == 0 {
					if err := st.DeleteSession(ctx, id); err != nil {
						t.Error(err)
					}
				} else if _, _, err := st.CarryAnswer(ctx, requestOf(id, fmt.Sprint(i)), old.RequestID); err != nil {
					t.Error(err)
				}
			})
			_, err := st.ProcessState(ctx, id)
			wantError(t, "session", err, session.ErrNotFound)
			list, err := st.UndeliveredRequests(ctx, id)
			must(t, err)
			equal(t, "left", len(list), 0)
		}
	})
}
