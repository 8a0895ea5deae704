package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// concurrentCallers is the number of callers that make the same call concurrently.
const concurrentCallers = 64

func races(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("OneResolutionWins", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for range 5 {
			r := openRequest(t, st, bashRequest(id, "ls"))
			before := version(t, st, id)
			var winners atomic.Int64
			var seen [concurrentCallers]pending.Request
			concurrently(concurrentCallers, func(i int) {
				res := approval(fmt.Sprint("c", i))
				switch i % 3 {
				case 1:
					res.Status, res.Answer = pending.Denied, &pending.Answer{Decision: pending.Deny}
				case 2:
					res = pending.Resolution{Status: pending.Withdrawn, Reason: fmt.Sprint("w", i), At: begin}
				}
				now, won, err := st.ResolveRequest(ctx, r.RequestID, res)
				if err != nil {
					t.Error(err)
				}
				if won {
					winners.Add(1)
					if now.Resolution == nil || now.Resolution.CommandID != res.CommandID || now.Resolution.Reason != res.Reason {
						t.Errorf("the winner was shown another resolution: %+v", now.Resolution)
					}
				}
				seen[i] = now
			})
			equal(t, "winners", winners.Load(), int64(1))
			for _, now := range seen {
				equal(t, "what everybody sees", now, seen[0])
			}
			equal(t, "version", version(t, st, id), before+1)
		}
	})

	s.run("OneOpenWins", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := bashRequest(id, "ls")
		before := version(t, st, id)
		var firsts atomic.Int64
		concurrently(concurrentCallers, func(int) {
			stored, isNew, err := st.OpenRequest(ctx, r)
			if err != nil {
				t.Error(err)
			} else if stored.RequestID != r.RequestID {
				t.Errorf("got request %q", stored.RequestID)
			}
			if isNew {
				firsts.Add(1)
			}
		})
		equal(t, "openings", firsts.Load(), int64(1))
		equal(t, "version", version(t, st, id), before+1)
	})

	s.run("ConcurrentOrphaningAndAnswers", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var made []pending.Request
		for range 16 {
			made = append(made, openRequest(t, st, bashRequest(id, "ls")))
		}
		var won atomic.Int64
		concurrently(concurrentCallers, func(i int) {
			if i%4 == 0 {
				if _, err := st.OrphanRequests(ctx, id, "died"); err != nil {
					t.Error(err)
				}
				return
			}
			_, mine, err := st.ResolveRequest(ctx, made[i%len(made)].RequestID, approval(fmt.Sprint("c", i)))
			if err != nil {
				t.Error(err)
			}
			if mine {
				won.Add(1)
			}
		})
		// Every fourth caller orphans the requests, so twelve of sixteen answer.
		equal(t, "answered", won.Load(), int64(12))
		list, err := st.AnswerableRequests(ctx, id)
		must(t, err)
		equal(t, "left", len(list), 4)
		for _, r := range list {
			equal(t, "status", r.Status, pending.Orphaned)
		}
	})

	s.run("EachChangeHasItsOwnVersion", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		before := version(t, st, id)
		var versions [concurrentCallers]uint64
		concurrently(concurrentCallers, func(i int) {
			v, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Starting, PID: i})
			if err != nil {
				t.Error(err)
			}
			versions[i] = v
		})
		unique := map[uint64]bool{}
		for _, v := range versions {
			unique[v] = true
			if v <= before || v > before+concurrentCallers {
				t.Errorf("version %d is not in (%d, %d]", v, before, before+concurrentCallers)
			}
		}
		equal(t, "versions given", len(unique), concurrentCallers)
	})

	// Requests open and close one at a time, so one is open exactly in even versions. A reader that
	// sees anything else has read two snapshots.
	s.run("StateIsConsistent", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		stop := make(chan struct{})
		concurrently(4, func(i int) {
			if i == 0 {
				defer close(stop)
				for range 30 {
					r := bashRequest(id, "ls")
					if _, _, err := st.OpenRequest(ctx, r); err != nil {
						t.Error(err)
						return
					}
					if _, _, err := st.ResolveRequest(ctx, r.RequestID, pending.Resolution{Status: pending.Withdrawn, At: begin}); err != nil {
						t.Error(err)
						return
					}
				}
				return
			}
			var last session.ProcessState
			for {
				p, err := st.ProcessState(ctx, id)
				if err != nil {
					t.Error(err)
					return
				}
				if p.Version < last.Version {
					t.Errorf("version fell from %d to %d", last.Version, p.Version)
				}
				if open := p.Version%2 == 0; open != (len(p.Requests) == 1) {
					t.Errorf("version %d with %d requests", p.Version, len(p.Requests))
				}
				last = p
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	})

	s.run("ItemsHaveNoGaps", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		concurrently(16, func(i int) {
			for j := range 4 {
				items := []session.Item{
					{Key: fmt.Sprint("own", i, "-", j), At: begin, Kind: session.ItemText},
					{Key: fmt.Sprint("shared", j), At: begin, Kind: session.ItemText},
				}
				if err := st.PutItems(ctx, id, items); err != nil {
					t.Error(err)
				}
			}
		})
		page, err := st.Transcript(ctx, id, 0, 1000)
		must(t, err)
		equal(t, "total", page.Total, int64(16*4+4))
		revs := map[int64]bool{}
		for i, item := range page.Items {
			equal(t, "place", item.Seq, int64(i+1))
			revs[item.Rev] = true
		}
		equal(t, "different revs", len(revs), len(page.Items))
	})

	s.run("QueuedOnce", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		m := session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "go on", CreatedAt: begin}
		var queued, sent atomic.Int64
		concurrently(concurrentCallers, func(int) {
			if first, err := st.QueueMessage(ctx, m); err != nil {
				t.Error(err)
			} else if first {
				queued.Add(1)
			}
		})
		concurrently(concurrentCallers, func(i int) {
			take := func() (bool, error) { return st.MarkSent(ctx, m.MessageID, begin) }
			if i%2 == 0 {
				take = func() (bool, error) { return st.RemoveQueued(ctx, m.MessageID) }
			}
			taken, err := take()
			if err != nil {
				t.Error(err)
			}
			if taken {
				sent.Add(1)
			}
		})
		equal(t, "queued", queued.Load(), int64(1))
		equal(t, "taken", sent.Load(), int64(1))
	})

	// Many callers send, unsend and requeue a message concurrently. At the end it is queued or sent,
	// and each return to the queue matches one sending.
	s.run("ConcurrentRequeueAndSend", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var list []session.Message
		for i := range 8 {
			m := message(id, fmt.Sprint(i), i)
			if _, err := st.QueueMessage(ctx, m); err != nil {
				t.Fatal(err)
			}
			list = append(list, m)
		}
		var sent, back atomic.Int64
		concurrently(32, func(i int) {
			if i%4 == 0 {
				n, err := st.Requeue(ctx, id)
				if err != nil {
					t.Error(err)
				}
				back.Add(int64(n))
				return
			}
			taken, err := st.MarkSent(ctx, list[i%len(list)].MessageID, after(i))
			if err != nil {
				t.Error(err)
			}
			if taken {
				sent.Add(1)
			}
		})
		queued, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "waiting", int64(len(queued)), 8-sent.Load()+back.Load())
	})

	s.run("UsedOnce", func(t *testing.T, st store.Store) {
		c := credential(newUser(t, st, "Ada"), account.SignInLink, 1)
		must(t, st.AddCredential(ctx, c))
		var winners atomic.Int64
		concurrently(concurrentCallers, func(int) {
			_, _, err := st.UseOnce(ctx, c.Kind, c.Hash, begin)
			switch {
			case err == nil:
				winners.Add(1)
			case !errors.Is(err, account.ErrNotFound):
				t.Error(err)
			}
		})
		equal(t, "winners", winners.Load(), int64(1))
	})

	s.run("FirstAckIsKept", func(t *testing.T, st store.Store) {
		var kept [concurrentCallers]string
		concurrently(concurrentCallers, func(i int) {
			ack, err := st.SaveCommand(ctx, "u1", "c1", []byte(fmt.Sprint("ack", i)), begin)
			if err != nil {
				t.Error(err)
			}
			kept[i] = string(ack)
		})
		for _, ack := range kept {
			equal(t, "kept", ack, kept[0])
		}
		ack, err := st.Command(ctx, "u1", "c1")
		must(t, err)
		equal(t, "stored", string(ack), kept[0])
	})

	// A session is deleted during every kind of write. Writes may only fail because the session is
	// gone, and none of its rows may remain.
	s.run("DeleteWhileWriting", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "ls"))
		concurrently(concurrentCallers/2, func(i int) {
			var err error
			switch i % 11 {
			case 0:
				err = st.DeleteSession(ctx, id)
			case 1:
				_, _, err = st.OpenRequest(ctx, bashRequest(id, "more"))
			case 2:
				_, _, err = st.ResolveRequest(ctx, r.RequestID, approval("c"))
			case 3:
				_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Starting})
			case 4:
				err = st.PutItems(ctx, id, []session.Item{{Key: fmt.Sprint(i), At: begin, Kind: session.ItemText}})
			case 5:
				_, err = st.QueueMessage(ctx, session.Message{MessageID: uuid.NewString(), SessionID: id, CreatedAt: begin})
			case 6:
				_, err = st.OrphanRequests(ctx, id, "died")
			case 7:
				title := "new"
				_, err = st.UpdateSession(ctx, id, session.Patch{Title: &title})
			case 8:
				_, err = st.SaveProgress(ctx, id, session.Progress{Items: []session.Item{item(fmt.Sprint(i), "x")},
					Process: &session.ProcessState{State: session.Starting}, Mark: &session.Mark{ProcessID: "p", Offset: 1}})
			case 9:
				_, err = st.Requeue(ctx, id)
			case 10:
				_, _, err = st.CarryAnswer(ctx, requestOf(id, "two"), r.RequestID)
			}
			if err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, pending.ErrNotFound) {
				t.Errorf("caller %d: %v", i, err)
			}
		})
		_, err := st.Session(ctx, id)
		wantError(t, "session", err, session.ErrNotFound)
		list, err := st.AnswerableRequests(ctx, "")
		must(t, err)
		equal(t, "requests left", len(list), 0)
	})
}
