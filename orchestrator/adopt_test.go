package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// answered has a request of a process stored, with its answer, as a server left it
// that died before it could note that the answer was given.
func answered(t *testing.T, sessionID, processID, toolUseID string) (requestID string, change func(*orchestrator.Options)) {
	input := json.RawMessage(`{"command":"touch a"}`)
	r := pending.Request{
		RequestID: pending.NewRequestID(sessionID, processID, toolUseID), SessionID: sessionID, ProcessID: processID,
		RequestType: pending.ToolApproval, Source: pending.SourceClaude, AskerRequestID: toolUseID, AskerToolUseID: toolUseID,
		ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input), CreatedAt: time.Now(),
	}
	return r.RequestID, func(o *orchestrator.Options) {
		_, _, err := o.Store.(*sqlite.Store).OpenRequest(context.Background(), r)
		if err == nil {
			_, err = o.Registry.Answer(context.Background(), pending.Submission{
				RequestID: r.RequestID, SessionID: sessionID, RequestType: r.RequestType, InputHash: r.InputHash,
				Actor: pending.Actor{UserID: "u1", Name: "Ada"}, Decision: pending.Allow,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The former server gave an answer and died before it could note that: that the
// CLI acted on it is noted all the same.
func TestAdoptedProcessIsSeenToActOnItsAnswer(t *testing.T) {
	p := &left{heard: true}
	inherit := inherits(t, p)
	requestID, answer := answered(t, "s0", "p0", "toolu_1")
	result := claudetest.Step{Raw: `{"type":"user","uuid":"5f2b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}}`}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{result}}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		b.say("s0", "go on")
		b.wait("s0", func(session.ProcessState) bool { return b.row(requestID).Delivery == pending.Consumed })
	}, inherit, answer)
}

// The former server died between noting an answer and giving it, and an interrupt withdrew
// the question: the answer was not used, although the call has a result.
func TestAdoptedProcessIsNotSaidToHaveUsedAnAnswerItDidNotGet(t *testing.T) {
	p := &left{}
	inherit := inherits(t, p)
	requestID, answer := answered(t, "s0", "p0", "toolu_1")
	noted := func(o *orchestrator.Options) {
		memo := fmt.Appendf(nil, `{"answered":{"toolu_1":{"request_id":%q,"tool_name":"Bash","at":"2000-01-01T00:00:00Z"}}}`, requestID)
		if _, err := o.Store.SaveProgress(context.Background(), "s0", session.Progress{Mark: &session.Mark{ProcessID: "p0", Memo: memo}}); err != nil {
			t.Fatal(err)
		}
	}
	script := claudetest.Script{Start: []claudetest.Step{
		{Raw: `{"type":"control_cancel_request","request_id":"toolu_1"}`},
		{Raw: `{"type":"user","uuid":"5f2b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"interrupted"}]}}`},
	}}
	withBench(t, script, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		b.wait("s0", func(session.ProcessState) bool { return b.row(requestID).Delivery != pending.Queued })
		if d := b.row(requestID).Delivery; d != pending.Dropped {
			t.Errorf("the answer is said to be %s", d)
		}
	}, inherit, answer, noted)
}

// How long a process waits for a message is not counted by the clock of the server before, which may have
// been another one: it may wait as long again.
func TestAdoptedProcessIsNotIdleByAnotherClock(t *testing.T) {
	inherit := inherits(t, &left{})
	behind := func(o *orchestrator.Options) {
		s, err := o.Store.ProcessState(context.Background(), "s0")
		if err == nil {
			s.State, s.StateChangedAt = session.UserTurn, time.Now().Add(-2*time.Hour)
			_, err = o.Store.SaveProcess(context.Background(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	limits := func(l *orchestrator.Limits) { l.Sample, l.Idle = time.Minute, time.Hour }
	withBench(t, claudetest.Script{}, limits, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		time.Sleep(50 * time.Minute)
		if s := b.wait("s0", func(session.ProcessState) bool { return true }); s.State != session.UserTurn {
			t.Errorf("it became %s: %s", s.State, s.KillReason)
		}
		time.Sleep(20 * time.Minute)
		b.wait("s0", in(session.Dead))
	}, inherit, behind)
}

// What a server revoked whose clock is behind seems to have been revoked before the process started, which
// may use it all the same.
func TestAdoptedProcessAsksForWhatWasRevokedByAnotherClock(t *testing.T) {
	inherit := inherits(t, &left{})
	revoked := func(o *orchestrator.Options) {
		g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(make *)", Scope: pending.ScopeUser}
		g.GrantID = pending.FoundGrantID(g)
		if _, err := o.Store.RevokeGrant(context.Background(), g, pending.Actor{Name: "Ada"}, time.Now().Add(-50*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		synctest.Wait()
		told := slices.ContainsFunc(b.launcher.records("control_request"), func(r claudetest.Record) bool {
			return strings.Contains(string(r.Line), `"apply_flag_settings"`) && strings.Contains(string(r.Line), `"ask":["Bash(make *)"]`)
		})
		if !told {
			t.Error("Claude was not told to ask again")
		}
	}, readsFrom(t.TempDir()), inherit, revoked)
}

// The process that is adopted was resumed by the former server. What a person
// answered to the one before it is carried over also when no form of that one is
// open any more.
func TestAdoptedProcessGetsAnswersToTheOneBefore(t *testing.T) {
	p := &left{}
	inherit := inherits(t, p)
	requestID, answer := answered(t, "s0", "the one before", "toolu_1")
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_2", "touch a")}}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		b.say("s0", "go on")
		b.wait("s0", func(session.ProcessState) bool { return b.row(requestID).Delivery == pending.Carried })
		b.wait("s0", in(session.UserTurn))
		if got := b.received()["toolu_2"]; got["behavior"] != "allow" {
			t.Errorf("Claude heard %v", got)
		}
	}, inherit, answer)
}

// The machine stopped after a person was told that an answer counts. The session goes on
// by itself, and what Claude may have heard already it asks again, with a word of it; or
// it says that the answer waits.
func TestAnswerOutlivesAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		heard, resumes bool
	}{"not heard": {false, true}, "perhaps heard": {true, true}, "not heard, resumed by hand": {false, false}} {
		t.Run(name, func(t *testing.T) {
			const id = "0b0e0e3c-0a54-4b6c-9f3e-6d5c8c1f0a01"
			p := &left{heard: c.heard, sessionID: id}
			inherit := inherits(t, p)
			requestID, answer := answered(t, id, "p0", "toolu_1")
			working := func(o *orchestrator.Options) {
				o.Rules.ResumeOnAnswer = c.resumes
				s, err := o.Store.ProcessState(context.Background(), id)
				if err == nil {
					s.State = session.AssistantTurn
					_, err = o.Store.SaveProcess(context.Background(), s)
				}
				if err == nil && c.heard {
					err = o.Store.SetDelivery(context.Background(), requestID, pending.Delivered)
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour) // the machine was off
			}
			resumed := func(o *orchestrator.Options) {
				o.Launcher.(*launcher).later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "touch a")}}}
			}
			status := 1
			died := claudetest.Script{Start: []claudetest.Step{{Exit: &status}}}
			withBench(t, died, nil, func(b *bench) {
				if !c.resumes {
					b.wait(id, func(s session.ProcessState) bool {
						return s.State == session.Dead && strings.HasPrefix(s.Error, "Claude ended before it acted on an answer.")
					})
					return
				}
				b.wait(id, func(s session.ProcessState) bool { return len(b.launcher.commands()) == 2 && s.Running() })
				b.say(id, "go on")
				if c.heard {
					again := b.wait(id, asking(1)).Requests[0]
					if again.Earlier == nil || again.Earlier.RequestID != requestID {
						t.Errorf("asked again without a word of the answer: %+v", again.Earlier)
					}
					return
				}
				b.wait(id, func(session.ProcessState) bool { return b.row(requestID).Delivery == pending.Carried })
			}, resumed, inherit, answer, working)
		})
	}
}

