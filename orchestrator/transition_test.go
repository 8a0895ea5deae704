package orchestrator

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

var at = time.Unix(1_000, 0)

func in(s session.State) state {
	return state{row: session.ProcessState{State: s, PID: 7, PermissionMode: "default", StartedAt: at}, turnSince: at, lastActivity: at}
}

// A transition names only what it changes.
func TestTransition(t *testing.T) {
	t.Parallel()
	received := func(c transcript.Change) messageReceived {
		return messageReceived{change: c, at: at.Add(time.Second), offset: 90}
	}
	asked := answered{ToolUseID: "t1", RequestID: "r1", ToolName: "Bash", At: at}
	call := transcript.FinishedCall{ToolUseID: "t1", ToolName: "Bash"}
	for name, c := range map[string]struct {
		from  state
		event event
		want  func(s *state) // applied to from
		do    []effect
	}{
		"Claude works": {
			in(session.UserTurn), received(transcript.Change{Working: true}),
			func(s *state) {
				s.row.State, s.row.StateChangedAt, s.turnSince = session.AssistantTurn, at.Add(time.Second), at.Add(time.Second)
				s.unsaved, s.memo.TurnStarted, s.offset = true, true, 90
				s.lastMessage, s.lastActivity = at.Add(time.Second), at.Add(time.Second)
			}, []effect{wakeWriter{}},
		},
		"the turn ends": {
			func() state {
				s := in(session.AssistantTurn)
				s.memo.Begun, s.memo.Sending, s.startStored, s.row.Stuck = true, "m1", true, "Waiting"
				return s
			}(), received(transcript.Change{TurnEnded: true, LiveChanged: true, Cost: 5}),
			func(s *state) {
				s.row.State, s.row.StateChangedAt, s.turnSince, s.row.Stuck = session.UserTurn, at.Add(time.Second), at.Add(time.Second), ""
				s.unsaved, s.turnEnded, s.memo.Sending, s.memo.Ended, s.offset = true, true, "", "m1", 90
				s.cost, s.costAt = 5, at.Add(time.Second)
				s.lastMessage, s.lastActivity = at.Add(time.Second), at.Add(time.Second)
			}, []effect{wakeWriter{}, wakeSender{}},
		},
		"a result holds the offset back until it is settled": {
			in(session.AssistantTurn), received(transcript.Change{Finished: []transcript.FinishedCall{call}}),
			func(s *state) { s.lastMessage, s.lastActivity = at.Add(time.Second), at.Add(time.Second) },
			[]effect{settleCalls{[]transcript.FinishedCall{call}, 90}, wakeWriter{}},
		},
		"a settled line": {in(session.AssistantTurn), lineSettled{90}, func(s *state) { s.offset = 90 }, nil},
		"the session starts": {
			in(session.AssistantTurn), received(transcript.Change{SessionStarted: true}),
			func(s *state) {
				s.memo.Begun, s.offset = true, 90
				s.lastMessage, s.lastActivity = at.Add(time.Second), at.Add(time.Second)
			}, []effect{wakeWriter{}, storeStart{}},
		},
		"a message is sent": {
			in(session.UserTurn), turnStarted{messageID: "m1", at: at},
			func(s *state) {
				s.row.State, s.row.StateChangedAt, s.unsaved, s.memo.Sending = session.AssistantTurn, at, true, "m1"
			},
			[]effect{wakeWriter{}},
		},
		"a turn that has ended does not begin once more": {
			state{row: session.ProcessState{State: session.UserTurn}, memo: memo{Ended: "m1"}}, turnStarted{messageID: "m1", at: at}, func(*state) {}, nil,
		},
		"a turn begins though another's end was taken for its own": {
			state{row: session.ProcessState{State: session.UserTurn}, memo: memo{Ended: "m1"}}, turnStarted{messageID: "m1", at: at, anew: true},
			func(s *state) {
				s.row.State, s.row.StateChangedAt, s.unsaved, s.memo.Sending = session.AssistantTurn, at, true, "m1"
				s.turnSince, s.lastActivity = at, at
			},
			[]effect{wakeWriter{}},
		},
		"a message that is taken back is not sent": {
			state{row: session.ProcessState{State: session.UserTurn}, withheldIDs: []string{"m1"}}, turnStarted{messageID: "m1", at: at}, func(*state) {}, nil,
		},
		"a message that is being sent cannot be taken back": {
			state{memo: memo{Sending: "m1"}}, messageWithheld{"m1"}, func(*state) {}, nil,
		},
		"a message is taken back": {in(session.UserTurn), messageWithheld{"m1"}, func(s *state) { s.withheldIDs = []string{"m1"} }, nil},
		"an answer is consumed": {
			state{memo: memo{Answered: answeredCalls{asked}}}, resultReceived{"t1"},
			func(s *state) { s.memo.Answered = nil }, []effect{storeDelivery{"r1", pending.Consumed}},
		},
		"a result before its answer was sent waits": {
			state{memo: memo{Answered: answeredCalls{asked}}, inFlight: map[string]bool{"t1": false}}, resultReceived{"t1"},
			func(s *state) { s.inFlight = map[string]bool{"t1": true} }, nil,
		},
		"and counts once it was": {
			state{memo: memo{Answered: answeredCalls{asked}}, inFlight: map[string]bool{"t1": true}}, answerSent{"t1", true},
			func(s *state) { s.memo.Answered, s.inFlight = nil, map[string]bool{} }, []effect{storeDelivery{"r1", pending.Consumed}},
		},
		"an answer that did not reach Claude is not consumed": {
			state{memo: memo{Answered: answeredCalls{asked}}, inFlight: map[string]bool{"t1": true}}, answerSent{"t1", false},
			func(s *state) { s.memo.Answered, s.inFlight = nil, map[string]bool{} }, nil,
		},
		"a person ends it": {
			in(session.UserTurn), endRequested{"Ended by Ada.", true},
			func(s *state) {
				s.stopReason, s.endedByPerson, s.row.KillReason, s.unsaved = "Ended by Ada.", true, "Ended by Ada.", true
			},
			[]effect{wakeWriter{}},
		},
		"a limit ends it": {
			in(session.UserTurn), endRequested{"Nobody sent a message.", false},
			func(s *state) {
				s.stopReason, s.row.KillReason, s.unsaved, s.memo.EndedByLimit = "Nobody sent a message.", "Nobody sent a message.", true, true
			},
			[]effect{wakeWriter{}},
		},
		"a person ends what a limit is ending": {
			state{row: session.ProcessState{State: session.UserTurn, KillReason: "first"}, stopReason: "first", memo: memo{EndedByLimit: true}},
			endRequested{"Ended by Ada.", true},
			func(s *state) { s.endedByPerson, s.unsaved, s.memo.EndedByLimit = true, true, false },
			[]effect{wakeWriter{}},
		},
		"the first reason to end it stays": {
			state{row: session.ProcessState{State: session.UserTurn, KillReason: "first"}, stopReason: "first"}, endRequested{"second", false},
			func(*state) {}, []effect{wakeWriter{}},
		},
		"it dies in its turn": {
			in(session.AssistantTurn), exited{ended{reason: "exit status 1", at: at}},
			func(s *state) {
				s.row.State, s.row.StateChangedAt, s.row.PID, s.row.Error, s.unsaved, s.diedInTurn = session.Dead, at, 0, "exit status 1", true, true
				s.memo.CutOff = true
			}, []effect{wakeWriter{}},
		},
		"nothing revives it": {
			state{row: session.ProcessState{State: session.Dead}}, turnStarted{messageID: "m1", at: at},
			func(s *state) { s.unsaved, s.memo.Sending = true, "m1" },
			[]effect{logIllegalMove{session.Dead, session.AssistantTurn}, wakeWriter{}},
		},
		"a failed save is repeated": {
			state{storing: 5, offset: 90, stored: 10}, saveEnded{err: errors.New("disk full"), row: true, offset: 90, cost: 5},
			func(s *state) { s.storing, s.cost, s.unsaved = 0, 5, true }, nil,
		},
		"a failed save had counted": {
			state{cost: 5}, costCounted{3}, func(s *state) { s.cost = 2 }, nil,
		},
		"a save": {
			state{storing: 5, cost: 2, offset: 90, stored: 10}, saveEnded{row: true, offset: 90, cost: 5},
			func(s *state) { s.storing, s.stored = 0, 90 }, nil,
		},
		"the same limit is shown once": {state{row: session.ProcessState{Throttled: "full"}}, throttled{"full"}, func(*state) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.from
			before.memo.Answered, before.inFlight = slices.Clone(c.from.memo.Answered), maps.Clone(c.from.inFlight)
			got, effects := transition(c.from, c.event)
			if !reflect.DeepEqual(c.from, before) {
				t.Errorf("the old state was changed to %+v", c.from)
			}
			want := c.from
			c.want(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if !reflect.DeepEqual(effects, c.do) {
				t.Errorf("to do: %#v, want %#v", effects, c.do)
			}
		})
	}
}

func TestSampleAppliesLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{Idle: time.Hour, Silent: 2 * time.Hour, Absolute: 24 * time.Hour, Stuck: 2 * time.Minute, PickUp: 30 * time.Second}
	for name, c := range map[string]struct {
		state  session.State
		change func(*state)
		event  sampled
		want   usageJudged
	}{
		"idle":            {session.UserTurn, nil, sampled{at: at.Add(time.Hour)}, usageJudged{reason: "Nobody sent a message for 1 hour."}},
		"too old":         {session.UserTurn, nil, sampled{at: at.Add(24 * time.Hour)}, usageJudged{reason: "The process reached its time limit of 24 hours."}},
		"silent":          {session.AssistantTurn, nil, sampled{at: at.Add(2 * time.Hour)}, usageJudged{reason: "Claude showed no activity for 2 hours."}},
		"stuck in a tool": {session.AssistantTurn, nil, sampled{at: at.Add(2 * time.Minute), tool: "Bash", toolSince: at}, usageJudged{stuck: "The tool Bash has been running since 00:16:40 UTC without activity."}},
		"retrying":        {session.AssistantTurn, nil, sampled{at: at.Add(2 * time.Minute), retrying: true}, usageJudged{stuck: "Waiting for the Claude API since 00:16:40 UTC. It can't be reached, and Claude keeps trying."}},
		"a person thinks": {session.AssistantTurn, nil, sampled{at: at.Add(30 * time.Hour), questions: 1}, usageJudged{}},
		"an ignored answer": {
			session.AssistantTurn, func(s *state) { s.memo.Answered = answeredCalls{{ToolUseID: "t1", ToolName: "Bash", At: at}} },
			sampled{at: at.Add(30 * time.Second)}, usageJudged{stuck: "Claude has not picked up the answer to Bash, which was delivered at 00:16:40 UTC. If this lasts, kill the session and resume it."},
		},
		"in good order": {session.AssistantTurn, nil, sampled{at: at.Add(time.Minute)}, usageJudged{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := in(c.state)
			if c.change != nil {
				c.change(&s)
			}
			c.event.limits = limits
			after, effects := transition(s, c.event)
			var want []effect
			if c.want != (usageJudged{}) {
				want = []effect{judgeUnlessAsking{c.want}}
			}
			if !reflect.DeepEqual(effects, want) || len(after.samples) != 1 || len(s.samples) != 0 {
				t.Errorf("to do: %+v, want %+v", effects, want)
			}
			s.row.Stuck = "before"
			if after, effects := transition(s, usageJudged{reason: c.want.reason, stuck: c.want.stuck}); after.row.Stuck != c.want.stuck || (len(effects) == 2) != (c.want.reason != "") {
				t.Errorf("judged: %q, to do: %+v", after.row.Stuck, effects)
			}
		})
	}
}
