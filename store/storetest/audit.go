package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store"
)

// auditRecord contains the fields of an audit entry that the tests compare.
type auditRecord struct {
	What        string  `json:"what"`
	Waited      float64 `json:"waited_seconds"`
	RequestID   string  `json:"request_id"`
	CarriedFrom string  `json:"carried_from"`
	By          struct {
		Name, Device, Address string
	} `json:"by"`
	Asked, Answer struct{ Hash, Text string }
	Edited        bool
}

func readAudit(t *testing.T, st store.Store) (list []auditRecord) {
	t.Helper()
	must(t, account.WalkAudit(context.Background(), st, func(e account.AuditEntry) error {
		var r auditRecord
		list = append(list, r)
		return json.Unmarshal(e.Body, &list[len(list)-1])
	}))
	return list
}

func audit(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("AnswersAreRecorded", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "make"))
		res := approval("c1")
		res.Actor.Address = "192.0.2.1"
		res.Answer.UpdatedInput = json.RawMessage(`{"command":"make -n"}`)
		_, won, err := st.ResolveRequest(ctx, r.RequestID, res)
		must(t, err)
		_, again, err := st.ResolveRequest(ctx, r.RequestID, approval("c2"))
		must(t, err)
		if !won || again {
			t.Fatal("not the first of two answers won")
		}
		other := openRequest(t, st, bashRequest(id, "rm"))
		_, _, err = st.ResolveRequest(ctx, other.RequestID, pending.Resolution{Status: pending.Withdrawn, At: after(3), Reason: "gone"})
		must(t, err)

		list := readAudit(t, st)
		if len(list) != 1 {
			t.Fatalf("%d entries, want the one answer: %+v", len(list), list)
		}
		e := list[0]
		if e.What != "answered" || e.RequestID != r.RequestID || !e.Edited || e.By.Name != "Ada" || e.By.Device != "Chrome on Linux" || e.By.Address != "192.0.2.1" {
			t.Errorf("got %+v", e)
		}
		equal(t, "waited", e.Waited, res.At.Sub(r.CreatedAt).Seconds())
		equal(t, "asked", e.Asked.Text, string(r.ToolInput))
		equal(t, "hash of what was asked", e.Asked.Hash, r.InputHash)
		if !bytes.Contains([]byte(e.Answer.Text), []byte("make -n")) || e.Answer.Hash == "" {
			t.Errorf("the answer is on record as %+v", e.Answer)
		}
	})

	s.run("CarriedAnswersAreRecorded", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		old := undeliveredRequest(t, st, id)
		_, carried, err := st.CarryAnswer(ctx, requestOf(id, "two"), old.RequestID)
		must(t, err)
		_, twice, err := st.CarryAnswer(ctx, requestOf(id, "three"), old.RequestID)
		must(t, err)
		if !carried || twice {
			t.Fatal("not carried once")
		}
		list := readAudit(t, st)
		if len(list) != 2 || list[1].What != "carried" || list[1].CarriedFrom != old.RequestID || list[1].By.Name != "Ada" {
			t.Errorf("got %+v", list)
		}
	})

	s.run("ConcurrentEntriesFormOneChain", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		const n = 24
		var wg sync.WaitGroup
		for i := range n {
			r := openRequest(t, st, bashRequest(id, fmt.Sprint("make ", i)))
			for j := range 2 {
				wg.Go(func() {
					if _, _, err := st.ResolveRequest(ctx, r.RequestID, approval(fmt.Sprint("c", i, j))); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if list := readAudit(t, st); len(list) != n {
			t.Errorf("%d entries, want %d", len(list), n)
		}
	})

	s.run("LongTextsAreHashed", func(t *testing.T, st store.Store) {
		r := bashRequest(newSession(t, st), "x")
		r.ToolInput = json.RawMessage(`{"command":"` + string(bytes.Repeat([]byte("x"), 100_000)) + `"}`)
		r.InputHash = pending.HashInput(r.ToolInput)
		openRequest(t, st, r)
		resolveRequest(t, st, r.RequestID, approval("c1"))
		if list := readAudit(t, st); len(list) != 1 || list[0].Asked.Text != "" || list[0].Asked.Hash != r.InputHash {
			t.Errorf("got %d entries, want one with the hash alone", len(list))
		}
	})

	s.run("ExpiryIsRecorded", func(t *testing.T, st store.Store) {
		r := bashRequest(newSession(t, st), "make")
		r.ExpiresAt = after(2)
		openRequest(t, st, r)
		_, _, err := st.ResolveRequest(ctx, r.RequestID, pending.Resolution{Status: pending.Expired, At: after(3), Reason: "time ran out"})
		must(t, err)
		if list := readAudit(t, st); len(list) != 1 || list[0].What != "expired" || list[0].By.Name != "" || list[0].Answer.Hash != "" {
			t.Errorf("got %+v", list)
		}
	})

	s.run("RemovingOldEntriesKeepsTheChain", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		answer := func(i int, at time.Time) {
			r := openRequest(t, st, bashRequest(id, fmt.Sprint("make ", i)))
			res := approval(fmt.Sprint("c", i))
			res.At = at
			resolveRequest(t, st, r.RequestID, res)
		}
		for i := range 3 {
			answer(i, begin.AddDate(0, 0, -100+i))
		}
		answer(3, begin)
		for i, want := range []int64{3, 0} {
			if n, err := account.PruneAudit(ctx, st, account.AuditRetention{Days: 90}, begin); err != nil || n != want {
				t.Fatalf("remove %d: got %d, %v, want %d", i, n, err, want)
			}
		}
		answer(4, begin)
		var seqs []int64
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error { seqs = append(seqs, e.Seq); return nil }))
		equal(t, "entries", seqs, []int64{4, 5, 6})
		newest, err := st.AuditBefore(ctx, 0, 2)
		must(t, err)
		older, err := st.AuditBefore(ctx, newest[1].Seq, 5)
		must(t, err)
		if newest[0].Seq != 6 || len(older) != 1 || older[0].Seq != 4 {
			t.Errorf("newest %d, older %d", newest[0].Seq, len(older))
		}
		// Even if all entries are old enough to be removed, the entry about the removal stays.
		if n, err := account.PruneAudit(ctx, st, account.AuditRetention{Days: 90}, begin.AddDate(1, 0, 0)); err != nil || n < 2 {
			t.Fatalf("got %d, %v", n, err)
		}
		answer(5, begin.AddDate(1, 0, 0))
		must(t, account.WalkAudit(ctx, st, func(account.AuditEntry) error { return nil }))
		// If the start of a chain is missing without such an entry, sayso did not remove it.
		last, err := st.AuditBefore(ctx, 0, 1)
		must(t, err)
		must(t, st.RemoveAudit(ctx, last[0], []byte(`{"what":"other"}`)))
		if err := account.WalkAudit(ctx, st, func(account.AuditEntry) error { return nil }); !errors.Is(err, account.ErrTampered) {
			t.Errorf("got %v", err)
		}
	})

	s.run("TooManyEntriesAreRemoved", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for i := range 25 {
			r := openRequest(t, st, bashRequest(id, fmt.Sprint("make ", i)))
			resolveRequest(t, st, r.RequestID, approval(fmt.Sprint("c", i)))
		}
		keep := account.AuditRetention{Entries: 20}
		// Down to 18, so that the entry about the removal does not cause the next one.
		for i, want := range []int64{7, 0} {
			entries, old, err := account.CountAudit(ctx, st, keep, begin)
			must(t, err)
			if n, err := account.PruneAudit(ctx, st, keep, begin); err != nil || n != want || old != want || entries != 25-int64(i)*6 {
				t.Fatalf("remove %d: got %d of %d, %v, want %d; counted %d", i, n, entries, err, want, old)
			}
		}
		must(t, account.WalkAudit(ctx, st, func(account.AuditEntry) error { return nil }))
	})

	s.run("SettingChangesAreRecorded", func(t *testing.T, st store.Store) {
		for _, value := range []string{"90", "30"} {
			must(t, st.ChangeSetting(ctx, account.Setting{Name: "audit_days", Value: value, ChangedBy: "Ada", ChangedAt: begin}, []byte(`{"what":"settings"}`)))
		}
		list, err := st.Settings(ctx)
		must(t, err)
		equal(t, "settings", list, []account.Setting{{Name: "audit_days", Value: "30", ChangedBy: "Ada", ChangedAt: begin}})
		if entries := readAudit(t, st); len(entries) != 2 || entries[1].What != "settings" {
			t.Errorf("got %+v", entries)
		}
	})
}
