package alert_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
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

// rows are what servers tell each other about their people.
type rows struct {
	mu      sync.Mutex
	seen    map[string][]alert.Seen // by server
	expires map[string]time.Time
	puts    int
	dead    bool // nothing can be stored
}

func (r *rows) PutPresence(_ context.Context, serverID string, seen []alert.Seen, ttl time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead {
		return errors.New("the server is dead")
	}
	r.puts++
	r.seen[serverID], r.expires[serverID] = seen, time.Now().Add(ttl)
	return nil
}

func (r *rows) PresenceElsewhere(_ context.Context, serverID string) (all []alert.Seen, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, seen := range r.seen {
		if id != serverID && time.Now().Before(r.expires[id]) {
			all = append(all, seen...)
		}
	}
	return all, nil
}

// TestWhoLooksAtAnotherServerIsNotAlerted: the server that sends alerts knows what people see on the
// others, until they look away or their server dies.
func TestWhoLooksAtAnotherServerIsNotAlerted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		shared := &rows{seen: map[string][]alert.Seen{}, expires: map[string]time.Time{}}
		r.stop()
		r.options.Presence = shared
		r.start()
		other, err := alert.New(r.options)
		if err != nil {
			t.Fatal(err)
		}
		alert.Through(other, r.serve)
		running, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- other.Run(running) }()
		tab, here := &page{}, &page{}
		other.SetPresence(tab, "ada", at("s"))
		r.alerter.SetPresence(here, "ada", away("elsewhere"))
		r.ask("s", "q1")
		expect(t, "while Ada looks at it on another server", r.after(time.Minute))
		here.shows(t, "while Ada looks at it on another server")
		if shared.puts > 20 {
			t.Errorf("stored %d times in a minute", shared.puts)
		}
		other.SetPresence(tab, "ada", away("s"))
		expect(t, "within the grace", r.after(4*time.Second))
		expect(t, "after she looked away", r.after(7*time.Second), show)

		other.SetPresence(tab, "ada", at("s"))
		r.ask("s", "q2")
		expect(t, "while she looks at it again", r.after(time.Minute))
		r.alerter.RemoveTab(here) // so that the other server alone knows of her
		synctest.Wait()
		shared.mu.Lock()
		shared.dead = true
		shared.mu.Unlock()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		expect(t, "when its server has just died", r.after(15*time.Second))
		expect(t, "when it is known to be dead", r.after(time.Minute), "show q2: Approval needed: Bash / api-server")
	})
}

// TestTargetsOfOtherServersAreRead: what is chosen on one server counts on the one that sends alerts.
func TestTargetsOfOtherServersAreRead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.stop()
		r.options.Presence = &rows{seen: map[string][]alert.Seen{}, expires: map[string]time.Time{}}
		r.start()
		leader := r.alerter
		other, err := alert.New(r.options)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "without a target", r.after(time.Minute))
		r.alerter = other
		r.device("ada", "one")
		r.alerter = leader
		r.ask("s", "q1")
		expect(t, "with one of the other server", r.after(6*time.Second), show)
	})
}
