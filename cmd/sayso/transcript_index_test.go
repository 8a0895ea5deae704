package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTranscriptIndexer: it works off what is there, sleeps until something changes, tries
// again after an error and ends with its context.
func TestTranscriptIndexer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // holds for the variables below
		var steps, left int
		var fails error
		left = 3
		x := newTranscriptIndexer(func(context.Context, int) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			steps++
			if fails != nil {
				return false, fails
			}
			left = max(left-1, 0)
			return left > 0, nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- x.Run(ctx) }()
		set := func(change func()) {
			mu.Lock()
			defer mu.Unlock()
			change()
		}
		expect := func(what string, leastSteps, mostSteps, wantLeft int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if steps < leastSteps || steps > mostSteps || left != wantLeft {
				t.Errorf("%s: %d steps, want %d to %d; %d left, want %d", what, steps, leastSteps, mostSteps, left, wantLeft)
			}
		}
		synctest.Wait()
		expect("it lets the start go first", 0, 0, 3)
		time.Sleep(time.Minute)
		expect("what is there", 3, 3, 0)
		set(func() { left = 2 })
		time.Sleep(time.Minute)
		expect("nothing changed", 3, 3, 2)
		for range 10 {
			x.Touch("s")
		}
		// The change that came while it waited for more of them costs one look.
		time.Sleep(time.Minute)
		expect("after a change", 5, 6, 0)
		set(func() { fails, steps = errors.New("no database"), 0 })
		x.Touch("s")
		time.Sleep(25 * time.Second)
		set(func() { fails, left = nil, 1 })
		time.Sleep(time.Minute)
		expect("after errors", 3, 10, 0)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
