package orchestrator_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
)

const adaInterrupted = `"Ada interrupted Claude."`

// nextTurn has a session take one more message, and waits for the end of its turn.
func (b *bench) nextTurn(id string) {
	b.t.Helper()
	b.say(id, "```claudetest\n[{\"sleep_ms\":5000},{\"text\":\"done\"}]\n```")
	b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && s.QueuedMessages == 0 })
}

// The CLI accepts and ignores an interrupt that comes before it has begun the turn, which
// people see from the moment their message is about to be sent. It is told again then.
func TestInterruptBeforeTheTurnBeginsEndsTheTurn(t *testing.T) {
	long := claudetest.Step{SleepMS: 3_600_000}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{long}}, nil, func(b *bench) {
		b.launcher.late = 2 * time.Second
		id := b.start("Work.")
		b.wait(id, in(session.AssistantTurn))
		for range 2 { // who is impatient does so twice
			if err := b.Interrupt(b.t.Context(), id, b.person); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.notes(id, adaInterrupted); n != 0 {
			t.Errorf("%d notes before the turn began", n)
		}
		b.wait(id, in(session.UserTurn))
		if n := b.notes(id, adaInterrupted); n != 1 {
			t.Errorf("%d notes, want 1", n)
		}
		// The next turn is not interrupted.
		b.nextTurn(id)
		results := bodies[session.ResultBody](t, b.items(id), session.ItemResult)
		if n := b.notes(id, "interrupted"); n != 1 || len(results) != 2 || results[1].Subtype != "success" {
			t.Errorf("%d notes, the turns ended with %+v", n, results)
		}
	})
}

// However the CLI takes an interrupt, the transcript has one note about it: unless the
// CLI refused it and ended the turn in its own time.
func TestInterruptIsNotedOnce(t *testing.T) {
	pause := claudetest.Step{SleepMS: 20_000}
	failed := raw(`{"type":"result","subtype":"error_during_execution","is_error":true,"uuid":"5f30","num_turns":1}`)
	marker := func(id, text string) claudetest.Step {
		return raw(`{"type":"user","uuid":%q,"message":{"role":"user","content":[{"type":"text","text":%q}]}}`, id, text)
	}
	for name, c := range map[string]struct {
		takes   string
		turn    []claudetest.Step
		refused bool
		notes   int
	}{
		"it ends the turn":                  {turn: []claudetest.Step{pause}, notes: 1},
		"it goes on to a result":            {takes: "ignored", turn: []claudetest.Step{pause}, notes: 1},
		"it goes on to an error":            {takes: "ignored", turn: []claudetest.Step{pause, failed}, notes: 1},
		"it says so twice":                  {takes: "ignored", turn: []claudetest.Step{pause, marker("5f31", "[Request interrupted by user]"), marker("5f32", "[Request interrupted by user for tool use]")}, notes: 1},
		"it does not answer":                {takes: "unanswered", turn: []claudetest.Step{pause}, refused: true, notes: 1},
		"it does not answer and exits":      {takes: "unanswered", turn: []claudetest.Step{pause, {Exit: new(1)}}, refused: true, notes: 1},
		"it refuses and fails":              {takes: "refused", turn: []claudetest.Step{pause, failed}, refused: true, notes: 1},
		"it refuses and goes on":            {takes: "refused", turn: []claudetest.Step{pause}, refused: true, notes: 0},
		"it refuses and exits":              {takes: "refused", turn: []claudetest.Step{pause, {Exit: new(1)}}, refused: true, notes: 0},
		"it accepts, then it is killed":     {takes: "ignored", turn: []claudetest.Step{{Silent: true}}, notes: 1},
		"it says nothing, and it is killed": {takes: "unanswered", turn: []claudetest.Step{{Silent: true}}, refused: true, notes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{Turn: c.turn, Interrupt: c.takes}, nil, func(b *bench) {
				id := b.start("Work.")
				b.wait(id, in(session.AssistantTurn))
				time.Sleep(time.Second) // of the script: the turn has begun
				if err := b.Interrupt(b.t.Context(), id, b.person); (err != nil) != c.refused {
					t.Errorf("Interrupt: %v", err)
				}
				if c.turn[0].Silent {
					if err := b.Kill(b.t.Context(), id, true, "Bo ended it."); err != nil {
						t.Fatal(err)
					}
				}
				s := b.wait(id, func(s session.ProcessState) bool { return s.State != session.AssistantTurn })
				if n := b.notes(id, adaInterrupted); n != c.notes {
					t.Errorf("%d notes, want %d", n, c.notes)
				}
				if s.State == session.UserTurn {
					b.nextTurn(id)
				}
				if n := b.notes(id, "interrupted"); n != c.notes {
					t.Errorf("%d notes after the next turn, want %d", n, c.notes)
				}
			})
		})
	}
}
