package pending_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

// holding is a submission that is to be held for three seconds.
func holding(id, sessionID, commandID string) pending.Submission {
	s := allow(id, sessionID, commandID)
	s.Hold = 3 * time.Second
	return s
}

// holdRules is a function as [pending.HoldRules].
type holdRules func(context.Context, pending.Request) (string, error)

func (may holdRules) WhyHeldEnds(ctx context.Context, r pending.Request) (string, error) {
	return may(ctx, r)
}

// watched runs a node's watch over what is held until the test ends.
func watched(t *testing.T, n node, may func(context.Context, pending.Request) (string, error)) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.RunHolds(ctx, holdRules(may)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func anybody(context.Context, pending.Request) (string, error) { return "", nil }

// watchedAsk is a node that watches over what is held, and the request "r" that is
// asked there.
func watchedAsk(t *testing.T) (node, *asked) {
	n := newNode(pendingtest.NewStore())
	watched(t, n, anybody)
	a := n.ask(t.Context(), bash("r", "s"))
	synctest.Wait()
	return n, a
}

// holds gives an answer to "r" that is held.
func (n node) holds(t *testing.T, commandID string) {
	t.Helper()
	if _, err := n.Answer(t.Context(), holding("r", "s", commandID)); err != nil {
		t.Fatal(err)
	}
}

func TestHeldAnswerCountsWhenItsTimeHasPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a := watchedAsk(t)
		for range 2 { // the same command again
			row, err := n.Answer(t.Context(), holding("r", "s", "c"))
			if err != nil || row.Status != pending.Open || !row.Held.Active() {
				t.Fatalf("got %+v, %v", row, err)
			}
		}
		over := allow("r", "s", "d")
		over.Actor = bob
		var held *pending.HeldError
		if _, err := n.Answer(t.Context(), over); !errors.As(err, &held) || held.Held.Actor != ann {
			t.Fatalf("answered over what is held: %v", err)
		}
		if err := n.Undo(t.Context(), "s", "r", "", bob); !errors.Is(err, pending.ErrNothingHeld) {
			t.Fatalf("taken back by another: %v", err)
		}
		time.Sleep(2999 * time.Millisecond)
		synctest.Wait()
		if a.returned() {
			t.Fatal("it counted before its time")
		}
		time.Sleep(time.Millisecond)
		row, err := a.result()
		if err != nil || row.Status != pending.Answered || row.Resolution.CommandID != "c" || row.Resolution.Actor != ann || row.Held != nil {
			t.Fatalf("got %+v, %v", row, err)
		}
		if err := n.Undo(t.Context(), "s", "r", "", ann); !errors.Is(err, pending.ErrNotOpen) {
			t.Fatalf("taken back after it counted: %v", err)
		}
	})
}

func TestAnswerThatWasTakenBackNeverCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a := watchedAsk(t)
		n.holds(t, "c")
		if err := n.Undo(t.Context(), "s", "r", "", ann); err != nil {
			t.Fatal(err)
		}
		// A tab that heard no acknowledgement sends it again, with whatever hold.
		for _, hold := range []time.Duration{3 * time.Second, 0} {
			s := holding("r", "s", "c")
			s.Hold = hold
			if _, err := n.Answer(t.Context(), s); !errors.Is(err, pending.ErrUndone) {
				t.Fatalf("the command that was taken back: %v", err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if a.returned() {
			t.Fatal("it counted")
		}
		if _, err := n.Answer(t.Context(), allow("r", "s", "d")); err != nil {
			t.Fatal(err)
		}
		if row, err := a.result(); err != nil || row.Resolution.CommandID != "d" {
			t.Fatalf("got %+v, %v", row, err)
		}
	})
}

// denying is a submission that denies.
func denying(id, sessionID, commandID string, by pending.Actor) pending.Submission {
	s := allow(id, sessionID, commandID)
	s.Decision, s.Actor, s.Message = pending.Deny, by, "No."
	return s
}

// TestDenialEndsWhatIsHeld: whoever denies while an approval is held, its giver
// included, has denied it at once and for ever, whatever is repeated.
func TestDenialEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]pending.Actor{"by another": bob, "by who approved": ann} {
		for _, hold := range []time.Duration{0, 3 * time.Second} { // also one that would be held itself
			t.Run(name+" "+hold.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					n, a := watchedAsk(t)
					n.holds(t, "c")
					s := denying("r", "s", "no", by)
					s.Hold = hold
					for range 2 { // a tab that heard no acknowledgement sends it again
						if row, err := n.Answer(t.Context(), s); err != nil || row.Status != pending.Denied || row.Held != nil {
							t.Fatalf("got %+v, %v", row, err)
						}
					}
					row, err := a.result()
					if err != nil || row.Status != pending.Denied || row.Resolution.Actor != by || row.Resolution.Answer.Message != "No." {
						t.Fatalf("got %+v, %v", row, err)
					}
					for _, again := range []time.Duration{3 * time.Second, 0} {
						s := holding("r", "s", "c")
						s.Hold = again
						var over *pending.NotOpenError
						if _, err := n.Answer(t.Context(), s); !errors.As(err, &over) || over.Request.ResolvedBy() != by.Name {
							t.Fatalf("the approval once more: %v", err)
						}
					}
					var over *pending.NotOpenError
					if err := n.Undo(t.Context(), "s", "r", "c", ann); !errors.As(err, &over) || over.Request.ResolvedBy() != by.Name {
						t.Fatalf("taken back after it was denied: %v", err)
					}
					time.Sleep(time.Minute)
					if row := stored(t, n, "r"); row.Status != pending.Denied {
						t.Fatalf("got %+v", row)
					}
				})
			})
		}
	}
}

