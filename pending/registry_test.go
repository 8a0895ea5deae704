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

// flow runs f in a bubble of its own with a fresh registry. Waiting for an Ask
// that cannot return is a deadlock there, and fails.
func flow(t *testing.T, f func(t *testing.T, n node)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newNode(pendingtest.NewStore())) })
}

func stored(t *testing.T, n node, id string) pending.Request {
	t.Helper()
	row, err := n.store.Request(context.WithoutCancel(t.Context()), id)
	if err != nil {
		t.Fatalf("request %s: %v", id, err)
	}
	return row
}

func mustAnswer(t *testing.T, n node, s pending.Submission) pending.Request {
	t.Helper()
	row, err := n.Answer(t.Context(), s)
	if err != nil {
		t.Fatalf("answer %s: %v", s.RequestID, err)
	}
	return row
}

func TestAskReturnsWhatAPersonAnswered(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		if a.returned() {
			t.Fatal("Ask returned before anybody answered")
		}
		if got := stored(t, n, "r1"); got.Status != pending.Open || got.CreatedAt.IsZero() || got.InputHash != pending.HashInput(got.ToolInput) {
			t.Fatalf("stored %+v", got)
		}
		if got := n.notifier.count("s1"); got != 1 {
			t.Errorf("notified after opening: got %d, want 1", got)
		}
		now := mustAnswer(t, n, deny("r1", "s1", "c1", "use pnpm"))
		row, err := a.result()
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]pending.Request{"asker": row, "answerer": now, "store": stored(t, n, "r1")} {
			if got.Status != pending.Denied || got.Delivery != pending.Queued || got.Resolution == nil ||
				got.Resolution.Answer == nil || got.Resolution.Answer.Message != "use pnpm" ||
				got.Resolution.Actor != ann || got.Resolution.CommandID != "c1" || got.Resolution.At.IsZero() {
				t.Errorf("%s has %+v with %+v", what, got, got.Resolution)
			}
		}
		if got := n.notifier.count("s1"); got != 2 {
			t.Errorf("notified after the answer: got %d, want 2", got)
		}
	})
}

func TestAskWaitsForAPersonAsLongAsItTakes(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		time.Sleep(400 * 24 * time.Hour)
		if a.returned() {
			t.Fatal("Ask gave up by itself")
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v", row.Status, err)
		}
	})
}

func TestEveryAskOfOneRequestGetsItsResolution(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		first, second := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		if got := n.store.Version("s1"); got != 1 {
			t.Errorf("changes of the session: got %d, want 1", got)
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		late := n.ask(t.Context(), bash("r1", "s1"))
		for _, a := range []*asked{first, second, late} {
			if row, err := a.result(); err != nil || row.Status != pending.Answered || row.Resolution.CommandID != "c1" {
				t.Errorf("got %+v, %v", row, err)
			}
		}
		if got := n.notifier.count("s1"); got != 2 {
			t.Errorf("notified: got %d, want 2", got)
		}
	})
}

func TestTheCauseOfTheEndSettlesTheRow(t *testing.T) {
	gone := errors.New("The MCP client has gone.")
	for name, c := range map[string]struct {
		cause  error
		status pending.Status
		reason string
	}{
		"deadline of ours":       {pending.ErrDeadline, pending.Expired, "Nobody answered in time."},
		"deadline of a context":  {context.DeadlineExceeded, pending.Expired, "Nobody answered in time."},
		"asker gave up":          {context.Canceled, pending.Withdrawn, "The question was withdrawn."},
		"asker gave up and said": {gone, pending.Withdrawn, "The MCP client has gone."},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, n node) {
				a := n.ask(t.Context(), bash("r1", "s1"))
				synctest.Wait()
				a.cancel(c.cause)
				row, err := a.result()
				if !errors.Is(err, c.cause) {
					t.Errorf("error: got %v, want %v", err, c.cause)
				}
				for what, got := range map[string]pending.Request{"returned": row, "stored": stored(t, n, "r1")} {
					if got.Status != c.status || got.Resolution == nil || got.Resolution.Reason != c.reason || got.Resolution.Answer != nil {
						t.Errorf("%s: %s %+v", what, got.Status, got.Resolution)
					}
				}
				if got := n.notifier.count("s1"); got != 2 {
					t.Errorf("notified: got %d, want 2", got)
				}
			})
		})
	}
}

