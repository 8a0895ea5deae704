package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
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
	b.launcher.killLast()
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

// TestEarlierAnswerSaysWhatWasApproved: an edited answer beside a similar question.
func TestEarlierAnswerSaysWhatWasApproved(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a")}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "rm -rf /")}}}
		id := b.start("make a file")
		b.answer(b.die(id, 1)[0], edits(`{"command":"touch b"}`))
		b.say(id, "go on")
		r := b.wait(id, asking(1)).Requests[0]
		if r.Earlier == nil || string(r.Earlier.UpdatedInput) != `{"command":"touch b"}` || string(r.Earlier.ToolInput) != `{"command":"touch a"}` {
			t.Errorf("beside the new question stands %+v", r.Earlier)
		}
		b.answer(r, func(s *pending.Submission) { s.Decision = pending.Deny })
		b.wait(id, in(session.UserTurn))
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
		if r := b.row(old.RequestID); r.Status != pending.Withdrawn || r.Resolution.Reason != "Claude continued without asking this again." {
			t.Errorf("the old question is %s: %+v", r.Status, r.Resolution)
		}
	})
}

// An MCP client fetches its answers itself. One that waits for it is no reason to
// resume a dead session, and not dropped by a turn of Claude.
func TestAnswerToAnMCPClientIsNotOurs(t *testing.T) {
	zero := 0
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Exit: &zero}}}, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{{Text: "Hello."}}}}
		id := b.start("die")
		b.wait(id, in(session.Dead))
		input := json.RawMessage(`{"command":"touch a"}`)
		r := pending.Request{
			RequestID: "r1", SessionID: id, RequestType: pending.ToolApproval, Source: pending.SourceMCP, AskerRequestID: "k1",
			ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input), CreatedAt: time.Now(),
		}
		if _, _, err := b.store.OpenRequest(b.t.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.answer(r, nil)
		time.Sleep(time.Minute)
		if n := len(b.launcher.commands()); n != 1 {
			t.Fatalf("Claude was started %d times", n)
		}
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.say(id, "go on")
		b.wait(id, func(s session.ProcessState) bool {
			return s.State == session.UserTurn && len(b.launcher.records("user")) == 2
		})
		time.Sleep(time.Minute)
		if got := b.row(r.RequestID); got.Delivery != pending.Queued {
			t.Errorf("the answer is %s, want it to wait for its client", got.Delivery)
		}
	}, func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}

// An answer that crosses with Claude's withdrawal of the question is of no use any
// more: it must not be given to the same question when Claude, dead later, is
// resumed.
func TestAnswerThatCrossesWithAWithdrawalIsDropped(t *testing.T) {
	slow := &slowStore{}
	ask := bashWith("toolu_1", "touch a")
	ask.CancelMS = 1000
	withBench(t, claudetest.Script{Turn: []claudetest.Step{ask, {Text: "Never mind."}}}, nil, func(b *bench) {
		b.registry = slow.registry
		id := b.start("make a file")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, nil) // is stored before the withdrawal, and is back after it
		b.wait(id, in(session.UserTurn))
		b.wait(id, func(session.ProcessState) bool { return b.row(r.RequestID).Delivery != pending.Queued })
		if got := b.row(r.RequestID); got.Status != pending.Answered || got.Delivery != pending.Dropped {
			t.Errorf("it is %s and %s, want it dropped", got.Status, got.Delivery)
		}
		if n := len(b.received()); n != 0 {
			t.Errorf("Claude heard %d answers to what it had withdrawn", n)
		}
	}, func(o *orchestrator.Options) {
		slow.Store = o.Store.(*sqlite.Store)
		slow.registry = pending.NewRegistry(slow, o.Notifier)
		o.Store, o.Registry = slow, slow.registry
	})
}

// slowStore takes its time to say that an answer is stored.
type slowStore struct {
	*sqlite.Store
	registry *pending.Registry
}

func (s *slowStore) ResolveRequest(ctx context.Context, id string, res pending.Resolution) (pending.Request, bool, error) {
	r, won, err := s.Store.ResolveRequest(ctx, id, res)
	if res.Status == pending.Answered {
		time.Sleep(2 * time.Second)
	}
	return r, won, err
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

// A turn in which Claude dies is not skipped because a message waits behind it. It
// goes on once: it may be what Claude dies of.
func TestTurnThatWasCutOffGoesOnBeforeTheNextMessage(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{{Silent: true}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("take your time")
		b.wait(id, in(session.AssistantTurn))
		b.wait(id, func(session.ProcessState) bool { return len(b.launcher.records("user")) == 1 })
		b.say(id, "and then this")
		for n := 1; n <= 2; n++ {
			b.launcher.killLast()
			b.wait(id, func(session.ProcessState) bool { return len(b.launcher.commands()) == n+1 })
			if goesOn := contains(b.launcher.commands()[n].Env, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1"); goesOn != (n == 1) {
				t.Errorf("process %d was told to go on: %t", n+1, goesOn)
			}
			// The scripted CLI goes on with nothing by itself, so the message is said.
			b.wait(id, func(session.ProcessState) bool { return len(b.launcher.records("user")) == n+1 })
			b.say(id, "and another")
		}
	})
}

// Claude acted on an answer, and the machine stopped before its transcript was on disk.
// Resumed, it asks again, and the person reads what was answered.
func TestAnswerThatClaudeForgotIsShown(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch a"), {Silent: true}}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "touch a")}}}
		id := b.start("make a file")
		first := b.wait(id, asking(1)).Requests[0]
		b.answer(first, nil)
		b.wait(id, func(session.ProcessState) bool { return b.row(first.RequestID).Delivery == pending.Consumed })
		b.die(id, 0)
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.say(id, "go on")
		again := b.wait(id, asking(1)).Requests[0]
		if again.Earlier == nil || again.Earlier.RequestID != first.RequestID || again.Earlier.By != "Ada" {
			t.Errorf("asked again without a word of the answer: %+v", again.Earlier)
		}
	})
}
