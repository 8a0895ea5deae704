package pending_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

const (
	resolutions  = 100_000
	perRound     = 1_000 // open at once; the race detector counts goroutines
	rivals       = 4     // clients that go for one request
	hot          = 50    // for each request of so many, all clients do
	clientsCount = 64
)

// attempt is the input of an operation: who would be the one that resolved the
// request. An Ask that only waits has no name.
type attempt struct{ requestID, name string }

// once is the whole specification: the first attempt names the winner, and from
// then on everybody is told that name.
var once = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byRequest := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(attempt).requestID
			byRequest[id] = append(byRequest[id], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byRequest {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		winner, told := state.(string), output.(string)
		if winner == "" {
			winner = input.(attempt).name
		}
		return winner != "" && told == winner, winner
	},
}

// nameOf is the name of the attempt that a row ended with.
func nameOf(row pending.Request) string {
	switch {
	case row.Resolution == nil:
		return "nobody"
	case row.Status == pending.Expired:
		return "expiry"
	case row.Status == pending.Withdrawn:
		return row.Resolution.Reason
	}
	return string(row.Status) + " by " + row.Resolution.CommandID
}

// TestOneResolutionWins lets 64 clients answer, deny, cancel and expire the same
// requests and holds what everybody was told against the specification of a
// register that is written once. Clients repeat each other's commands, and the
// store now and then loses its reply after it has committed.
func TestOneResolutionWins(t *testing.T) {
	t.Parallel()
	store := pendingtest.NewStore()
	n := newNode(store)
	var writes atomic.Uint64
	store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
		runtime.Gosched() // between a look at the row and the attempt on it
		if op == pendingtest.OpResolve && writes.Add(1)%97 == 0 {
			return pendingtest.FailAfterCommit
		}
		return pendingtest.None
	})
	wins := map[string]int{}
	var contested int
	for round := range resolutions / perRound {
		history := oneRound(t, n, round)
		if !porcupine.CheckOperations(once, history) {
			t.Fatalf("round %d: not linearizable", round)
		}
		for _, part := range once.Partition(history) {
			if overlap(part) {
				contested++
			}
			row := stored(t, n, part[0].Input.(attempt).requestID)
			if !row.Status.Final() || nameOf(row) != part[0].Output {
				t.Fatalf("%s is %s by %q, but told was %q", row.RequestID, row.Status, nameOf(row), part[0].Output)
			}
			wins[string(row.Status)]++
			store.Delete(row.RequestID)
		}
	}
	total := 0
	for _, status := range []pending.Status{pending.Answered, pending.Denied, pending.Withdrawn, pending.Expired} {
		total += wins[string(status)]
		if wins[string(status)] < resolutions/100 {
			t.Errorf("%s won %d times of %d: that was no race", status, wins[string(status)], resolutions)
		}
	}
	if total != resolutions {
		t.Errorf("resolutions: got %d, want %d", total, resolutions)
	}
	if contested < resolutions/10 {
		t.Errorf("only %d requests saw two attempts at once", contested)
	}
	t.Logf("winners: %v; %d of %d requests saw attempts at once", wins, contested, resolutions)
}

func oneRound(t *testing.T, n node, round int) []porcupine.Operation {
	type target struct {
		id                  string
		withdrawer, expirer *asked
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	start := time.Now()
	record := func(client int, in attempt, f func() string) {
		op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(start))}
		op.Output = f()
		op.Return = int64(time.Since(start))
		mu.Lock()
		defer mu.Unlock()
		history = append(history, op)
	}
	ctx := context.WithoutCancel(t.Context())
	var all sync.WaitGroup
	targets := make([]target, perRound)
	for i := range targets {
		id := fmt.Sprintf("r%d-%d", round, i)
		req := withHash(bash(id, fmt.Sprintf("s%d", i%7)))
		if _, _, err := n.store.OpenRequest(ctx, req); err != nil {
			t.Fatal(err)
		}
		ask := func() *asked {
			ctx, cancel := context.WithCancelCause(ctx)
			a := &asked{cancel: cancel, done: make(chan struct{})}
			all.Go(func() {
				defer close(a.done)
				record(clientsCount, attempt{requestID: id}, func() string {
					a.row, a.err = n.Ask(ctx, req)
					return nameOf(a.row)
				})
			})
			return a
		}
		targets[i] = target{id: id, withdrawer: ask(), expirer: ask()}
	}
	for client := range clientsCount {
		all.Go(func() {
			for i, target := range targets {
				if i%hot != 0 && (client+i)%(clientsCount/rivals) != 0 {
					continue
				}
				// Neighbours of a client take the other kinds; the same kind comes
				// first and last in turn.
				switch (client/(clientsCount/rivals) + i) % 4 {
				case 0:
					n.submit(t, record, client, target.id, pending.Answered, i)
				case 1:
					n.submit(t, record, client, target.id, pending.Denied, i)
				case 2:
					record(client, attempt{target.id, "Gone."}, func() string {
						target.withdrawer.cancel(errors.New("Gone."))
						<-target.withdrawer.done
						return nameOf(target.withdrawer.row)
					})
				case 3:
					record(client, attempt{target.id, "expiry"}, func() string {
						target.expirer.cancel(pending.ErrDeadline)
						<-target.expirer.done
						return nameOf(target.expirer.row)
					})
				}
			}
		})
	}
	all.Wait()
	for _, target := range targets {
		for _, a := range []*asked{target.withdrawer, target.expirer} {
			if a.err != nil && !errors.Is(a.err, pending.ErrDeadline) && a.err.Error() != "pending: ask "+target.id+": Gone." {
				t.Fatalf("Ask of %s: %v", target.id, a.err)
			}
		}
	}
	return history
}

// submit is an attempt by answer. On a hot request four clients send one command.
func (n node) submit(t *testing.T, record func(int, attempt, func() string), client int, id string, status pending.Status, i int) {
	s := allow(id, fmt.Sprintf("s%d", i%7), fmt.Sprintf("c%d", client%16/4))
	if status == pending.Denied {
		s.Decision, s.CommandID = pending.Deny, "d"+s.CommandID
	}
	record(client, attempt{id, string(status) + " by " + s.CommandID}, func() string {
		row, err := n.Answer(t.Context(), s)
		var notOpen *pending.NotOpenError
		switch {
		case errors.As(err, &notOpen):
			return nameOf(notOpen.Request)
		case err != nil:
			return err.Error()
		}
		return nameOf(row)
	})
}

// overlap reports whether two attempts of one request ran at the same time.
func overlap(part []porcupine.Operation) bool {
	for i, a := range part {
		for _, b := range part[:i] {
			if a.Input.(attempt).name != "" && b.Input.(attempt).name != "" && a.Call < b.Return && b.Call < a.Return {
				return true
			}
		}
	}
	return false
}
