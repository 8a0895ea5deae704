package job_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is a database with one lease.
type lease struct {
	mu      sync.Mutex
	term    int64
	holder  string
	until   time.Time
	failing map[string]bool // servers that cannot reach it
}

var errDown = errors.New("the database does not answer")

func (l *lease) HoldLease(_ context.Context, serverID string, ttl time.Duration) (job.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failing[serverID]:
		return job.Lease{}, errDown
	case l.holder != serverID && time.Now().Before(l.until):
		return job.Lease{}, nil
	case l.holder != serverID || !time.Now().Before(l.until):
		l.term++
	}
	l.holder, l.until = serverID, time.Now().Add(ttl)
	return job.Lease{Term: l.term, For: ttl}, nil
}

func (l *lease) EndLease(_ context.Context, serverID string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing[serverID] {
		return errDown
	}
	if l.holder == serverID {
		l.until = time.Time{}
	}
	return nil
}

func (l *lease) fail(serverID string, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing[serverID] = is
}

// server is one that takes part, and the terms in which it leads.
type server struct {
	mu    sync.Mutex
	terms []int64 // of its job, 0 for each end
	stop  context.CancelFunc
}

func (s *server) add(term int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms = append(s.terms, term)
}

// leads returns the term in which the server leads, 0 for none.
func (s *server) leads() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.terms) == 0 {
		return 0
	}
	return s.terms[len(s.terms)-1]
}

func start(t *testing.T, l *lease, name string) *server {
	s := &server{}
	leader := job.NewLeader(l, name, slog.New(slog.DiscardHandler))
	leader.Add("test", func(ctx context.Context, term int64) error {
		s.add(term)
		<-ctx.Done()
		s.add(0)
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	var done sync.WaitGroup
	done.Go(func() {
		if err := leader.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
	return s
}

func TestOneServerLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lease{failing: map[string]bool{}}
		a := start(t, l, "a")
		synctest.Wait()
		b := start(t, l, "b")
		time.Sleep(time.Minute)
		if a.leads() != 1 || b.leads() != 0 {
			t.Fatalf("a leads in term %d and b in %d", a.leads(), b.leads())
		}
		a.stop() // in order: the next one need not wait for the lease to end
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if a.leads() != 0 || b.leads() != 2 {
			t.Errorf("after the end of a, it leads in term %d and b in %d", a.leads(), b.leads())
		}
	})
}

func TestLeaderThatIsCutOffStopsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lease{failing: map[string]bool{}}
		a := start(t, l, "a")
		synctest.Wait()
		b := start(t, l, "b")
		time.Sleep(time.Minute)
		l.fail("a", true)
		cut := time.Now()
		for b.leads() == 0 {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if a.leads() != 0 && b.leads() != 0 {
				t.Fatal("both lead")
			}
		}
		if took := time.Since(cut); took > 8*time.Second {
			t.Errorf("b leads after %v, want 8 s at most", took)
		}
		l.fail("a", false)
		time.Sleep(time.Minute)
		if a.leads() != 0 || b.leads() != 2 {
			t.Errorf("after a is back, it leads in term %d and b in %d", a.leads(), b.leads())
		}
	})
}

func TestShortOutageKeepsTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lease{failing: map[string]bool{}}
		a := start(t, l, "a")
		time.Sleep(time.Minute)
		l.fail("a", true)
		time.Sleep(3 * time.Second)
		l.fail("a", false)
		time.Sleep(time.Minute)
		if a.mu.Lock(); len(a.terms) != 1 {
			t.Errorf("it led in terms %v", a.terms)
		}
		a.mu.Unlock()
	})
}

func TestErrorOfAJobEndsTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lease{failing: map[string]bool{}}
		broken := errors.New("broken")
		leader := job.NewLeader(l, "a", slog.New(slog.DiscardHandler))
		leader.Add("other", func(ctx context.Context, _ int64) error { <-ctx.Done(); return nil })
		leader.Add("broken", func(context.Context, int64) error { return broken })
		if err := leader.Run(t.Context()); !errors.Is(err, broken) || err.Error() != "broken: broken" {
			t.Errorf("got %v", err)
		}
	})
}