func TestADetachedAskLeavesTheRowForTheNextServer(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		a.cancel(pending.ErrDetached)
		if _, err := a.result(); !errors.Is(err, pending.ErrDetached) {
			t.Errorf("error: got %v", err)
		}
		if got := stored(t, n, "r1").Status; got != pending.Open {
			t.Errorf("status: got %s", got)
		}
		next := newNode(n.store)
		again := next.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		mustAnswer(t, next, allow("r1", "s1", "c1"))
		if row, err := again.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v", row.Status, err)
		}
	})
}

func TestADeadAskersRequestsStayAnswerable(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second := n.ask(ctx, bash("r1", "s1")), n.ask(ctx, bash("r2", "s1"))
		other := n.ask(t.Context(), bash("r3", "s2"))
		synctest.Wait()
		cancel(pending.ErrAskerDied{Reason: "Claude was killed by signal 9."})
		for _, a := range []*asked{first, second} {
			row, err := a.result()
			var died pending.ErrAskerDied
			if !errors.As(err, &died) || died.Reason != "Claude was killed by signal 9." {
				t.Errorf("error: got %v", err)
			}
			if row.Status != pending.Orphaned {
				t.Errorf("status: got %s", row.Status)
			}
		}
		if other.returned() || stored(t, n, "r3").Status != pending.Open {
			t.Error("a request of another session was touched")
		}
		if open, err := n.HasOpen(t.Context(), "s1"); err != nil || open {
			t.Errorf("has open: got %v, %v", open, err)
		}
		if rows, err := n.Open(t.Context(), "s1"); err != nil || len(rows) != 2 {
			t.Errorf("answerable: got %d, %v", len(rows), err)
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if row, err := n.ask(t.Context(), bash("r1", "s1")).result(); err != nil || row.Status != pending.Answered {
			t.Errorf("asked again: got %s, %v", row.Status, err)
		}
		other.cancel(nil)
		_, _ = other.result()
	})
}

// The answer and the end of the context fall into one instant: whoever changed
// the row has won, and an answer that won is never thrown away.
func TestAnAnswerThatWasFirstBeatsTheEndOfItsAsker(t *testing.T) {
	for name, cause := range map[string]error{
		"withdrawn": context.Canceled, "expired": pending.ErrDeadline, "died": pending.ErrAskerDied{Reason: "It died."},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, n node) {
				a := n.ask(t.Context(), bash("r1", "s1"))
				synctest.Wait()
				// On another node, so that nothing but the row tells.
				elsewhere := newNode(n.store)
				n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
					if op == pendingtest.OpResolve || op == pendingtest.OpOrphan {
						n.store.Inject(nil)
						mustAnswer(t, elsewhere, allow("r1", "s1", "c1"))
					}
					return pendingtest.None
				})
				a.cancel(cause)
				if row, err := a.result(); err != nil || row.Status != pending.Answered || row.Resolution.CommandID != "c1" {
					t.Errorf("got %s, %v", row.Status, err)
				}
			})
		})
	}
}

func TestAnAnswerThatWasSecondHearsOfTheWithdrawal(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpResolve {
				n.store.Inject(nil)
				a.cancel(errors.New("Interrupted."))
				<-a.done
			}
			return pendingtest.None
		})
		row, err := n.Answer(t.Context(), allow("r1", "s1", "c1"))
		var notOpen *pending.NotOpenError
		if !errors.As(err, &notOpen) || notOpen.Request.Status != pending.Withdrawn || notOpen.Request.Resolution.Reason != "Interrupted." {
			t.Errorf("got %v", err)
		}
		if row.Status != pending.Withdrawn {
			t.Errorf("row: got %s", row.Status)
		}
	})
}

