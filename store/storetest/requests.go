package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// fullRequest returns a request with every field set that an agent can set.
func fullRequest(sessionID string) pending.Request {
	input := json.RawMessage(`{ "questions" : [ ] }`)
	return pending.Request{
		RequestID: uuid.NewString(), SessionID: sessionID, RequestType: pending.AskUserQuestion, Source: pending.SourceMCP, ProcessID: "process-1",
		AskerRequestID: "req-7", AskerToolUseID: "toolu_7", ToolName: "AskUserQuestion", ToolInput: input,
		InputHash: pending.HashInput(input),
		Form: &pending.Form{Title: "Colours", Questions: []pending.Question{{ID: "q1", Question: "Which?", Header: "Colour",
			Kind: pending.MultiSelect, Options: []pending.Option{{Label: "Red", Value: "red", Description: "warm", Preview: "<b>"}},
			Required: true, Placeholder: "pick", FreeText: true}}},
		AgentID: "agent-1", AgentType: "explore", Title: "Claude asks", Description: "about colours", DecisionReason: "a hook wants it",
		BlockedPath: "/etc/passwd", PermissionSuggestions: json.RawMessage(`[ {"type":"addRules"} ]`),
		Policy: &pending.Policy{
			DefaultToNo: true, SuppressAlwaysAllowRule: true, RequiresUserInteraction: true, ClassifierApprovable: new(false),
			MatchedAskRule: &pending.AskRule{Source: "userSettings", ToolName: "Bash", RuleContent: "<&>\x1b\u202e"}, MCPServer: &pending.MCPServer{Name: "gh", Source: "project"},
		},
		Asker: "agent Builder over MCP", CreatedAt: begin, ExpiresAt: after(60), Status: pending.Open,
		Earlier: &pending.Earlier{RequestID: "earlier", ToolInput: json.RawMessage(`{ "questions" : [ 1 ] }`), Status: pending.Answered,
			Summary: "Red", By: "Ada", At: after(-60)},
	}
}

