package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestTranscriptIndexer: it works off what is there, sleeps until something changes, tries
// again after an error and ends with its context.
func TestTranscriptIndexer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps, left int
		var fails error
		left = 3
		x := newTranscriptIndexer(func(context.Context, int) (bool, error) {
			steps++
			if fails != nil {
				return false, fails
			}
			left--
			return left > 0, nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- x.Run(ctx) }()
		synctest.Wait()
		if steps != 0 {
			t.Error("it did not let the start go first")
		}
		expect := func(what string, want int) {
			t.Helper()
			time.Sleep(time.Minute)
			if steps != want {
				t.Errorf("%s: %d steps, want %d", what, steps, want)
			}
		}
		expect("what is there", 3)
		left = 2
		expect("nothing changed", 3)
		for range 10 {
			x.Touch("s")
		}
		// The change that came while it waited for more of them costs one look.
		time.Sleep(time.Minute)
		if left > 0 || steps > 6 {
			t.Errorf("after a change: %d steps, %d left", steps, left)
		}
		fails, steps = errors.New("no database"), 0
		x.Touch("s")
		time.Sleep(25 * time.Second)
		fails, left = nil, 1
		time.Sleep(time.Minute)
		if steps < 3 || left != 0 {
			t.Errorf("after errors: %d steps, %d left", steps, left)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
