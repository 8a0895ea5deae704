package pending_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

func TestExtendedDeadlineIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(pendingtest.NewStore())
		begin := time.Now()
		req := questions("r1", "s1", pending.Question{Question: "Which?"})
		req.ExpiresAt = begin.Add(5 * time.Minute)
		a := n.ask(t.Context(), req)
		time.Sleep(4 * time.Minute)
		to, err := n.Extend(t.Context(), "r1", 5*time.Minute)
		if err != nil || !to.Equal(begin.Add(10*time.Minute)) {
			t.Fatalf("extended to %s, %v", to.Sub(begin), err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if a.returned() {
			t.Fatalf("ended at its first deadline: %s, %v", a.row.Status, a.err)
		}
		// The last minutes before the limit, and then none.
		for _, want := range []time.Duration{15, 20, 25, 30} {
			to, err := n.Extend(t.Context(), "r1", 5*time.Minute)
			if err != nil || !to.Equal(begin.Add(want*time.Minute)) {
				t.Fatalf("extended to %s, %v; want %d minutes", to.Sub(begin), err, want)
			}
		}
		var invalid *problem.Error
		if _, err := n.Extend(t.Context(), "r1", 5*time.Minute); !errors.As(err, &invalid) || invalid.Message == "" {
			t.Fatalf("beyond the limit: %v", err)
		}
		row, err := a.result()
		if err != nil || row.Status != pending.Expired || time.Since(begin) != pending.MaxWait {
			t.Fatalf("ended %s after %s: %v", row.Status, time.Since(begin), err)
		}
		if _, err := n.Extend(t.Context(), "r1", 5*time.Minute); !errors.Is(err, pending.ErrNotOpen) {
			t.Fatalf("after its end: %v", err)
		}
	})
}

func TestWhatHasNoDeadlineCannotBeExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(pendingtest.NewStore())
		a := n.ask(t.Context(), questions("r1", "s1", pending.Question{Question: "Which?"}))
		synctest.Wait()
		if _, err := n.Extend(t.Context(), "r1", time.Minute); !errors.Is(err, problem.CannotExtend) {
			t.Fatalf("extended: %v", err)
		}
		if _, err := n.Extend(t.Context(), "r2", time.Minute); !errors.Is(err, pending.ErrNotFound) {
			t.Fatalf("unknown: %v", err)
		}
		a.cancel(errors.New("Done."))
		<-a.done
	})
}
