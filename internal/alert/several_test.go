package alert_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/session"
)

// TestAnotherServerTakesOver has a second server that shows toasts to its tabs and sends nothing,
// until the first one is gone.
func TestAnotherServerTakesOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		other, err := alert.New(r.options)
		if err != nil {
			t.Fatal(err)
		}
		alert.Through(other, r.serve)
		running, stop := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- other.Run(running) }()
		tab := &page{}
		other.SetPresence(tab, "grace", at("elsewhere"))
		r.owners["s"] = "grace"
		r.choose("ada", func(c *alert.Choices) { c.AllSessions = true })
		r.ask("s", "q1")
		other.Touch("s")
		expect(t, "with two servers", r.after(6*time.Second), show)
		tab.shows(t, "of the other server", "q1")

		r.stop()
		r.mu.Lock()
		s := r.states["s"]
		s.State, s.Error, s.StateChangedAt, s.Requests = session.Dead, "It broke.", time.Now(), nil
		r.states["s"] = s
		r.mu.Unlock()
		other.Touch("s")
		expect(t, "before another leads", r.after(8*time.Second))
		go func() { done <- other.Deliver(running, 2) }()
		expect(t, "after another leads", r.after(time.Second), "close q1: Answered / api-server", "show died s: The Claude process stopped / api-server")
		tab.shows(t, "after the end of the request")
		stop()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	})
}

// TestResigningWaitsForWhatIsBeingSent lets a server lose the lease while it sends.
func TestResigningWaitsForWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("s", "q1")
		expect(t, "sent", r.after(6*time.Second), show)
		leading, resign := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.alerter.Deliver(leading, 3) }()
		expect(t, "in a new term nothing is repeated", r.after(time.Hour))
		resign()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.ask("s", "q2")
		expect(t, "after it resigned", r.after(time.Hour))
	})
}