func requests(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("OpenKeepsEveryField", func(t *testing.T, st store.Store) {
		r := fullRequest(newSession(t, st))
		equal(t, "stored", openRequest(t, st, r), r)
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "read", read, r)
		state, err := st.ProcessState(ctx, r.SessionID)
		must(t, err)
		equal(t, "in the state", state.Requests, []pending.Request{r})
	})

	s.run("OpenSetsTheStatus", func(t *testing.T, st store.Store) {
		r := bashRequest(newSession(t, st), "ls")
		want := r
		r.Status, r.Delivery = pending.Denied, pending.Consumed
		r.Resolution = &pending.Resolution{Status: pending.Denied}
		equal(t, "stored", openRequest(t, st, r), want)
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "read", read, want)
	})

	s.run("OpenIsIdempotent", func(t *testing.T, st store.Store) {
		r := bashRequest(newSession(t, st), "ls")
		first := openRequest(t, st, r)
		now := resolveRequest(t, st, r.RequestID, approval("c1"))
		expectNoVersionBump(t, st, r.SessionID, func() {
			again := r
			again.Title, again.CreatedAt = "another title", after(9)
			stored, isNew, err := st.OpenRequest(ctx, again)
			must(t, err)
			equal(t, "opened", isNew, false)
			equal(t, "stored row", stored, now)
		})
		equal(t, "title", first.Title, "")
	})

	s.run("OpenRejectsReusedID", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "ls"))
		expectNoVersionBump(t, st, r.SessionID, func() {
			other := bashRequest(r.SessionID, "rm -rf /")
			other.RequestID = r.RequestID
			_, isNew, err := st.OpenRequest(ctx, other)
			wantError(t, "open", err, pending.ErrConflict)
			equal(t, "opened", isNew, false)
		})
		kept, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "row", kept, r)
	})

	s.run("OpenNeedsItsSession", func(t *testing.T, st store.Store) {
		r := bashRequest(uuid.NewString(), "ls")
		_, _, err := st.OpenRequest(ctx, r)
		wantError(t, "open", err, session.ErrNotFound)
		_, err = st.Request(ctx, r.RequestID)
		wantError(t, "read", err, pending.ErrNotFound)
	})

	s.run("OpenIncrementsTheVersion", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		expectVersionBump(t, st, id, func() { openRequest(t, st, bashRequest(id, "ls")) })
	})

	outcomes := []struct {
		res      pending.Resolution
		delivery pending.Delivery
	}{
		{pending.Resolution{Status: pending.Answered, At: after(5), CommandID: "c1", Actor: pending.Actor{UserID: "u", Name: "Ada", Device: "phone"},
			Answer: &pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"ls -l"}`), UpdatedPermissions: json.RawMessage(`[{"a":1}]`),
				Responses: []pending.Response{{ID: "q1", Values: []string{"a, b", ""}, Text: "free"}}}}, pending.Queued},
		{pending.Resolution{Status: pending.Denied, At: after(5), CommandID: "c2", Actor: pending.Actor{UserID: "u", Name: "Ada"},
			Answer: &pending.Answer{Decision: pending.Deny, Message: "not\nnow", Interrupt: true}}, pending.Queued},
		{pending.Resolution{Status: pending.Withdrawn, At: after(5), Reason: "the asker gave up"}, pending.NotDelivered},
		{pending.Resolution{Status: pending.Expired, At: after(5), Reason: "the deadline passed"}, pending.NotDelivered},
	}
	for _, outcome := range outcomes {
		s.run("ResolveTo_"+string(outcome.res.Status), func(t *testing.T, st store.Store) {
			r := openRequest(t, st, bashRequest(newSession(t, st), "ls"))
			want := r
			want.Status, want.Delivery, want.Resolution = outcome.res.Status, outcome.delivery, &outcome.res
			expectVersionBump(t, st, r.SessionID, func() { equal(t, "now", resolveRequest(t, st, r.RequestID, outcome.res), want) })
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, "read", read, want)
			state, err := st.ProcessState(ctx, r.SessionID)
			must(t, err)
			equal(t, "requests in the state", len(state.Requests), 0)

			expectNoVersionBump(t, st, r.SessionID, func() {
				late := pending.Resolution{Status: pending.Withdrawn, Reason: "too late", At: after(6)}
				now, won, err := st.ResolveRequest(ctx, r.RequestID, late)
				must(t, err)
				equal(t, "won", won, false)
				equal(t, "the loser is shown", now, want)
			})
		})
	}

	s.run("ResolveUnknown", func(t *testing.T, st store.Store) {
		_, won, err := st.ResolveRequest(ctx, uuid.NewString(), approval("c1"))
		wantError(t, "resolve", err, pending.ErrNotFound)
		equal(t, "won", won, false)
	})

	s.run("ResolveRejectsUnknownOutcome", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "ls"))
		for _, status := range []pending.Status{pending.Open, pending.Orphaned} {
			res := approval("c1")
			res.Status = status
			if _, won, err := st.ResolveRequest(ctx, r.RequestID, res); err == nil || won {
				t.Fatalf("resolving to %s: won %v, error %v", status, won, err)
			}
		}
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "row", read, r)
	})

	s.run("OrphanThenAnswer", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		first, second, done := openRequest(t, st, bashRequest(id, "a")), openRequest(t, st, bashRequest(id, "b")), openRequest(t, st, bashRequest(id, "c"))
		elsewhere := openRequest(t, st, bashRequest(newSession(t, st), "d"))
		resolveRequest(t, st, done.RequestID, approval("c1"))

		before := version(t, st, id)
		n, err := st.OrphanRequests(ctx, id, "the process died")
		must(t, err)
		equal(t, "orphaned", n, 2)
		equal(t, "version", version(t, st, id), before+1)
		for _, r := range []pending.Request{first, second} {
			r.Status = pending.Orphaned
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, "orphan", read, r)
		}
		for _, r := range []pending.Request{done, elsewhere} {
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			if read.Status == pending.Orphaned {
				t.Fatalf("%s was orphaned too", r.RequestID)
			}
		}

		expectNoVersionBump(t, st, id, func() {
			n, err := st.OrphanRequests(ctx, id, "again")
			must(t, err)
			equal(t, "orphaned again", n, 0)
		})

		state, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "still in the state", len(state.Requests), 2)

		res := approval("c2")
		now := resolveRequest(t, st, first.RequestID, res)
		equal(t, "resolution", now.Resolution, &res)
		equal(t, "delivery", now.Delivery, pending.Queued)
	})

	s.run("OrphanUnknownSession", func(t *testing.T, st store.Store) {
		n, err := st.OrphanRequests(ctx, uuid.NewString(), "gone")
		must(t, err)
		equal(t, "orphaned", n, 0)
	})

	s.run("DeliveryNeverMovesBack", func(t *testing.T, st store.Store) {
		forward := map[pending.Delivery][]pending.Delivery{
			pending.Queued:    {pending.Delivered, pending.Consumed, pending.Carried, pending.Dropped},
			pending.Delivered: {pending.Consumed, pending.Dropped},
			pending.Consumed:  nil,
			pending.Carried:   nil,
			pending.Dropped:   nil,
		}
		for from, next := range forward {
			for to := range forward {
				r := openRequest(t, st, bashRequest(newSession(t, st), "ls"))
				resolveRequest(t, st, r.RequestID, approval("c1"))
				must(t, st.SetDelivery(ctx, r.RequestID, from))
				must(t, st.SetDelivery(ctx, r.RequestID, to))
				want := from
				if slices.Contains(next, to) {
					want = to
				}
				read, err := st.Request(ctx, r.RequestID)
				must(t, err)
				equal(t, string(from+" to "+to), read.Delivery, want)
			}
		}
	})

	s.run("DeliveryNeedsAnAnswer", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		still, withdrawn := openRequest(t, st, bashRequest(id, "a")), openRequest(t, st, bashRequest(id, "b"))
		resolveRequest(t, st, withdrawn.RequestID, pending.Resolution{Status: pending.Withdrawn, At: begin})
		for _, r := range []pending.Request{still, withdrawn} {
			must(t, st.SetDelivery(ctx, r.RequestID, pending.Delivered))
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, "delivery", read.Delivery, pending.NotDelivered)
		}
		wantError(t, "unknown request", st.SetDelivery(ctx, uuid.NewString(), pending.Delivered), pending.ErrNotFound)
		if err := st.SetDelivery(ctx, still.RequestID, "posted"); err == nil {
			t.Fatal("a delivery that is none was taken")
		}
	})

	s.run("DeadlinesNeverMoveEarlier", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := fullRequest(id)
		r = openRequest(t, st, r)
		moves := func(to time.Time, want bool) {
			t.Helper()
			before := version(t, st, id)
			now, extended, err := st.ExtendRequest(ctx, r.RequestID, to)
			must(t, err)
			if want {
				r.ExpiresAt = to
				before++
			}
			equal(t, "extended", extended, want)
			equal(t, "row", now, r)
			equal(t, "version", version(t, st, id), before)
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, "read", read, r)
		}
		moves(after(90), true)
		moves(after(90), false)
		moves(after(60), false)
		moves(time.Time{}, false)
		moves(after(120), true)
		_, err := st.OrphanRequests(ctx, id, "died")
		must(t, err)
		r.Status = pending.Orphaned
		moves(after(180), true)

		endless := openRequest(t, st, bashRequest(id, "without a deadline"))
		expectNoVersionBump(t, st, id, func() {
			now, extended, err := st.ExtendRequest(ctx, endless.RequestID, after(60))
			must(t, err)
			equal(t, "without a deadline, extended", extended, false)
			equal(t, "without a deadline", now, endless)
		})
		done := resolveRequest(t, st, r.RequestID, approval("c1"))
		expectNoVersionBump(t, st, id, func() {
			now, extended, err := st.ExtendRequest(ctx, r.RequestID, after(600))
			must(t, err)
			equal(t, "resolved, extended", extended, false)
			equal(t, "resolved", now, done)
		})
		_, _, err = st.ExtendRequest(ctx, uuid.NewString(), after(60))
		wantError(t, "unknown", err, pending.ErrNotFound)
	})

	s.run("AnswerableOldestFirst", func(t *testing.T, st store.Store) {
		one, two := newSession(t, st), newSession(t, st)
		at := func(r pending.Request, moment time.Time) pending.Request {
			r.CreatedAt = moment
			return openRequest(t, st, r)
		}
		late := at(bashRequest(one, "late"), after(3))
		early := at(bashRequest(one, "early"), after(1))
		other := at(bashRequest(two, "other"), after(2))
		twinA, twinB := at(bashRequest(two, "same moment, first"), after(4)), at(bashRequest(two, "same moment, second"), after(4))
		gone := at(bashRequest(one, "gone"), begin)
		resolveRequest(t, st, gone.RequestID, approval("c1"))
		_, err := st.OrphanRequests(ctx, two, "died")
		must(t, err)

		list, err := st.AnswerableRequests(ctx, one)
		must(t, err)
		equal(t, "of one session", requestIDs(list), []string{early.RequestID, late.RequestID})
		list, err = st.AnswerableRequests(ctx, "")
		must(t, err)
		equal(t, "of all", requestIDs(list), []string{early.RequestID, other.RequestID, late.RequestID, twinA.RequestID, twinB.RequestID})
		list, err = st.AnswerableRequests(ctx, uuid.NewString())
		must(t, err)
		equal(t, "of none", len(list), 0)
		state, err := st.ProcessState(ctx, two)
		must(t, err)
		equal(t, "in the state", requestIDs(state.Requests), []string{other.RequestID, twinA.RequestID, twinB.RequestID})
	})

	s.run("Undelivered", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var made []pending.Request
		for i := range 6 {
			r := bashRequest(id, "ls")
			r.CreatedAt = after(10 - i)
			made = append(made, openRequest(t, st, r))
		}
		resolveRequest(t, st, made[0].RequestID, approval("c0"))
		denied := approval("c1")
		denied.Status = pending.Denied
		resolveRequest(t, st, made[1].RequestID, denied)
		resolveRequest(t, st, made[2].RequestID, approval("c2"))
		must(t, st.SetDelivery(ctx, made[2].RequestID, pending.Delivered))
		resolveRequest(t, st, made[3].RequestID, pending.Resolution{Status: pending.Withdrawn, At: begin})
		_, err := st.OrphanRequests(ctx, id, "died")
		must(t, err)
		resolveRequest(t, st, made[4].RequestID, approval("c4")) // an orphaned request that was answered
		openRequest(t, st, bashRequest(newSession(t, st), "elsewhere"))

		list, err := st.UndeliveredRequests(ctx, id)
		must(t, err)
		want := []string{made[4].RequestID, made[1].RequestID, made[0].RequestID}
		if got := requestIDs(list); !slices.Equal(got, want) {
			t.Fatalf("undelivered: got %v, want %v", got, want)
		}
		must(t, st.SetDelivery(ctx, made[1].RequestID, pending.Consumed))
		list, err = st.UnconsumedRequests(ctx, id)
		must(t, err)
		want = []string{made[4].RequestID, made[2].RequestID, made[0].RequestID}
		if got := requestIDs(list); !slices.Equal(got, want) {
			t.Fatalf("unconsumed: got %v, want %v", got, want)
		}
	})

	s.run("ConsumedLastFirst", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var want []string
		for i := range 5 {
			r := bashRequest(id, fmt.Sprint("ls ", i))
			if r.ProcessID = "p1"; i == 3 {
				r.ProcessID = "p0"
			}
			openRequest(t, st, r)
			res := approval(fmt.Sprint("c", i))
			res.At = after(10 + i%2*5 + i) // not in the order in which they were asked
			resolveRequest(t, st, r.RequestID, res)
			if i < 4 {
				must(t, st.SetDelivery(ctx, r.RequestID, pending.Consumed))
			}
			want = append(want, r.RequestID)
		}
		for limit, ids := range map[int][]string{10: {want[1], want[2], want[0]}, 2: {want[1], want[2]}} {
			list, err := st.ConsumedRequests(ctx, id, "p1", limit)
			must(t, err)
			if got := requestIDs(list); !slices.Equal(got, ids) {
				t.Errorf("%d at most: got %v, want %v", limit, got, ids)
			}
		}
		list, err := st.ConsumedRequests(ctx, newSession(t, st), "p1", 10)
		must(t, err)
		equal(t, "of another session", len(list), 0)
	})

	s.run("Unrecorded", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var made []pending.Request
		for i := range 4 {
			r := bashRequest(id, "ls")
			r.CreatedAt = after(i)
			made = append(made, openRequest(t, st, r))
		}
		elsewhere := openRequest(t, st, bashRequest(newSession(t, st), "elsewhere"))
		gone := pending.Resolution{Status: pending.Withdrawn, Reason: "gone", At: begin}
		for _, r := range []pending.Request{made[2], made[0], made[1], elsewhere} {
			resolveRequest(t, st, r.RequestID, gone)
		}
		must(t, st.PutItems(ctx, id, []session.Item{{
			Key: session.RecordKey(made[1].RequestID), At: begin, Kind: session.ItemResolved, Body: []byte("{}"),
		}}))
		list, err := st.UnrecordedRequests(ctx, id)
		must(t, err)
		equal(t, "unrecorded", requestIDs(list), []string{made[0].RequestID, made[2].RequestID})
		equal(t, "reason", list[0].Resolution.Reason, "gone")
	})

	s.run("UnknownRequest", func(t *testing.T, st store.Store) {
		for _, id := range []string{uuid.NewString(), "", "no\x00id", "\xff", "' OR '1'='1"} {
			_, err := st.Request(ctx, id)
			wantError(t, "request "+quote(id), err, pending.ErrNotFound)
		}
	})
}