func TestAskWithAnEndedContextAsksNobody(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.Ask(ctx, bash("r1", "s1")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := n.store.Request(t.Context(), "r1"); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("stored: %v", err)
		}
	})
}

func TestTheDeadlineOfTheAskerExpiresTheRequest(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		req := bash("r1", "s1")
		req.ExpiresAt = time.Now().Add(time.Minute)
		first := n.ask(t.Context(), req)
		time.Sleep(59 * time.Second)
		if first.returned() {
			t.Fatal("expired too early")
		}
		// Asked again with a later deadline: people saw the first one.
		req.ExpiresAt = time.Now().Add(time.Hour)
		second := n.ask(t.Context(), req)
		time.Sleep(time.Second)
		for _, a := range []*asked{first, second} {
			row, err := a.result()
			if err != nil || row.Status != pending.Expired || row.Resolution.Answer != nil {
				t.Errorf("got %s, %v", row.Status, err)
			}
		}
		_, err := n.Answer(t.Context(), allow("r1", "s1", "late"))
		var notOpen *pending.NotOpenError
		if !errors.As(err, &notOpen) || notOpen.Request.Status != pending.Expired {
			t.Errorf("late answer: got %v", err)
		}
	})
}

func TestAContextWithATimeoutExpiresTheRequest(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		row, err := n.Ask(ctx, bash("r1", "s1"))
		if !errors.Is(err, context.DeadlineExceeded) || row.Status != pending.Expired {
			t.Errorf("got %s, %v", row.Status, err)
		}
	})
}

func TestAnAnswerClosesTheDeadline(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		req := bash("r1", "s1")
		req.ExpiresAt = time.Now().Add(time.Minute)
		a := n.ask(t.Context(), req)
		synctest.Wait()
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		time.Sleep(time.Hour)
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v", row.Status, err)
		}
		if got := stored(t, n, "r1").Status; got != pending.Answered {
			t.Errorf("stored: got %s", got)
		}
	})
}

func TestQuestionsWithTheSameIDAreOne(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		for name, change := range map[string]func(*pending.Request){
			"input":   func(r *pending.Request) { r.ToolInput = []byte(`{"command":"rm -rf /"}`) },
			"tool":    func(r *pending.Request) { r.ToolName = "Write" },
			"session": func(r *pending.Request) { r.SessionID = "s2" },
			"type":    func(r *pending.Request) { r.RequestType = pending.AskUserQuestion },
		} {
			req := bash("r1", "s1")
			change(&req)
			if _, err := n.Ask(t.Context(), req); !errors.Is(err, pending.ErrConflict) {
				t.Errorf("another %s: got %v", name, err)
			}
		}
		if a.returned() || stored(t, n, "r1").Status != pending.Open {
			t.Error("the first request was touched")
		}
		a.cancel(nil)
		_, _ = a.result()
	})
}

func TestAnswersOfOneCommandAreApplied(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		first := mustAnswer(t, n, allow("r1", "s1", "c1"))
		for range 100 {
			again := mustAnswer(t, n, allow("r1", "s1", "c1"))
			if !again.Resolution.At.Equal(first.Resolution.At) {
				t.Fatal("resolved twice")
			}
		}
		if _, err := a.result(); err != nil {
			t.Error(err)
		}
		if got := n.notifier.count("s1"); got != 2 {
			t.Errorf("notified: got %d, want 2", got)
		}
		stranger := allow("r1", "s1", "c1")
		stranger.Actor = bob
		if _, err := n.Answer(t.Context(), stranger); !errors.Is(err, pending.ErrNotOpen) {
			t.Errorf("another person's command of the same id: got %v", err)
		}
	})
}

