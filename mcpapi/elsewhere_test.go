package mcpapi_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// network connects servers of one database, as internal/cluster does.
type network struct {
	mu      sync.Mutex
	servers map[*harness]*mcpapi.Server // those that run
	silent  bool                        // one of them does not answer
}

func (n *network) join(h *harness) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[h] = h.server
}

func (n *network) leave(h *harness) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.servers, h)
}

func (n *network) silence(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = silent
}

// others are the servers of a network, for one of them.
type others struct {
	*network
	of *harness
}

func (o others) GracePeriods(_ context.Context, requestIDs []string) (map[string]time.Duration, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]time.Duration{}
	for h, server := range o.servers {
		if h == o.of {
			continue
		}
		for id, period := range server.GracePeriods(requestIDs) {
			all[id] = max(all[id], period)
		}
	}
	return all, !o.silent
}

// inPair runs a test in a bubble, with two servers on one store.
func inPair(t *testing.T, test func(t *testing.T, a, b *harness)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, n := newMemory(), &network{servers: map[*harness]*mcpapi.Server{}}
		var pair [2]*harness
		for i := range pair {
			h := &harness{t: t, memory: memory, directory: account.NewDirectory(memory), notifier: &notifier{}, network: n}
			pair[i] = h
			h.open()
			defer func() { h.close() }()
		}
		test(t, pair[0], pair[1])
	})
}

// at is the same client at another server.
func (a *agent) at(h *harness) *agent {
	there := *a
	there.h = h
	return &there
}

// staysFor expects that a question is open until a time from now, and withdrawn right after.
func (h *harness) staysFor(r pending.Request, d time.Duration) {
	h.t.Helper()
	time.Sleep(d - time.Millisecond)
	synctest.Wait()
	is(h.t, "just before", h.stored(r.RequestID).Status, pending.Open)
	time.Sleep(2 * time.Millisecond)
	h.ends(r, pending.Withdrawn, "The asker is gone.")
}

// A load balancer sends each poll to another server.
func TestTerminalPollsTwoServers(t *testing.T) {
	inPair(t, func(t *testing.T, a, b *harness) {
		here := a.terminal()
		there := terminal{here.at(b)}
		waiting := map[string]any{"status": "waiting"}
		here.asks(bash("k1")).gets(202, waiting) // after 25 s
		r := a.asked()
		for range 10 {
			there.asks(bash("k1")).gets(202, waiting)
			here.asks(bash("k1")).gets(202, waiting)
		}
		e := there.asks(bash("k1"))
		is(t, "the same request", b.asked().RequestID, r.RequestID)
		b.decides(r, pending.Submission{Decision: pending.Allow})
		e.gets(200, map[string]any{"status": "answered"})
	})
}

// Both servers have seen the asker, and each tells the other so.
func TestTerminalIsGoneFromTwoServers(t *testing.T) {
	inPair(t, func(t *testing.T, a, b *harness) {
		here := a.terminal()
		there := terminal{here.at(b)}
		here.asks(bash("k1")).gets(202, nil)
		there.asks(bash("k1")).gets(202, nil)
		r := a.asked()
		e := here.asks(bash("k1"))
		time.Sleep(3 * time.Second) // there, the grace period after the last poll has not ended
		e.cut()
		a.staysFor(r, mcpapi.AskerGone)
		there.asks(bash("k1")).gets(200, map[string]any{"status": "over"})
	})
}

// A server that starts finds the questions of all servers in the database.
func TestServerStartsBesideAskers(t *testing.T) {
	inPair(t, func(t *testing.T, a, b *harness) {
		here := a.agent(session.Ours, "")
		c := here.call("ask_user", lone("Which?"), patient)
		r := here.one()
		term := a.terminal()
		term.asks(bash("k1"))
		b.restart()
		for began := time.Now(); time.Since(began) <= mcpapi.ServerGone+time.Second; {
			term.asks(bash("k1")).gets(202, nil)
		}
		c.waits()
		is(t, "open", len(a.openRequests()), 2)
		time.Sleep(time.Hour)
		c.waits()
		is(t, "status", a.stored(r.RequestID).Status, pending.Open)
		c.cut()
		a.staysFor(r, mcpapi.AskerGone)
	})
}

// The askers of a server that ends have as long to return as after its restart, and return to the other.
func TestServerEndsBesideAnother(t *testing.T) {
	inPair(t, func(t *testing.T, a, b *harness) {
		here, key := a.agent(session.Ours, ""), header(mcpapi.KeyHeader, "k1")
		here.at(b).call("ask_user", lone("Which?"), key, patient)
		r := here.one()
		term := a.terminal()
		terminal{term.at(b)}.asks(bash("k1"))
		a.restart() // it finds both in the database
		time.Sleep(20 * time.Second)
		b.close() // takes a second
		b.close = func() {}
		time.Sleep(mcpapi.ServerGone - mcpapi.AskerGone)
		is(t, "open", len(a.openRequests()), 2)

		c := here.call("ask_user", lone("Which?"), key, patient)
		time.Sleep(mcpapi.AskerGone)
		c.waits()
		is(t, "the same question, and the other one is withdrawn", a.asked().RequestID, r.RequestID)
	})
}

// A server that cannot be reached, or is of an earlier release, may have the asker, but not for ever.
func TestServerThatDoesNotAnswer(t *testing.T) {
	inPair(t, func(t *testing.T, a, _ *harness) {
		term := a.terminal()
		a.network.silence(true)
		e := term.asks(bash("k1"))
		r := a.asked()
		e.cut()
		a.staysFor(r, mcpapi.AskerGone+mcpapi.UnknownGone)

		e = term.asks(bash("k2"))
		r = a.asked()
		e.cut()
		time.Sleep(mcpapi.AskerGone + time.Minute)
		is(t, "status", a.stored(r.RequestID).Status, pending.Open)
		a.network.silence(false)
		time.Sleep(mcpapi.AskerGone)
		a.ends(r, pending.Withdrawn, "The asker is gone.")
	})
}
