package orchestrator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/procfs"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// An event is what happened to a process. Times come with it.
type event any

type (
	// messageReceived is a line of the CLI that the transcript has taken in.
	messageReceived struct {
		change         transcript.Change
		at             time.Time
		offset         int64 // after the line
		free           bool  // its cost does not count
		earlyInterrupt bool  // an interrupt must be repeated once the turn has begun
	}
	lineSettled    struct{ offset int64 } // the effects of a line are stored
	startWasStored struct{}               // the store knows that the session has begun
	connected      struct{ pid int }
	attachDelayed  struct{}
	attached       struct{}
	initializeDone struct{}
	inputAwaited   struct{ at time.Time } // the CLI waits for the first message
	turnStarted    struct {
		messageID string
		at        time.Time
		anew      bool // also after a turn ended that was taken for this message's
	}
	turnEndTaken     struct{}
	messageWithheld  struct{ messageID string }
	messageReleased  struct{ messageID string }
	throttled        struct{ reason string } // "" for no longer
	modelSet         struct{ model string }
	modeSet          struct{ mode string }
	bypassGranted    struct{ userID string }
	memoChanged      struct{}
	earlierQuestions struct{ open bool }
	questionClosed   struct{ at time.Time }
	answerGiven      struct{ answered answered }
	answerSent       struct {
		toolUseID string
		reached   bool
	}
	answerDropped  struct{ toolUseID string }
	resultReceived struct{ toolUseID string }
	endRequested   struct {
		reason   string
		byPerson bool
	}
	serverStopping struct{}
	detachSet      struct{ detached bool }
	exited         struct {
		stop, reason string // why we ended it; why it died by itself
		at           time.Time
	}
	writingEnded struct{}
	sampled      struct {
		at        time.Time
		usage     procfs.Usage
		limits    Limits
		questions int // that wait for a person
		// The tool that has run longest, if one runs.
		tool      string
		toolSince time.Time
		retrying  bool // the CLI waits to try the API again
	}
	usageJudged struct {
		memory        uint64
		cpu           float64
		stuck, reason string // what it seems to wait for; why it must end
	}
	saveStarted struct{}
	saveEnded   struct {
		err    error
		row    bool
		offset int64 // -1 when none was stored
		cost   int64
	}
)

// An effect is what must be done because of an event. The goroutine that brought the
// event does it, without the lock.
type effect any

type (
	wakeWriter struct{}
	wakeSender struct{}
	notify     struct{}
	// settleCalls stores what the results of calls mean, then settles the line.
	settleCalls struct {
		calls  []transcript.FinishedCall
		offset int64
	}
	storeStart    struct{}
	storeDelivery struct {
		requestID string
		delivery  pending.Delivery
	}
	endProcess struct{ reason string }
	// judgeUnlessAsking applies a judgement if no question over MCP waits for a person.
	judgeUnlessAsking struct{ judged usageJudged }
	logIllegalMove    struct{ from, to session.State }
)