func TestSecondAnswerIsToldOfTheFirst(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		mustAnswer(t, n, deny("r1", "s1", "c1", "no"))
		second := allow("r1", "s1", "c2")
		second.Actor = bob
		row, err := n.Answer(t.Context(), second)
		var notOpen *pending.NotOpenError
		if !errors.As(err, &notOpen) {
			t.Fatalf("got %v", err)
		}
		for what, got := range map[string]pending.Request{"error": notOpen.Request, "row": row} {
			if got.Status != pending.Denied || got.Resolution.Actor != ann || got.Resolution.At.IsZero() || got.Resolution.Answer.Message != "no" {
				t.Errorf("%s: got %+v", what, got.Resolution)
			}
		}
		if row, err := a.result(); err != nil || row.Status != pending.Denied {
			t.Errorf("asker: got %s, %v", row.Status, err)
		}
	})
}

func TestRefusedAnswersChangeNothing(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		for name, c := range map[string]struct {
			change func(*pending.Submission)
			want   error
		}{
			"unknown id":    {func(s *pending.Submission) { s.RequestID = "r9" }, pending.ErrNotFound},
			"other session": {func(s *pending.Submission) { s.SessionID = "s2" }, pending.ErrNotFound},
			"no session":    {func(s *pending.Submission) { s.SessionID = "" }, pending.ErrNotFound},
			"other input":   {func(s *pending.Submission) { s.InputHash = pending.HashInput([]byte(`{}`)) }, pending.ErrStale},
			"other type":    {func(s *pending.Submission) { s.RequestType = pending.AskUserQuestion }, pending.ErrInvalid},
			"nobody":        {func(s *pending.Submission) { s.Actor = pending.Actor{} }, pending.ErrInvalid},
			"no decision":   {func(s *pending.Submission) { s.Decision = "" }, pending.ErrInvalid},
		} {
			s := allow("r1", "s1", "c-"+name)
			c.change(&s)
			row, err := n.Answer(t.Context(), s)
			if !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			if c.want == pending.ErrNotFound && (row.RequestID != "" || row.ToolInput != nil) {
				t.Errorf("%s: tells what it must not: %+v", name, row)
			}
		}
		if a.returned() || stored(t, n, "r1").Status != pending.Open || n.notifier.count("s1") != 1 {
			t.Error("a refused answer left a trace")
		}
		s := allow("r1", "s1", "c1")
		s.InputHash = stored(t, n, "r1").InputHash
		mustAnswer(t, n, s)
		_, _ = a.result()
	})
}

func TestAStoreThatLosesItsReplyLosesNoAnswer(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpResolve {
				return pendingtest.FailAfterCommit
			}
			return pendingtest.None
		})
		mustAnswer(t, n, allow("r1", "s1", "")) // also when the caller gives no key
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("asker: got %s, %v", row.Status, err)
		}
		if got := n.notifier.count("s1"); got != 2 {
			t.Errorf("notified: got %d, want 2", got)
		}
	})
}

// Somebody else's answer came first and ours failed: two answers alike and
// without a key are still two.
func TestAnswersWithoutAKeyAreToldApart(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op != pendingtest.OpResolve {
				return pendingtest.None
			}
			n.store.Inject(nil)
			mustAnswer(t, n, allow("r1", "s1", ""))
			return pendingtest.Fail
		})
		for range 2 {
			if _, err := n.Answer(t.Context(), allow("r1", "s1", "")); !errors.Is(err, pending.ErrNotOpen) {
				t.Errorf("got %v", err)
			}
		}
		_, _ = a.result()
	})
}

func TestAStoreThatFailsAppliesNothing(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpResolve {
				return pendingtest.Fail
			}
			return pendingtest.None
		})
		if _, err := n.Answer(t.Context(), allow("r1", "s1", "c1")); !errors.Is(err, pendingtest.ErrFault) {
			t.Errorf("got %v", err)
		}
		if a.returned() || stored(t, n, "r1").Status != pending.Open {
			t.Error("a failed answer was applied")
		}
		n.store.Inject(nil)
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if _, err := a.result(); err != nil {
			t.Error(err)
		}
	})
}