// TestDenialEndsWhatAFormerServerHeld: the hold is stored, and so is what ends it.
func TestDenialEndsWhatAFormerServerHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := pendingtest.NewStore()
		n := newNode(store)
		a := n.ask(t.Context(), bash("r", "s"))
		synctest.Wait()
		n.holds(t, "c")
		a.cancel(pending.ErrDetached)
		_, _ = a.result()
		next := newNode(store)
		watched(t, next, anybody)
		b := next.ask(t.Context(), bash("r", "s"))
		synctest.Wait()
		if _, err := next.Answer(t.Context(), denying("r", "s", "no", bob)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if row, err := b.result(); err != nil || row.Status != pending.Denied || row.Resolution.Actor != bob {
			t.Fatalf("got %+v, %v", row, err)
		}
	})
}

// TestDenialWinsOverWhatComesWhileItIsGiven: holds that come and go between the look
// at the row and the attempt on it keep nobody from denying.
func TestDenialWinsOverWhatComesWhileItIsGiven(t *testing.T) {
	t.Parallel()
	for _, hold := range []time.Duration{0, 3 * time.Second} {
		t.Run(hold.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := pendingtest.NewStore()
				n := newNode(store)
				a := n.ask(t.Context(), bash("r", "s"))
				synctest.Wait()
				between := 0
				store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
					if (op == pendingtest.OpResolve || op == pendingtest.OpHold) && between < 5 {
						between++
						at := time.Now()
						h := pending.Held{Actor: ann, At: at, Until: at.Add(time.Hour), CommandID: string(rune('a' + between)), Answer: pending.Answer{Decision: pending.Allow}}
						was := between
						between = 5 // not about what we do here
						if row, _ := store.Request(t.Context(), "r"); row.Held.Active() {
							_, _, _ = store.UnholdRequest(t.Context(), "r", row.Held.CommandID, ann, "")
						}
						_, _, _ = store.HoldRequest(t.Context(), "r", h)
						between = was
					}
					return pendingtest.None
				})
				s := denying("r", "s", "no", bob)
				s.Hold = hold
				if row, err := n.Answer(t.Context(), s); err != nil || row.Status != pending.Denied {
					t.Fatalf("got %+v, %v", row, err)
				}
				if row, err := a.result(); err != nil || row.Resolution.Actor != bob || between != 5 {
					t.Fatalf("got %+v, %v after %d", row, err, between)
				}
			})
		})
	}
}

// TestNobodyAnswersOverAHeldDenial: neither an approval nor another denial.
func TestNobodyAnswersOverAHeldDenial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a := watchedAsk(t)
		s := denying("r", "s", "no", ann)
		s.Hold = 3 * time.Second
		if _, err := n.Answer(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		over := allow("r", "s", "d")
		over.Actor = bob
		var held *pending.HeldError
		for _, s := range []pending.Submission{over, holding("r", "s", "e"), denying("r", "s", "f", bob)} {
			if _, err := n.Answer(t.Context(), s); !errors.As(err, &held) || held.Held.Actor != ann {
				t.Fatalf("answered over a held denial: %v", err)
			}
		}
		time.Sleep(3 * time.Second)
		if row, err := a.result(); err != nil || row.Status != pending.Denied || row.Resolution.CommandID != "no" {
			t.Fatalf("got %+v, %v", row, err)
		}
	})
}

// TestHeldAnswerOutlivesTheServer: what the next server finds counts, at once when
// its time has passed meanwhile.
func TestHeldAnswerOutlivesTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := pendingtest.NewStore()
		n := newNode(store) // nobody watches: it died
		first := n.ask(t.Context(), bash("r", "s"))
		second := n.ask(t.Context(), bash("q", "s"))
		synctest.Wait()
		for _, id := range []string{"r", "q"} {
			if _, err := n.Answer(t.Context(), holding(id, "s", "c-"+id)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		for _, a := range []*asked{first, second} {
			a.cancel(pending.ErrDetached)
			_, _ = a.result()
		}
		next := newNode(store)
		watched(t, next, anybody)
		a := next.ask(t.Context(), bash("r", "s"))
		if row, err := a.result(); err != nil || row.Resolution.CommandID != "c-r" {
			t.Fatalf("got %+v, %v", row, err)
		}
		if row := stored(t, next, "q"); row.Status.Final() {
			t.Fatal("the other counted before its time")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if row := stored(t, next, "q"); row.Status != pending.Answered {
			t.Fatalf("got %+v", row)
		}
	})
}