// transition returns the state after an event, and what must be done. It is the only
// place where the state of a process changes.
func transition(s state, e event) (state, []effect) {
	var effects []effect
	do := func(list ...effect) { effects = append(effects, list...) }
	save := func() {
		s.unsaved = true
		do(wakeWriter{})
	}
	switch e := e.(type) {
	case messageReceived:
		return s.receive(e)
	case lineSettled:
		s.offset = e.offset
	case startWasStored:
		s.startStored = true
	case connected:
		s.row.PID = e.pid
		save()
	case attachDelayed:
		s.row.Stuck = "The supervisor of this process has not answered since the server was restarted. If it stays so, the process is ended."
		save()
	case attached:
		s.row.Stuck = ""
		save()
	case initializeDone:
		s.initialized = true
	case inputAwaited:
		if s.row.State == session.Starting {
			do(s.move(session.UserTurn, e.at)...)
		}
		save()
	case turnStarted:
		if slices.Contains(s.withheld, e.messageID) || s.memo.Ended == e.messageID && !e.anew {
			return s, nil
		}
		do(s.move(session.AssistantTurn, e.at)...)
		s.row.Throttled = ""
		s.memo.TurnStarted = s.memo.TurnStarted && s.memo.Sending == e.messageID // sent again, Claude may be at work
		s.memo.Sending = e.messageID
		save()
	case turnEndTaken:
		s.turnEnded = false
	case messageWithheld:
		if s.memo.Sending != e.messageID && s.memo.Ended != e.messageID {
			s.withheld = append(slices.Clone(s.withheld), e.messageID)
		}
	case messageReleased:
		s.withheld = slices.DeleteFunc(slices.Clone(s.withheld), func(id string) bool { return id == e.messageID })
		do(wakeSender{})
	case throttled:
		if s.row.Throttled != e.reason {
			s.row.Throttled = e.reason
			save()
		}
	case modelSet:
		s.row.Model = e.model
		save()
	case modeSet:
		s.row.PermissionMode = e.mode
		save()
	case bypassGranted:
		s.memo.BypassedBy = e.userID
	case memoChanged:
		save()
	case earlierQuestions:
		s.earlierQuestions = e.open
	case questionClosed:
		s.lastActivity = e.at // while it waited for a person, it was not silent
	case answerGiven:
		s.memo.Answered = s.memo.Answered.with(e.answered)
		s.inFlight = with(s.inFlight, e.answered.ToolUseID, false)
	case answerSent:
		resultCame := s.inFlight[e.toolUseID]
		s.inFlight = without(s.inFlight, e.toolUseID)
		switch {
		case !e.reached:
			s.memo.Answered = s.memo.Answered.without(e.toolUseID)
		case resultCame:
			return transition(s, resultReceived{e.toolUseID})
		}
	case answerDropped:
		s.memo.Answered = s.memo.Answered.without(e.toolUseID)
	case resultReceived:
		if _, sending := s.inFlight[e.toolUseID]; sending {
			// A CLI whose input was closed also has a result, of its own making: whether
			// the answer reached it is known once it was sent.
			s.inFlight = with(s.inFlight, e.toolUseID, true)
		} else if a, ok := s.memo.Answered.find(e.toolUseID); ok {
			s.memo.Answered = s.memo.Answered.without(e.toolUseID)
			do(storeDelivery{a.RequestID, pending.Consumed})
		}
	case endRequested:
		s.setStopReason(e.reason)
		s.endedByPerson = s.endedByPerson || e.byPerson
		if s.row.KillReason == "" && s.row.Running() {
			// Stored before it has ended: if the server dies first, the next one goes on.
			s.row.KillReason, s.unsaved = e.reason, true
		}
		do(wakeWriter{})
	case serverStopping:
		s.setStopReason("The server was stopped.")
	case detachSet:
		s.detached = e.detached
	case exited:
		s.diedInTurn = s.row.State == session.AssistantTurn
		do(s.move(session.Dead, e.at)...)
		s.row.PID, s.row.Memory, s.row.CPU, s.row.Stuck, s.row.Throttled = 0, 0, 0, "", ""
		if e.stop != "" {
			s.row.KillReason = e.stop
		} else {
			s.row.Error = e.reason
		}
		save()
	case writingEnded:
		s.live, s.ended = nil, true
	case sampled:
		return s.sample(e)
	case usageJudged:
		if e.reason != "" && s.stopReason == "" {
			do(endProcess{e.reason})
		}
		if differs(float64(s.row.Memory), float64(e.memory), memoryStep) || differs(s.row.CPU, e.cpu, cpuStep) || e.stuck != s.row.Stuck {
			s.row.Memory, s.row.CPU, s.row.Stuck = e.memory, e.cpu, e.stuck
			save()
		}
	case saveStarted:
		s.unsaved = false
		s.storing, s.cost = s.storing+s.cost, 0
	case saveEnded:
		s.storing -= e.cost
		if e.err != nil {
			s.cost += e.cost
			s.unsaved = s.unsaved || e.row
		} else if e.offset >= 0 {
			s.stored = e.offset
		}
	}
	return s, effects
}