// The write is done, but neither its reply nor a second look comes through. The
// person is told that it is unknown; Claude gets the answer as soon as the store
// can be read, with no further notification.
func TestAnAnswerOfUnknownOutcomeStillReachesItsAsker(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		resolved := false
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			switch {
			case op == pendingtest.OpResolve:
				resolved = true
				return pendingtest.FailAfterCommit
			case op == pendingtest.OpRead && resolved:
				return pendingtest.Fail
			}
			return pendingtest.None
		})
		if _, err := n.Answer(t.Context(), allow("r1", "s1", "c1")); !errors.Is(err, pendingtest.ErrFault) {
			t.Errorf("got %v", err)
		}
		time.Sleep(5 * time.Minute)
		if a.returned() {
			t.Fatal("Ask returned from a store that cannot be read")
		}
		n.store.Inject(nil)
		time.Sleep(31 * time.Second)
		if !a.returned() {
			t.Fatal("Ask does not look again")
		}
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("asker: got %s, %v", row.Status, err)
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
	})
}

func TestRepeatedCommandReleasesAWaiterThatMissedANotification(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		mustAnswer(t, newNode(n.store), allow("r1", "s1", "c1"))
		synctest.Wait()
		if a.returned() {
			t.Fatal("nobody told this node")
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v", row.Status, err)
		}
	})
}

func TestAQuestionThatCannotBeStoredIsNotAsked(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpOpen {
				return pendingtest.Fail
			}
			return pendingtest.None
		})
		row, err := n.Ask(t.Context(), bash("r1", "s1"))
		if !errors.Is(err, pendingtest.ErrFault) || row.Resolution != nil {
			t.Errorf("got %+v, %v", row.Resolution, err)
		}
	})
}

func TestAQuestionWhoseStoringIsUnknownIsAskedIfItIsThere(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpOpen {
				return pendingtest.FailAfterCommit
			}
			return pendingtest.None
		})
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		if a.returned() || n.notifier.count("s1") != 1 {
			t.Fatal("the row is there, but nobody was told")
		}
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if _, err := a.result(); err != nil {
			t.Error(err)
		}
	})
}

// The asker goes while its question is being stored: what was stored does not
// stay behind.
func TestAnAskerThatGoesWhileOpeningLeavesNoQuestion(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		ctx, cancel := context.WithCancel(t.Context())
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op != pendingtest.OpOpen {
				return pendingtest.None
			}
			n.store.Inject(nil)
			if _, _, err := n.store.OpenRequest(context.WithoutCancel(ctx), withHash(bash("r1", "s1"))); err != nil {
				t.Error(err)
			}
			cancel()
			return pendingtest.None
		})
		if _, err := n.Ask(ctx, bash("r1", "s1")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := stored(t, n, "r1").Status; got != pending.Withdrawn {
			t.Errorf("stored: got %s", got)
		}
	})
}

func withHash(r pending.Request) pending.Request {
	r.InputHash = pending.HashInput(r.ToolInput)
	return r
}

func TestSettlingRetriesAfterAStoreError(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		failed := 0
		n.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpResolve && failed < 3 {
				failed++
				return pendingtest.Fail
			}
			return pendingtest.None
		})
		a.cancel(nil)
		if row, err := a.result(); !errors.Is(err, context.Canceled) || errors.Is(err, pendingtest.ErrFault) || row.Status != pending.Withdrawn {
			t.Errorf("got %s, %v", row.Status, err)
		}
		if failed != 3 {
			t.Errorf("failures: got %d", failed)
		}
	})
}

func TestAStoreThatCannotSettleIsReported(t *testing.T) {
	for name, cause := range map[string]error{"withdrawn": context.Canceled, "died": pending.ErrAskerDied{Reason: "It died."}} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, n node) {
				a := n.ask(t.Context(), bash("r1", "s1"))
				synctest.Wait()
				n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Fail })
				start := time.Now()
				a.cancel(cause)
				row, err := a.result()
				if !errors.Is(err, cause) || !errors.Is(err, pendingtest.ErrFault) || row.Status != pending.Open {
					t.Errorf("got %s, %v", row.Status, err)
				}
				if took := time.Since(start); took > 6*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// A deadline that cannot be stored has passed all the same.
