package orchestrator_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// TestTurnThatDoesNotGoOn: the scripted CLI goes on with nothing by itself when it is
// resumed. The session says so until something is said to it, also when it is killed once
// more, and the call that was cut off can still be answered.
func TestTurnThatDoesNotGoOn(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		want := statement.New("turn_not_continued")
		id := b.start("make a file")
		old := b.die(id, 1)[0]
		for range 2 {
			if err := b.Resume(b.t.Context(), id, b.person); err != nil {
				t.Fatal(err)
			}
			b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && s.Stuck == want })
			time.Sleep(time.Minute) // and it goes on saying so
			if s := b.wait(id, in(session.UserTurn)); s.Stuck != want || len(s.Requests) != 1 || s.Requests[0].Status != pending.Orphaned {
				t.Errorf("a minute later: %q, %+v", s.Stuck, s.Requests)
			}
			b.launcher.killLast()
			b.wait(id, in(session.Dead))
		}
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.wait(id, func(s session.ProcessState) bool { return s.Stuck == want })
		b.answer(old, nil)
		b.say(id, "Continue")
		b.wait(id, func(s session.ProcessState) bool {
			return s.State == session.UserTurn && s.Stuck == "" && len(s.Requests) == 0
		})
		if got := b.row(old.RequestID); got.Delivery == pending.Queued {
			t.Errorf("the answer is %s, and Claude asked again", got.Delivery)
		}
	})
}

// TestResumedAfterATurn: a session that was waiting for a person has nothing to go on with.
func TestResumedAfterATurn(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		id := b.start("hello")
		b.wait(id, in(session.UserTurn))
		b.launcher.killLast()
		b.wait(id, in(session.Dead))
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		time.Sleep(time.Minute)
		if s := b.wait(id, in(session.UserTurn)); s.Stuck != "" {
			t.Errorf("it says %q", s.Stuck)
		}
	})
}
