package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// TestTurnThatDoesNotGoOn: the scripted CLI goes on with nothing by itself when it is
// resumed, as the real one does not that is killed amid a text, or for the second time. It
// is told to, each time, and asks again.
func TestTurnThatDoesNotGoOn(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("make a file")
		b.die(id, 1)
		const kills = 3
		for n := 1; n <= kills; n++ {
			if err := b.Resume(b.t.Context(), id, b.person); err != nil {
				t.Fatal(err)
			}
			b.wait(id, func(s session.ProcessState) bool { return asking(1)(s) && s.Requests[0].Status == pending.Open })
			if n < kills {
				b.die(id, 1)
			}
		}
		b.answer(b.wait(id, asking(1)).Requests[0], nil)
		b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && len(s.Requests) == 0 })
		time.Sleep(time.Minute) // and it is not told anything more
		said := bodies[session.UserBody](t, b.items(id), session.ItemUser)
		if notes := b.notes(id, "sayso told it to"); len(said) != 1+kills || notes != kills || said[kills].Text != "Continue from where you left off." || said[kills].By != "Ada" {
			t.Errorf("%d notes, said %+v", notes, said)
		}
	})
}

// A server that takes the process over tells it, if the one before had no time to.
func TestAdoptedTurnThatDoesNotGoOn(t *testing.T) {
	cutOff := func(o *orchestrator.Options) {
		_, err := o.Store.SaveProgress(context.Background(), "s0", session.Progress{Mark: &session.Mark{ProcessID: "p0", Memo: []byte(`{"cut_off":true}`)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "I go on."}}}, nil, func(b *bench) {
		b.wait("s0", func(session.ProcessState) bool { return b.notes("s0", "sayso told it to") == 1 })
		b.wait("s0", func(session.ProcessState) bool {
			return len(bodies[session.TextBody](t, b.items("s0"), session.ItemText)) == 1
		})
	}, inherits(t, &left{}), cutOff)
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
