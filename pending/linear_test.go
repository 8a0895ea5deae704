package pending_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

const (
	perRound     = 1_000 // open at once; the race detector counts goroutines
	rivals       = 4     // clients that go for one request
	hot          = 50    // for each request of so many, all clients do
	clientsCount = 64
)

// resolutions is how many requests are fought over.
var resolutions = func() int {
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		return 100_000
	}
	return 10_000
}()

// attempt is the input of an operation: what it would do, and the name that the
// request would end with. An Ask that only waits has no name.
type attempt struct {
	requestID, name string
	kind            kind
	by              string // user id: who holds, or takes back
}

type kind int

const (
	end     kind = iota // whoever asked gave up or was too late; also one that only waits
	answer              // of a person
	hold                // an answer that is held
	undo                // takes back what a person holds
	release             // what is held counts now; nobody is told
)

// What is told, where it is not the name that the request ended with.
const (
	isHeld      = "holding"
	undone      = "undone"
	nothingHeld = "nothing held"
	tookBack    = "taken back"
	heldBy      = "held: " // and the name that it would end with
)

// register is what a request is: which attempt ended it, which one is held and
// whose it is, and which were taken back.
type register struct{ winner, held, by, taken string }

// once is the whole specification: the first attempt names the winner, and from
// then on everybody is told that name. An answer that is held bars other answers
// until it counts, or is taken back and never counts; but a denial, held or not, ends
// an approval that is held and wins.
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
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(register).after(input.(attempt))
		return want == output, next
	},
	DescribeOperation: func(input, output any) string {
		a := input.(attempt)
		return fmt.Sprintf("%d %q of %q -> %q", a.kind, a.name, a.by, output)
	},
}

// after is one attempt: what the register is then, and what its client is told.
func (r register) after(a attempt) (next register, told string) {
	switch {
	case a.kind == release:
		if r.winner == "" && r.held == a.name {
			r.winner, r.held, r.by = a.name, "", ""
		}
		return r, ""
	case r.winner != "":
		return r, r.winner
	case a.kind == end && a.name == "":
		return r, "nobody" // what no Ask returns with
	case a.kind == end:
	case a.kind == undo && r.by != a.by:
		return r, nothingHeld
	case a.kind == undo:
		return register{taken: r.taken + "/" + r.held + "/"}, undone
	case strings.Contains(r.taken, "/"+a.name+"/"):
		return r, tookBack
	case r.held == a.name: // the same command again
		return r, isHeld
	case r.held != "" && denies(a.name) && !denies(r.held):
	case r.held != "":
		return r, heldBy + r.held
	case a.kind == hold:
		r.held, r.by = a.name, a.by
		return r, isHeld
	}
	r.winner, r.held, r.by = a.name, "", ""
	return r, r.winner
}

// denies reports whether an attempt of that name is a denial.
func denies(name string) bool { return strings.HasPrefix(name, string(pending.Denied)) }

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
					record(client, attempt{requestID: target.id, name: "Gone."}, func() string {
						target.withdrawer.cancel(errors.New("Gone."))
						<-target.withdrawer.done
						return nameOf(target.withdrawer.row)
					})
				case 3:
					record(client, attempt{requestID: target.id, name: "expiry"}, func() string {
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
	record(client, attempt{requestID: id, name: string(status) + " by " + s.CommandID, kind: answer}, func() string {
		return n.told(t, s)
	})
}

// told is what the giver of an answer is told in the end: what the server is unsure
// of is said again, for some time.
func (n node) told(t *testing.T, s pending.Submission) string {
	for tries := 1; ; tries++ {
		row, err := n.Answer(t.Context(), s)
		var (
			notOpen *pending.NotOpenError
			barred  *pending.HeldError
		)
		switch {
		case errors.As(err, &notOpen):
			return nameOf(notOpen.Request)
		case errors.As(err, &barred):
			return heldBy + nameOfHeld(barred.Held)
		case errors.Is(err, pending.ErrUndone):
			return tookBack
		case tries < 100 && (errors.Is(err, pending.ErrUnavailable) || errors.Is(err, pendingtest.ErrFault)):
			continue
		case err != nil:
			return err.Error()
		case !row.Status.Final():
			return isHeld
		}
		return nameOf(row)
	}
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