func TestADeadlineThatCannotBeStoredIsReported(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		req := bash("r1", "s1")
		req.ExpiresAt = time.Now().Add(time.Minute)
		a := n.ask(t.Context(), req)
		synctest.Wait()
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Fail })
		row, err := a.result()
		if !errors.Is(err, pending.ErrDeadline) || !errors.Is(err, pendingtest.ErrFault) || row.Resolution != nil {
			t.Errorf("got %+v, %v", row.Resolution, err)
		}
	})
}

func TestWakeBringsAnAnswerFromAnotherNode(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, other := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		mustAnswer(t, newNode(n.store), allow("r1", "s1", "c1"))
		n.Wake("s2")
		synctest.Wait()
		if a.returned() {
			t.Fatal("woken by another session")
		}
		n.Wake("s1")
		if row, err := a.result(); err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v", row.Status, err)
		}
		synctest.Wait()
		if other.returned() {
			t.Error("a request that nobody answered was returned")
		}
		other.cancel(nil)
		_, _ = other.result()
	})
}

func TestWakeRetriesAfterAReadError(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		mustAnswer(t, newNode(n.store), allow("r1", "s1", "c1"))
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Fail })
		n.Wake("s1")
		synctest.Wait()
		n.store.Inject(nil)
		time.Sleep(2 * time.Second)
		if !a.returned() {
			t.Fatal("one failed read lost the answer")
		}
	})
}

func TestADeletedSessionFreesItsAskers(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		n.store.Delete("r1")
		n.store.Delete("r2")
		b.cancel(nil)
		if _, err := b.result(); !errors.Is(err, context.Canceled) || errors.Is(err, pending.ErrNotFound) {
			t.Errorf("cancelled: got %v", err)
		}
		n.Wake("s1")
		if _, err := a.result(); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("woken: got %v", err)
		}
		if _, err := n.Answer(t.Context(), allow("r1", "s1", "c1")); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("answer: got %v", err)
		}
	})
}

// A database that was set back to an earlier state does not know what is asked. Who
// waits for it has it stored again, once the store is in order.
func TestALostRequestIsStoredAgain(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s2"))
		synctest.Wait()
		n.store.Lose("r1")
		n.store.Lose("r2")
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Fail })
		n.Recover(t.Context())
		synctest.Wait()
		n.store.Inject(nil)
		time.Sleep(2 * time.Second)
		for id, waits := range map[string]*asked{"r1": a, "r2": b} {
			row, err := n.store.Request(t.Context(), id)
			if err != nil || row.Status != pending.Open || waits.returned() {
				t.Fatalf("%s: the store has %+v, %v", id, row, err)
			}
			mustAnswer(t, n, allow(id, row.SessionID, "c1"))
			if row, err := waits.result(); err != nil || row.Status != pending.Answered {
				t.Errorf("%s: got %s, %v", id, row.Status, err)
			}
		}
		if n.notifier.count("s1") != 3 {
			t.Errorf("s1 was announced %d times, want for each of asked, stored again, answered", n.notifier.count("s1"))
		}
	})
}

// What an asker gave up while the store was out of order does not stay open, unless it
// is asked again by then.
func TestAbandonedRequestsAreSettledAfterAnOutage(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Unavailable })
		a.cancel(errors.New("Claude withdrew this request."))
		b.cancel(errors.New("Claude withdrew this request."))
		for _, gaveUp := range []*asked{a, b} {
			if _, err := gaveUp.result(); !pending.IsTemporary(err) {
				t.Fatalf("got %v", err)
			}
		}
		n.Recover(t.Context()) // too early
		n.store.Inject(nil)
		again := n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		n.Recover(t.Context())
		if row, err := n.store.Request(t.Context(), "r1"); err != nil || row.Status != pending.Withdrawn || row.Resolution.Reason != "Claude withdrew this request." {
			t.Errorf("given up: %+v, %v", row, err)
		}
		if row, err := n.store.Request(t.Context(), "r2"); err != nil || row.Status != pending.Open || again.returned() {
			t.Errorf("asked again: %+v, %v", row, err)
		}
		again.cancel(nil)
	})
}

