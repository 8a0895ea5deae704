package pending_test

import (
	"context"
	"errors"
	"fmt"
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
	heldRounds   = 8
	heldPerRound = 200
	heldClients  = 8
	shortHold    = 500 * time.Microsecond // about as long as a client is busy with one request
)

// releases notes when the server began to let a held answer count. Nobody is told
// when it has; so each is an operation that ends with its round, and changes the
// register at some time or, if it was too late, not at all.
type releases struct {
	start time.Time
	mu    sync.Mutex
	began map[string]map[string]int64 // by request id, then name
}

func (r *releases) begin(_ context.Context, row pending.Request) (string, error) {
	at, name := int64(time.Since(r.start)), nameOfHeld(*row.Held)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began[row.RequestID] == nil {
		r.began[row.RequestID] = map[string]int64{}
	}
	if _, again := r.began[row.RequestID][name]; !again {
		r.began[row.RequestID][name] = at
	}
	return "", nil
}

func (r *releases) of(requestID string) []porcupine.Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []porcupine.Operation
	for name, at := range r.began[requestID] {
		all = append(all, porcupine.Operation{
			ClientId: heldClients + 1 + len(all), Input: attempt{requestID: requestID, name: name, kind: release},
			Call: at, Output: "", Return: int64(time.Since(r.start)),
		})
	}
	return all
}

// TestHeldAnswersAreLinearizable lets two people hold answers, take them back, answer
// and deny over each other and repeat themselves, on requests that are withdrawn and expire
// meanwhile, while what is held comes to count after half a millisecond; and holds
// what everybody was told against the specification.
func TestHeldAnswersAreLinearizable(t *testing.T) {
	t.Parallel()
	store := pendingtest.NewStore()
	n := newNode(store)
	counting := &releases{start: time.Now(), began: map[string]map[string]int64{}}
	watched(t, n, counting.begin)
	var writes atomic.Uint64
	store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
		runtime.Gosched() // between a look at the row and the attempt on it
		if op == pendingtest.OpResolve && writes.Add(1)%97 == 0 {
			return pendingtest.FailAfterCommit
		}
		return pendingtest.None
	})
	saw := map[string]int{} // how often which kind of thing was told
	for round := range heldRounds {
		for _, part := range once.Partition(heldRound(t, n, counting, round)) {
			id := part[0].Input.(attempt).requestID
			if !porcupine.CheckOperations(once, part) {
				for _, op := range part {
					t.Logf("%9d to %9d, client %d: %s", op.Call, op.Return, op.ClientId, once.DescribeOperation(op.Input, op.Output))
				}
				t.Fatalf("%s: not linearizable", id)
			}
			row := stored(t, n, id)
			if overruled(part, nameOf(row)) {
				saw["overruled"]++
			}
			for _, op := range part {
				a := op.Input.(attempt)
				switch told := op.Output.(string); {
				case a.kind == release && a.name == nameOf(row):
					saw["counted"]++
				case a.kind == undo && told == undone, told == nothingHeld, told == tookBack, told == isHeld:
					saw[told]++
				case len(told) > len(heldBy) && told[:len(heldBy)] == heldBy:
					saw["barred"]++
				}
			}
			store.Delete(id)
		}
	}
	for _, what := range []string{"counted", "barred", "overruled", isHeld, undone, nothingHeld, tookBack} {
		if saw[what] == 0 {
			t.Errorf("nobody was told or saw %q: that was no race", what)
		}
	}
	t.Logf("%d requests; told or seen: %v", heldRounds*heldPerRound, saw)
}

// overruled reports whether a denial won while an approval was held: it was held,
// nobody took anything back, and it did not count.
func overruled(part []porcupine.Operation, winner string) bool {
	approvalHeld := false
	for _, op := range part {
		if op.Output == undone {
			return false
		}
		a := op.Input.(attempt)
		approvalHeld = approvalHeld || op.Output == isHeld && !denies(a.name)
	}
	return approvalHeld && denies(winner)
}