// TestHeldAnswerOfAServerWhoseClockDiffers: an answer that another server stored keeps its
// undo window when that server's clock is a little ahead. It counts at once when this
// clock was set back.
func TestHeldAnswerOfAServerWhoseClockDiffers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ahead, counts time.Duration
	}{"ahead": {500 * time.Millisecond, pending.MaxHold + 500*time.Millisecond}, "set back": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNode(pendingtest.NewStore())
				a := n.ask(t.Context(), bash("r", "s"))
				synctest.Wait()
				at := time.Now().Add(row.ahead)
				h := pending.Held{Actor: ann, At: at, Until: at.Add(pending.MaxHold), CommandID: "c", Answer: pending.Answer{Decision: pending.Allow}}
				if _, done, err := n.store.HoldRequest(t.Context(), "r", h); err != nil || !done {
					t.Fatalf("got %v, %v", done, err)
				}
				began := time.Now()
				watched(t, n, anybody)
				if got, err := a.result(); err != nil || got.Resolution.CommandID != "c" || time.Since(began) != row.counts {
					t.Fatalf("got %+v, %v after %s", got, err, time.Since(began))
				}
			})
		})
	}
}

func TestHeldAnswerOfWhoMayNoLongerIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(pendingtest.NewStore())
		asked := 0
		watched(t, n, func(_ context.Context, r pending.Request) (string, error) {
			asked++
			if asked == 1 {
				return "", errors.New("who they are cannot be read now")
			}
			return r.Held.Actor.Name + " was removed.", nil
		})
		a := n.ask(t.Context(), bash("r", "s"))
		synctest.Wait()
		n.holds(t, "c")
		time.Sleep(time.Minute)
		synctest.Wait()
		row := stored(t, n, "r")
		if a.returned() || row.Status != pending.Open || row.Held.Active() || row.Held.Dropped != "Ann was removed." || asked != 2 {
			t.Fatalf("asked %d times, got %+v holding %+v", asked, row, row.Held)
		}
		bobs := holding("r", "s", "d")
		bobs.Actor = bob
		if row, err := n.Answer(t.Context(), bobs); err != nil || !row.Held.Active() {
			t.Fatalf("got %+v, %v", row.Held, err)
		}
		a.cancel(errors.New("Gone."))
		_, _ = a.result()
		if row := stored(t, n, "r"); row.Status != pending.Withdrawn || row.Held != nil {
			t.Fatalf("what was held outlived its question: %+v", row)
		}
	})
}

// TestNoUndoWindowBeyondTheDeadline: an answer that came in time is never lost to the
// deadline of the question.
func TestNoUndoWindowBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(pendingtest.NewStore())
		req := bash("r", "s")
		req.ExpiresAt = time.Now().Add(2 * time.Second)
		a := n.ask(t.Context(), req)
		synctest.Wait()
		if row, err := n.Answer(t.Context(), holding("r", "s", "c")); err != nil || row.Status != pending.Answered {
			t.Fatalf("got %+v, %v", row, err)
		}
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Fatalf("got %+v, %v", row, err)
		}
	})
}

// TestHeldAnswerOfADeadAskerCounts: the form of a process that died stays
// answerable, and so does what was said to it.
func TestHeldAnswerOfADeadAskerCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a := watchedAsk(t)
		n.holds(t, "c")
		a.cancel(pending.ErrAskerDied{Reason: "It died."})
		if row, _ := a.result(); row.Status != pending.Orphaned {
			t.Fatalf("got %+v", row)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if row := stored(t, n, "r"); row.Status != pending.Answered || row.Delivery != pending.Queued {
			t.Fatalf("got %+v", row)
		}
	})
}

// A store, or a connection, may lose the word that it was taken back: the same
// once more must not take back what its giver has decided since.
func TestAnUndoThatComesTwiceTakesBackOneAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a := watchedAsk(t)
		n.holds(t, "first")
		if err := n.Undo(t.Context(), "s", "r", "another", ann); !errors.Is(err, pending.ErrNothingHeld) {
			t.Fatalf("an answer that is not held was taken back: %v", err)
		}
		for range 2 {
			if err := n.Undo(t.Context(), "s", "r", "first", ann); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.Answer(t.Context(), holding("r", "s", "second")); err != nil {
			t.Fatal(err)
		}
		if err := n.Undo(t.Context(), "s", "r", "first", ann); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if row, err := a.result(); err != nil || row.Resolution.CommandID != "second" {
			t.Fatalf("got %+v, %v", row, err)
		}
	})
}
