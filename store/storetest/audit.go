package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store"
)

// onRecord is what the tests read of an entry.
type onRecord struct {
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

func trail(t *testing.T, st store.Store) (list []onRecord) {
	t.Helper()
	must(t, account.WalkAudit(context.Background(), st, func(e account.AuditEntry) error {
		var r onRecord
		list = append(list, r)
		return json.Unmarshal(e.Body, &list[len(list)-1])
	}))
	return list
}

func audit(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("EveryAnswerOfAPersonIsOnRecord", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := opened(t, st, bash(id, "make"))
		res := allowed("c1")
		res.Actor.Address = "192.0.2.1"
		res.Answer.UpdatedInput = json.RawMessage(`{"command":"make -n"}`)
		_, won, err := st.ResolveRequest(ctx, r.RequestID, res)
		must(t, err)
		_, again, err := st.ResolveRequest(ctx, r.RequestID, allowed("c2"))
		must(t, err)
		if !won || again {
			t.Fatal("not the first of two answers won")
		}
		other := opened(t, st, bash(id, "rm"))
		_, _, err = st.ResolveRequest(ctx, other.RequestID, pending.Resolution{Status: pending.Withdrawn, At: after(3), Reason: "gone"})
		must(t, err)

		list := trail(t, st)
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

	s.run("ACarriedAnswerIsOnRecordAsThat", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		old := unheard(t, st, id)
		_, carried, err := st.CarryAnswer(ctx, askedBy(id, "two"), old.RequestID)
		must(t, err)
		_, twice, err := st.CarryAnswer(ctx, askedBy(id, "three"), old.RequestID)
		must(t, err)
		if !carried || twice {
			t.Fatal("not carried once")
		}
		list := trail(t, st)
		if len(list) != 2 || list[1].What != "carried" || list[1].CarriedFrom != old.RequestID || list[1].By.Name != "Ada" {
			t.Errorf("got %+v", list)
		}
	})

	s.run("TheChainHoldsUnderManyAtOnce", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		const n = 24
		var wg sync.WaitGroup
		for i := range n {
			r := opened(t, st, bash(id, fmt.Sprint("make ", i)))
			for j := range 2 {
				wg.Go(func() {
					if _, _, err := st.ResolveRequest(ctx, r.RequestID, allowed(fmt.Sprint("c", i, j))); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if list := trail(t, st); len(list) != n {
			t.Errorf("%d entries, want %d", len(list), n)
		}
	})

	s.run("LongTextsAreHashed", func(t *testing.T, st store.Store) {
		r := bash(newSession(t, st), "x")
		r.ToolInput = json.RawMessage(`{"command":"` + string(bytes.Repeat([]byte("x"), 100_000)) + `"}`)
		r.InputHash = pending.HashInput(r.ToolInput)
		opened(t, st, r)
		resolved(t, st, r.RequestID, allowed("c1"))
		if list := trail(t, st); len(list) != 1 || list[0].Asked.Text != "" || list[0].Asked.Hash != r.InputHash {
			t.Errorf("got %d entries, want one with the hash alone", len(list))
		}
	})
}
