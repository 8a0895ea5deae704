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

// firstApproval returns the first of two approvals.
func firstApproval(userID string) pending.Approval {
	return pending.Approval{Actor: pending.Actor{UserID: userID, Name: "name of " + userID, Device: "Chrome"}, At: after(1), CommandID: "c-" + userID, CredentialID: "credential of " + userID}
}

// secondApproval returns the resolution by a second person.
func secondApproval(userID, to string) pending.Resolution {
	res := approval("second-" + userID)
	res.Actor.UserID, res.Actor.Name, res.SecondTo = userID, "name of "+userID, to
	return res
}

func approvals(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("FirstApprovalLeavesTheRequestOpen", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		before := version(t, st, id)
		now, done, err := st.ApproveRequest(ctx, r.RequestID, firstApproval("ana"))
		must(t, err)
		equal(t, "done", done, true)
		want := firstApproval("ana")
		equal(t, "approval", now.Approval, &want)
		equal(t, "status", now.Status, pending.Open)
		equal(t, "version", version(t, st, id), before+1)
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "read", read, now)
		state, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "in the state", state.Requests[0].Approval, &want)

		now, done, err = st.ApproveRequest(ctx, r.RequestID, firstApproval("ben"))
		must(t, err)
		equal(t, "another first", []any{done, now.Approval.Actor.UserID}, []any{false, "ana"})
		equal(t, "version", version(t, st, id), before+1)
		_, _, err = st.ApproveRequest(ctx, "nothing", firstApproval("ben"))
		wantError(t, "no request", err, pending.ErrNotFound)
	})

	s.run("SecondApprovalNeedsTheFirst", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		_, won, err := st.ResolveRequest(ctx, r.RequestID, secondApproval("ben", "ana"))
		must(t, err)
		equal(t, "second to nobody", won, false)
		_, _, err = st.ApproveRequest(ctx, r.RequestID, firstApproval("ana"))
		must(t, err)
		_, done, err := st.UnapproveRequest(ctx, r.RequestID, "ben", pending.Actor{UserID: "ben"})
		must(t, err)
		equal(t, "taken back by another", done, false)
		now, done, err := st.UnapproveRequest(ctx, r.RequestID, "ana", pending.Actor{UserID: "ana"})
		must(t, err)
		if !done || now.Approval != nil {
			t.Fatalf("not taken back: %+v", now.Approval)
		}
		_, won, err = st.ResolveRequest(ctx, r.RequestID, secondApproval("ben", "ana"))
		must(t, err)
		equal(t, "second to what was taken back", won, false)
		_, _, err = st.ApproveRequest(ctx, r.RequestID, firstApproval("ana"))
		must(t, err)
		if n, err := st.OrphanRequests(ctx, id, "the process died"); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		now, won, err = st.ResolveRequest(ctx, r.RequestID, secondApproval("ben", "ana"))
		must(t, err)
		if !won || now.Status != pending.Answered || now.Approval == nil || now.Resolution.Actor.UserID != "ben" {
			t.Fatalf("got %+v", now)
		}
		_, done, err = st.ApproveRequest(ctx, r.RequestID, firstApproval("cleo"))
		must(t, err)
		equal(t, "approved after the end", done, false)
		_, done, err = st.UnapproveRequest(ctx, r.RequestID, "ana", pending.Actor{UserID: "ana"})
		must(t, err)
		equal(t, "taken back after the end", done, false)

		var whats []string
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error {
			var entry struct {
				What  string
				By    struct{ Name string }
				First struct{ Name string }
			}
			err := json.Unmarshal(e.Body, &entry)
			whats = append(whats, entry.What+" "+entry.By.Name+" "+entry.First.Name)
			return err
		}))
		equal(t, "on record", whats, []string{"approved_first name of ana ", "approval_withdrawn  ", "approved_first name of ana ", "answered name of ben name of ana"})
	})

	s.run("OneDenialSuffices", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "make"))
		_, _, err := st.ApproveRequest(ctx, r.RequestID, firstApproval("ana"))
		must(t, err)
		res := approval("c")
		res.Status, res.Answer = pending.Denied, &pending.Answer{Decision: pending.Deny}
		now, won, err := st.ResolveRequest(ctx, r.RequestID, res)
		must(t, err)
		equal(t, "denied", []any{won, now.Status}, []any{true, pending.Denied})
	})

	s.run("ConcurrentApprovals", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		var firsts, seconds, back atomic.Int64
		concurrently(concurrentCallers, func(i int) {
			who := fmt.Sprint("u", i%8)
			switch i % 4 {
			case 0, 1:
				if _, done, err := st.ApproveRequest(ctx, r.RequestID, firstApproval(who)); err != nil {
					t.Error(err)
				} else if done {
					firsts.Add(1)
				}
			case 2:
				if _, done, err := st.UnapproveRequest(ctx, r.RequestID, fmt.Sprint("u", (i+3)%8), pending.Actor{}); err != nil {
					t.Error(err)
				} else if done {
					back.Add(1)
				}
			case 3:
				for j := range 8 {
					first := fmt.Sprint("u", j)
					if _, won, err := st.ResolveRequest(ctx, r.RequestID, secondApproval(who+"x", first)); err != nil {
						t.Error(err)
					} else if won {
						seconds.Add(1)
					}
				}
			}
		})
		now, err := st.Request(ctx, r.RequestID)
		must(t, err)
		if seconds.Load() > 1 || (seconds.Load() == 1) != now.Status.Final() {
			t.Fatalf("%d resolved it, and it is %s", seconds.Load(), now.Status)
		}
		stands := int64(0)
		if now.Approval != nil {
			stands = 1
		}
		equal(t, "given less taken back", firsts.Load()-back.Load(), stands)
		if now.Status.Final() && now.Approval == nil {
			t.Fatal("resolved without a first approval")
		}
	})
}