// The former server died while it was ending a process. A message that arrived meanwhile starts the
// session again, unless a person was ending it. Releases before did not store who was.
func TestAdoptedProcessThatWasBeingEnded(t *testing.T) {
	const byLimit, byPerson = "Nobody sent a message for 1 hour.", "Ended by Ada."
	for name, c := range map[string]struct {
		reason, memo string
		again        bool
	}{
		"by a limit":            {byLimit, `{"begun":true,"ended_by_limit":true}`, true},
		"by a person":           {byPerson, `{"begun":true}`, false},
		"in a release before":   {byLimit, `{"begun":true}`, false},
		"before it was reached": {byPerson, ``, false},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.NewString()
			withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
				if c.again {
					b.wait(id, func(s session.ProcessState) bool {
						return s.State == session.UserTurn && len(b.launcher.records("user")) == 1
					})
					return
				}
				b.wait(id, in(session.Dead))
				time.Sleep(time.Minute)
				if s := b.wait(id, in(session.Dead)); s.KillReason != c.reason || s.QueuedMessages != 1 || len(b.launcher.records("user")) != 0 {
					t.Errorf("got %+v", s)
				}
			}, inherits(t, &left{sessionID: id}), remembers(t, id, c.memo), func(o *orchestrator.Options) {
				_, err := o.Store.QueueMessage(context.Background(), session.Message{MessageID: "m1", SessionID: id, Text: "one", CreatedAt: time.Now()})
				s, readErr := o.Store.ProcessState(context.Background(), id)
				if err = errors.Join(err, readErr); err == nil {
					s.KillReason = c.reason
					_, err = o.Store.SaveProcess(context.Background(), s)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// That a limit, and no person, ends a process is stored with its position in the journal.
func TestEndByALimitIsStored(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample, l.Idle = time.Minute, 10*time.Minute }
	for name, person := range map[string]bool{"a limit": false, "a person": true} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{}, limits, func(b *bench) {
				id := b.start("hello")
				b.wait(id, in(session.UserTurn))
				if person {
					if err := b.Kill(b.t.Context(), id, false, "Ended by Ada."); err != nil {
						t.Fatal(err)
					}
				} else {
					time.Sleep(15 * time.Minute)
				}
				b.wait(id, in(session.Dead))
				mark, err := b.store.Mark(b.t.Context(), id)
				if err != nil || strings.Contains(string(mark.Memo), `"ended_by_limit":true`) == person {
					t.Errorf("got %s, %v", mark.Memo, err)
				}
			}, func(o *orchestrator.Options) { o.Launcher = &journaled{launcher: o.Launcher.(*launcher)} })
		})
	}
}

// A runner that reports a process of a session that another runner has gets nothing of the session:
// neither the messages that wait nor the answers.
func TestARunnerTakesOverNoSessionOfAnother(t *testing.T) {
	own, foreign := &left{}, &left{runnerID: "elsewhere"}
	inherit := inherits(t, own, foreign)
	requestID, answer := answered(t, "s1", "p1", "toolu_1")
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		foreign.mu.Lock()
		defer foreign.mu.Unlock()
		if foreign.tries != 0 || foreign.removed {
			t.Errorf("it was attached %d times, removed: %v", foreign.tries, foreign.removed)
		}
		if d := b.row(requestID).Delivery; d != pending.Queued {
			t.Errorf("its answer is %s", d)
		}
	}, inherit, answer)
}