// While one request is settled after an outage, another one is asked again.
func TestRequestAskedAgainDuringRecoverStaysOpen(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Unavailable })
		a.cancel(nil)
		b.cancel(nil)
		_, _ = a.result()
		_, _ = b.result()
		var again *asked
		var settled, open string
		n.store.Inject(func(op pendingtest.Op, id string) pendingtest.Fault {
			if op == pendingtest.OpResolve && again == nil {
				settled, open = id, map[string]string{"r1": "r2", "r2": "r1"}[id]
				again = n.ask(t.Context(), bash(open, "s1"))
				synctest.Wait()
			}
			return pendingtest.None
		})
		n.Recover(t.Context())
		synctest.Wait()
		if again == nil {
			t.Fatal("nothing was settled")
		}
		if got := stored(t, n, settled).Status; got != pending.Withdrawn {
			t.Errorf("given up: got %s", got)
		}
		if got := stored(t, n, open).Status; got != pending.Open || again.returned() {
			t.Errorf("asked again: got %s", got)
		}
		again.cancel(nil)
		_, _ = again.result()
	})
}

func TestWithdraw(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		for range 2 {
			if err := n.Withdraw(t.Context(), "r1", "Another hook decided."); err != nil {
				t.Fatal(err)
			}
		}
		if row, err := a.result(); err != nil || row.Status != pending.Withdrawn || row.Resolution.Reason != "Another hook decided." {
			t.Errorf("got %s, %v", row.Status, err)
		}
		if b.returned() {
			t.Error("the other request was withdrawn too")
		}
		mustAnswer(t, n, allow("r2", "s1", "c1"))
		if err := n.Withdraw(t.Context(), "r2", "Too late."); !errors.Is(err, pending.ErrNotOpen) {
			t.Errorf("an answered request: got %v", err)
		}
		if err := n.Withdraw(t.Context(), "r9", "Nothing."); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("an unknown request: got %v", err)
		}
		_, _ = b.result()
		if got := n.notifier.count("s1"); got != 4 {
			t.Errorf("notified: got %d, want 4", got)
		}
	})
}

func TestWithdrawAllEndsWhatCanBeAnswered(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		dead := n.ask(t.Context(), bash("r0", "s1"))
		synctest.Wait()
		dead.cancel(pending.ErrAskerDied{Reason: "It died."})
		_, _ = dead.result()
		a, b, answered := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1")), n.ask(t.Context(), bash("r3", "s1"))
		other := n.ask(t.Context(), bash("r4", "s2"))
		synctest.Wait()
		mustAnswer(t, n, allow("r3", "s1", "c1"))
		got, err := n.WithdrawAll(t.Context(), "s1", "Ann ended the session.")
		if err != nil || got != 3 {
			t.Errorf("got %d, %v", got, err)
		}
		for _, a := range []*asked{a, b} {
			if row, err := a.result(); err != nil || row.Status != pending.Withdrawn {
				t.Errorf("got %s, %v", row.Status, err)
			}
		}
		if row, _ := answered.result(); row.Status != pending.Answered {
			t.Errorf("got %s", row.Status)
		}
		if rows, err := n.Open(t.Context(), "s1"); err != nil || len(rows) != 0 {
			t.Errorf("left: %d, %v", len(rows), err)
		}
		if got, err := n.WithdrawAll(t.Context(), "", "All of them."); got != 0 || err == nil {
			t.Errorf("without a session: got %d, %v", got, err)
		}
		if other.returned() {
			t.Error("another session's request was withdrawn")
		}
		other.cancel(nil)
		_, _ = other.result()
	})
}

