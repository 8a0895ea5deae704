package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

func signIns(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	count := func(t *testing.T, st store.Store, keys ...account.FailureKey) time.Duration {
		t.Helper()
		wait, err := st.CountFailure(ctx, uuid.NewString(), keys...)
		must(t, err)
		return wait
	}
	ada, bob := account.FailureKey{Key: "ada\x00\xff", PerMinute: 3}, account.FailureKey{Key: "bob", PerMinute: 3}
	here := account.FailureKey{Key: "192.0.2.1", PerMinute: 30}

	s.run("FailuresAreLimitedForEachKey", func(t *testing.T, st store.Store) {
		for range 3 {
			equal(t, "wait", count(t, st, here, ada), time.Duration(0))
		}
		if wait := count(t, st, here, ada); wait <= 0 || wait > time.Minute {
			t.Errorf("the fourth waits %v", wait)
		}
		wait, err := st.FailureWait(ctx, ada)
		if err != nil || wait <= 0 || wait > time.Minute {
			t.Errorf("waits %v, %v", wait, err)
		}
		equal(t, "wait of another", count(t, st, here, bob), time.Duration(0))
		// A refused attempt is not counted.
		wait, err = st.FailureWait(ctx, account.FailureKey{Key: here.Key, PerMinute: 5})
		must(t, err)
		equal(t, "wait of the address", wait, time.Duration(0))
		for range 10 { // without a limit
			equal(t, "wait", count(t, st, account.FailureKey{Key: "free"}), time.Duration(0))
		}
		wait, err = st.FailureWait(ctx, account.FailureKey{Key: "free", PerMinute: 10})
		if err != nil || wait <= 0 {
			t.Errorf("ten failures wait %v, %v", wait, err)
		}
	})

	s.run("FailuresAreForgotten", func(t *testing.T, st store.Store) {
		equal(t, "wait", count(t, st, here, ada), time.Duration(0))
		for range 10 {
			id := uuid.NewString()
			wait, err := st.CountFailure(ctx, id, here, ada)
			must(t, err)
			equal(t, "wait", wait, time.Duration(0))
			must(t, st.ForgetFailure(ctx, id, here, ada))
		}
		must(t, st.ForgetFailure(ctx, uuid.NewString(), here, ada))
		equal(t, "wait", count(t, st, here, ada), time.Duration(0))
		equal(t, "wait", count(t, st, here, ada), time.Duration(0))
		if count(t, st, here, ada) == 0 {
			t.Error("those that were not forgotten are not counted")
		}
	})

	s.run("CeremoniesAreFinishedOnce", func(t *testing.T, st store.Store) {
		key, err := st.CeremonyKey(ctx)
		must(t, err)
		again, err := st.CeremonyKey(ctx)
		must(t, err)
		equal(t, "key", again, key)
		equal(t, "no key", key == [account.CeremonyKeySize]byte{}, false)
		finish := func(id string, ttl time.Duration) bool {
			t.Helper()
			first, err := st.FinishCeremony(ctx, []byte(id), time.Now().Add(ttl))
			must(t, err)
			return first
		}
		equal(t, "expired", finish("late\x00\xff", -time.Second), false)
		equal(t, "first", finish("one\x00\xff", time.Minute), true)
		equal(t, "another", finish("two", time.Minute), true)
		equal(t, "again", finish("one\x00\xff", time.Hour), false)
		var finished atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if first, err := st.FinishCeremony(ctx, []byte("together"), time.Now().Add(time.Minute)); err != nil {
					t.Error(err)
				} else if first {
					finished.Add(1)
				}
			})
		}
		wg.Wait()
		equal(t, "finished together", finished.Load(), int32(1))
	})

	s.run("ConcurrentFailuresAreAllCounted", func(t *testing.T, st store.Store) {
		var allowed atomic.Int32
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				// Keys in varying order, so that two calls could deadlock.
				keys := []account.FailureKey{ada, {Key: fmt.Sprint("address ", i), PerMinute: 30}, here}
				if i%2 == 0 {
					keys[0], keys[2] = keys[2], keys[0]
				}
				wait, err := st.CountFailure(ctx, uuid.NewString(), keys...)
				if err != nil {
					t.Error(err)
				}
				if wait == 0 {
					allowed.Add(1)
				}
			})
		}
		wg.Wait()
		equal(t, "allowed", allowed.Load(), int32(3))
	})
}