// receive is the transition for a line of the CLI.
func (s state) receive(e messageReceived) (state, []effect) {
	var effects []effect
	c := e.change
	s.lastMessage, s.lastActivity = e.at, e.at
	if len(c.Finished) > 0 {
		// Stored before the offset passes the line, which says it once. Reading the line
		// again does no harm.
		effects = append(effects, settleCalls{c.Finished, e.offset})
	} else {
		s.offset = e.offset
	}
	if c.Cost > 0 && !e.free {
		s.cost, s.costAt = s.cost+c.Cost, e.at
	}
	if c.LiveChanged {
		s.live = c.Live
	}
	started := c.SessionStarted && !s.memo.Begun
	s.memo.Begun = s.memo.Begun || c.SessionStarted

	before, next := s.row, s.row.State
	switch {
	case c.TurnEnded:
		next = session.UserTurn
		s.memo.Ended = cmp.Or(s.memo.Sending, s.memo.Ended)
		s.memo.Sending, s.turnEnded = "", true
	case c.Working:
		next = session.AssistantTurn
		s.memo.TurnStarted = true
	}
	s.row.Model = cmp.Or(c.Model, s.row.Model)
	s.row.PermissionMode = cmp.Or(c.PermissionMode, s.row.PermissionMode)
	changed := next != before.State || s.row.Model != before.Model || s.row.PermissionMode != before.PermissionMode
	if changed {
		s.unsaved = true
		effects = append(effects, s.move(next, e.at)...)
	}
	// Without anything to show, the stored offset moves on.
	effects = append(effects, wakeWriter{})
	if c.LiveChanged && !changed {
		effects = append(effects, notify{})
	}
	// At the end of each turn again, if the store could not take it.
	if s.memo.Begun && !s.startStored && (started || c.TurnEnded) {
		effects = append(effects, storeStart{})
	}
	if c.TurnEnded || e.earlyInterrupt && s.interruptDue() {
		effects = append(effects, wakeSender{})
	}
	return s, effects
}

// sample is the transition for a sample of the process tree.
func (s state) sample(e sampled) (state, []effect) {
	if s.row.State == session.Dead || s.row.PID == 0 {
		return s, nil
	}
	t, u := s.tree, e.usage
	cores := 0.0
	if took := e.at.Sub(t.sampledAt).Seconds(); !t.sampledAt.IsZero() && took > 0 {
		cores = max(0, (u.CPU-t.cpu).Seconds()/took)
	}
	t.cpu, t.sampledAt = u.CPU, e.at
	if cores > busyCPU || u.Processes != t.processes {
		s.lastActivity = e.at
	}
	if u.Processes > t.processes {
		t.grewAt = e.at
	}
	t.processes = u.Processes
	if t.memorySince.IsZero() || s.lastMessage.After(t.memorySince) {
		t.memorySince, t.memoryBefore = e.at, u.Memory
	}
	t.memory = u.Memory
	s.tree, s.samples = t, addSample(s.samples, Sample{At: e.at, Memory: u.Memory, CPU: cores})

	judged := usageJudged{memory: u.Memory, cpu: cores}
	judged.stuck, judged.reason = s.judge(e)
	if (judged.stuck != "" || judged.reason != "") && s.stopReason == "" {
		return s, []effect{judgeUnlessAsking{judged}}
	}
	return transition(s, judged)
}

// move changes row.State if the move is legal.
func (s *state) move(to session.State, at time.Time) []effect {
	if to == s.row.State {
		return nil
	}
	if !session.CanMove(s.row.State, to) {
		return []effect{logIllegalMove{s.row.State, to}}
	}
	s.row.State, s.row.StateChangedAt, s.row.Stuck = to, at, ""
	s.turnSince, s.lastActivity = at, at
	return nil
}

func (s *state) setStopReason(reason string) {
	if s.stopReason == "" {
		s.stopReason = reason
	}
}

// with returns a copy of a map with one more entry, without one with one less.
func with[V any](m map[string]V, key string, value V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

func without[V any](m map[string]V, key string) map[string]V {
	if _, ok := m[key]; !ok {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}
