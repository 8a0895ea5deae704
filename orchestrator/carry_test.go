package orchestrator_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// bashWith asks for a command under a tool_use id of its own.
func bashWith(toolUseID, command string) claudetest.Step {
	return claudetest.Step{Ask: map[string]any{
		"tool_name": "Bash", "tool_use_id": toolUseID, "input": map[string]any{"command": command},
	}}
}

// die lets the CLI die with what it asks open, and returns its orphaned requests.
func (b *bench) die(id string, open int) []pending.Request {
	b.t.Helper()
	b.wait(id, asking(open))
	b.launcher.mu.Lock()
	last := b.launcher.last
	b.launcher.mu.Unlock()
	last.kill()
	requests := b.wait(id, in(session.Dead)).Requests
	if len(requests) != open {
		b.t.Fatalf("%d requests are left to answer, want %d", len(requests), open)
	}
	for _, r := range requests {
		if r.Status != pending.Orphaned {
			b.t.Errorf("%s is %s, want orphaned", r.ToolName, r.Status)
		}
	}
	return requests
}

func (b *bench) say(id, text string) {
	b.t.Helper()
	if err := b.Send(b.t.Context(), session.Message{MessageID: text, SessionID: id, Text: text, By: b.person, CreatedAt: time.Now()}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) row(requestID string) pending.Request {
	b.t.Helper()
	r, err := b.store.Request(b.t.Context(), requestID)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestAnswerToADeadProcessIsCarriedOver(t *testing.T) {
	for name, change := range map[string]func(*pending.Submission){
		"allow": nil,
		"deny":  func(s *pending.Submission) { s.Decision, s.Message = pending.Deny, "not here" },
	} {
		t.Run(name, func(t *testing.T) {
			script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
			withBench(t, script, nil, func(b *bench) {
				b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "touch a"), {Text: "Done."}}}}
				id := b.start("make a file")
				old := b.die(id, 1)[0]
				b.answer(old, change)
				b.say(id, "go on")
				s := b.wait(id, in(session.UserTurn))
				b.wait(id, func(s session.ProcessState) bool { return len(b.received()) > 0 && s.State == session.UserTurn })
				if len(s.Requests) != 0 {
					t.Errorf("a person was asked again: %+v", s.Requests)
				}
				got := b.received()["toolu_2"]
				if want := map[string]string{"allow": "allow", "deny": "deny"}[name]; got["behavior"] != want {
					t.Errorf("Claude heard %v", got)
				}
				if r := b.row(old.RequestID); r.Delivery != pending.Carried {
					t.Errorf("the old answer is %s, want carried", r.Delivery)
				}
				carried := 0
				for _, item := range b.items(id) {
					if item.Kind == session.ItemResolved && jsonHas(item.Body, "carried") {
						carried++
					}
				}
				if carried != 1 {
					t.Errorf("%d records of a carried answer, want 1", carried)
				}
			})
		})
	}
}

func TestAnotherInputIsAskedAnewWithTheOldAnswerBesideIt(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "rm -rf /")}}}
		id := b.start("make a file")
		old := b.die(id, 1)[0]
		b.answer(old, nil)
		b.say(id, "go on")
		r := b.wait(id, asking(1)).Requests[0]
		if r.Earlier == nil || r.Earlier.RequestID != old.RequestID || r.Earlier.Summary != "Approved" || r.Earlier.By != "Ada" {
			t.Errorf("beside the new question stands %+v", r.Earlier)
		}
		if len(b.received()) != 0 {
			t.Error("an answer to another input reached Claude")
		}
		b.answer(r, func(s *pending.Submission) { s.Decision = pending.Deny })
		b.wait(id, in(session.UserTurn))
		// What was not asked again by the end of the turn never will be.
		b.wait(id, func(session.ProcessState) bool { return b.row(old.RequestID).Delivery == pending.Dropped })
	})
}

func TestUnansweredQuestionAskedAgainTakesThePlaceOfTheOld(t *testing.T) {
	ask := claudetest.Step{Ask: map[string]any{"tool_name": "WebFetch", "input": map[string]any{"url": "https://example.org"}}}
	script := claudetest.Script{Turn: []claudetest.Step{ask}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("fetch")
		old := b.die(id, 1)[0]
		b.say(id, "go on")
		s := b.wait(id, func(s session.ProcessState) bool {
			return len(s.Requests) == 1 && s.Requests[0].Status == pending.Open
		})
		if r := b.row(old.RequestID); r.Status != pending.Withdrawn {
			t.Errorf("the old question is %s, want withdrawn", r.Status)
		}
		b.answer(s.Requests[0], nil)
		b.wait(id, in(session.UserTurn))
	})
}

func TestQuestionThatIsNotAskedAgainGoes(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{{Text: "Never mind."}}}}
		id := b.start("make a file")
		old := b.die(id, 1)[0]
		b.say(id, "go on")
		b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && len(s.Requests) == 0 })
		if r := b.row(old.RequestID); r.Status != pending.Withdrawn || r.Resolution.Reason != "Claude went on without asking this again." {
			t.Errorf("the old question is %s: %+v", r.Status, r.Resolution)
		}
	})
}

func TestAnswerResumesADeadSession(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("make a file")
		old := b.die(id, 1)[0]
		b.answer(old, nil)
		b.wait(id, func(session.ProcessState) bool { return len(b.launcher.commands()) == 2 })
		c := b.launcher.commands()[1]
		if !contains(c.Args, "--resume="+id) || !contains(c.Env, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1") {
			t.Errorf("resumed with %v", c.Args)
		}
	}, func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}