func TestWithdrawAllGoesOnAfterAFailure(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		a, b := n.ask(t.Context(), bash("r1", "s1")), n.ask(t.Context(), bash("r2", "s1"))
		synctest.Wait()
		n.store.Inject(func(op pendingtest.Op, id string) pendingtest.Fault {
			if op == pendingtest.OpResolve && id == "r1" {
				return pendingtest.Fail
			}
			return pendingtest.None
		})
		got, err := n.WithdrawAll(t.Context(), "s1", "The end.")
		if got != 1 || !errors.Is(err, pendingtest.ErrFault) {
			t.Errorf("got %d, %v", got, err)
		}
		if row, err := b.result(); err != nil || row.Status != pending.Withdrawn {
			t.Errorf("got %s, %v", row.Status, err)
		}
		n.store.Inject(nil)
		a.cancel(nil)
		_, _ = a.result()
	})
}

func TestOpenListsWhatCanBeAnsweredOldestFirst(t *testing.T) {
	flow(t, func(t *testing.T, n node) {
		var all []*asked
		for _, r := range []struct{ id, sessionID string }{{"r3", "s1"}, {"r1", "s2"}, {"r2", "s1"}} {
			all = append(all, n.ask(t.Context(), bash(r.id, r.sessionID)))
			time.Sleep(time.Second)
		}
		check := func(sessionID string, want ...string) {
			t.Helper()
			rows, err := n.Open(t.Context(), sessionID)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range rows {
				got = append(got, row.RequestID)
			}
			if len(got) != len(want) {
				t.Fatalf("open of %q: got %v, want %v", sessionID, got, want)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("open of %q: got %v, want %v", sessionID, got, want)
				}
			}
			if has, err := n.HasOpen(t.Context(), sessionID); err != nil || has != (len(want) > 0) {
				t.Errorf("has open of %q: got %v, %v", sessionID, has, err)
			}
		}
		check("s1", "r3", "r2")
		check("", "r3", "r1", "r2")
		check("s3")
		mustAnswer(t, n, allow("r3", "s1", "c1"))
		check("s1", "r2")
		for _, a := range all {
			a.cancel(nil)
			_, _ = a.result()
		}
		n.store.Inject(func(pendingtest.Op, string) pendingtest.Fault { return pendingtest.Fail })
		if _, err := n.HasOpen(t.Context(), "s1"); !errors.Is(err, pendingtest.ErrFault) {
			t.Errorf("a store that fails: got %v", err)
		}
	})
}

// meddler is a notifier whose listeners use the registry at once, in the notifying
// goroutine: it would lock up if the registry notified with a lock held.
type meddler struct {
	registry *pending.Registry
	notified int
}

func (m *meddler) Notify(sessionID string) {
	m.notified++
	m.registry.Wake(sessionID)
	_, _ = m.registry.Open(context.Background(), sessionID)
}

func TestNotifierMayCallTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meddler{}
		m.registry = pending.NewRegistry(pendingtest.NewStore(), m)
		n := node{Registry: m.registry}
		a := n.ask(t.Context(), bash("r1", "s1"))
		synctest.Wait()
		mustAnswer(t, n, allow("r1", "s1", "c1"))
		if _, err := a.result(); err != nil {
			t.Error(err)
		}
		if m.notified != 2 {
			t.Errorf("notified: got %d, want 2", m.notified)
		}
	})
}

// hasty answers a request the moment its notifier notified.
type hasty struct {
	registry *pending.Registry
	answer   pending.Submission
	err      error
	notified int
}

func (h *hasty) Notify(string) {
	h.notified++
	if h.notified == 1 {
		_, h.err = h.registry.Answer(context.Background(), h.answer)
	}
}

func TestAnAnswerInTheInstantOfOpeningIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hasty{answer: allow("r1", "s1", "c1")}
		h.registry = pending.NewRegistry(pendingtest.NewStore(), h)
		row, err := h.registry.Ask(t.Context(), bash("r1", "s1"))
		if err != nil || h.err != nil || row.Status != pending.Answered {
			t.Errorf("got %s, %v, %v", row.Status, err, h.err)
		}
	})
}