func heldRound(t *testing.T, n node, counting *releases, round int) []porcupine.Operation {
	var mu sync.Mutex
	var history []porcupine.Operation
	record := func(client int, in attempt, f func() string) (told string) {
		op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(counting.start))}
		told = f()
		op.Output, op.Return = told, int64(time.Since(counting.start))
		mu.Lock()
		defer mu.Unlock()
		history = append(history, op)
		return told
	}
	ctx := context.WithoutCancel(t.Context())
	var askers, clients sync.WaitGroup
	ids, sessions := make([]string, heldPerRound), make([]string, heldPerRound)
	waiting := make([]*asked, heldPerRound)
	for i := range ids {
		ids[i], sessions[i] = fmt.Sprintf("h%d-%d", round, i), fmt.Sprintf("s%d", i%7)
		req := withHash(bash(ids[i], sessions[i]))
		if _, _, err := n.store.OpenRequest(ctx, req); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		a := &asked{cancel: cancel, done: make(chan struct{})}
		waiting[i] = a
		askers.Go(func() {
			defer close(a.done)
			record(heldClients, attempt{requestID: ids[i]}, func() string {
				a.row, a.err = n.Ask(ctx, req)
				return nameOf(a.row)
			})
		})
	}
	// Two clients are one person, and send the same commands.
	give := func(client, i int, commandID string, k kind) string {
		who := []pending.Actor{ann, bob}[client%2]
		s := allow(ids[i], sessions[i], who.Name+"-"+commandID)
		s.Actor = who
		if k == hold {
			s.Hold = shortHold
		}
		if strings.HasPrefix(commandID, "no") {
			s.Decision = pending.Deny
		}
		name := nameOfHeld(pending.Held{CommandID: s.CommandID, Answer: pending.Answer{Decision: s.Decision}})
		return record(client, attempt{requestID: ids[i], name: name, kind: k, by: who.UserID}, func() string { return n.told(t, s) })
	}
	takeBack := func(client, i int) {
		who := []pending.Actor{ann, bob}[client%2]
		record(client, attempt{requestID: ids[i], kind: undo, by: who.UserID}, func() string {
			err := n.Undo(ctx, sessions[i], ids[i], "", who)
			var notOpen *pending.NotOpenError
			switch {
			case err == nil:
				return undone
			case errors.As(err, &notOpen):
				return nameOf(notOpen.Request)
			case errors.Is(err, pending.ErrNothingHeld):
				return nothingHeld
			}
			return err.Error()
		})
	}
	for client := range heldClients {
		clients.Go(func() {
			for i := range ids {
				// What a client does differs from request to request.
				switch does := (client/2 + i + i/heldClients) % 5; {
				case does == 4: // it denies, whatever is held
					if i%3 == 0 {
						give(client, i, "no", hold)
						takeBack(client, i)
					} else {
						give(client, i, "no", answer)
					}
					give(client, i, "1", hold)
				case does < 2: // it thinks better of it, and of that once more
					give(client, i, "1", hold)
					if does == 0 || i%3 == 0 {
						takeBack(client, i)
						give(client, i, "1", hold) // its first command once more
						give(client, i, "2", hold)
					}
				case does == 2:
					takeBack(client, i)
					give(client, i, "1", hold)
					give(client, i, "3", answer)
					takeBack(client, i)
				case i%4 > 0:
					give(client, i, "1", answer) // the held command, at once
				default:
					cause, name := pending.ErrDeadline, "expiry"
					if i%8 > 0 {
						cause, name = errors.New("Gone."), "Gone."
					}
					record(client, attempt{requestID: ids[i], name: name}, func() string {
						waiting[i].cancel(cause)
						<-waiting[i].done
						return nameOf(waiting[i].row)
					})
				}
			}
		})
	}
	clients.Wait()
	for i := range ids {
		// Whoever is left decides, once nothing is held any more.
		for row := stored(t, n, ids[i]); row.Held.Active(); row = stored(t, n, ids[i]) {
			runtime.Gosched()
		}
		give(0, i, "last", answer)
	}
	askers.Wait()
	for _, id := range ids {
		history = append(history, counting.of(id)...)
	}
	return history
}

// nameOfHeld is the name that a request ends with if what is held counts.
func nameOfHeld(h pending.Held) string {
	status := pending.Answered
	if h.Answer.Decision == pending.Deny {
		status = pending.Denied
	}
	return string(status) + " by " + h.CommandID
}
