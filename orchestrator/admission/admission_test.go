package admission_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// newControl returns a Control with at most two sessions for each person.
func newControl(t *testing.T, running func() map[string]project.SessionUse) *admission.Control {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if running == nil {
		running = func() map[string]project.SessionUse { return nil }
	}
	return admission.New(admission.Options{Store: store, EachPerson: func() project.Limits { return project.Limits{Sessions: 2} }, Running: running})
}

func TestReserveGivesTheLastSlotOnce(t *testing.T) {
	t.Parallel()
	c := newControl(t, func() map[string]project.SessionUse {
		return map[string]project.SessionUse{"running": {Folder: "/a", OwnerID: "ada"}}
	})
	var admitted atomic.Int32
	var callers sync.WaitGroup
	for _, id := range []string{"s1", "s2", "s3", "s4"} {
		callers.Go(func() {
			_, err := c.Reserve(t.Context(), id, "/a", "ada")
			if err == nil {
				admitted.Add(1)
			} else if !errors.Is(err, problem.LimitReached) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if admitted.Load() != 1 {
		t.Errorf("%d sessions got the last slot", admitted.Load())
	}
	if _, err := c.Reserve(t.Context(), "other", "/a", "grace"); err != nil {
		t.Errorf("another person has no slot: %v", err)
	}
	if _, err := c.Reserve(t.Context(), "running", "/a", "ada"); err != nil {
		t.Errorf("a session that runs needs no slot: %v", err)
	}
}

// TestControlsOfAServerShareSlots: the runners of a server count together what is about to start.
func TestControlsOfAServerShareSlots(t *testing.T) {
	t.Parallel()
	a, b := newControl(t, nil), newControl(t, nil)
	b.Share(a)
	for id, c := range map[string]*admission.Control{"s1": a, "s2": b} {
		if _, err := c.Reserve(t.Context(), id, "/a", "ada"); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Reserve(t.Context(), "s3", "/a", "ada"); !errors.Is(err, problem.LimitReached) {
		t.Errorf("a third slot: %v", err)
	}
}

func TestReserveCountsASessionOnceUntilAllRelease(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	reserve := func(id string) (func(), error) { return c.Reserve(t.Context(), id, "/a", "ada") }
	first, err := reserve("s1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := reserve("s1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := reserve("s2")
	if err != nil {
		t.Fatalf("one session took two slots: %v", err)
	}
	first()
	if _, err := reserve("s3"); !errors.Is(err, problem.LimitReached) {
		t.Errorf("the slot of s1 was given away while it is still held: %v", err)
	}
	again()
	if _, err := reserve("s3"); err != nil {
		t.Errorf("a released slot is not given again: %v", err)
	}
	second()
	if _, taken, err := c.Bounds(context.Background()); err != nil || len(taken) != 1 {
		t.Errorf("%v is taken, %v", taken, err)
	}
}

func TestFreedSignalsOnlyWhileSessionsWait(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	signalled := func() bool {
		select {
		case <-c.Freed():
			return true
		default:
			return false
		}
	}
	c.CapacityFreed()
	if signalled() {
		t.Error("a signal although nothing waits")
	}
	c.Wait("s1", "s2")
	c.StopWaiting("s2")
	c.CapacityFreed()
	c.CapacityFreed() // merged
	if !signalled() || signalled() {
		t.Error("not signalled exactly once")
	}
	if got := c.TakeWaiting(); !slices.Equal(got, []string{"s1"}) || len(c.TakeWaiting()) != 0 {
		t.Errorf("%v waits", got)
	}
}
