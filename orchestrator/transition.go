package orchestrator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// transition returns the state after an event, and the effects to perform. Nothing else
// changes the state of a process.
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
		s.row.Stuck = statement.New("shim_silent")
		save()
	case attached:
		s.row.Stuck = ""
		save()
	case journalLost:
		if !s.journalLost {
			s.journalLost, s.row.Stuck = true, statement.New("journal_deleted")
			save()
		}
	case recovered:
		s.recovered = e.reason
	case initializeDone:
		s.initialized = true
	case inputAwaited:
		if s.row.State == session.Starting {
			do(s.move(session.UserTurn, e.at)...)
		}
		save()
	case turnStarted:
		if s.heldBy != "" || slices.Contains(s.withheldIDs, e.messageID) || s.memo.Ended == e.messageID && !e.anew {
			return s, nil
		}
		do(s.move(session.AssistantTurn, e.at)...)
		s.row.Throttled = ""
		s.memo.CutOff = false
		s.memo.TurnStarted = s.memo.TurnStarted && s.memo.Sending == e.messageID // if sent again, Claude may be working
		s.memo.Sending = e.messageID
		save()
	case turnEndTaken:
		s.turnEnded = false
	case messageWithheld:
		if s.memo.Sending != e.messageID && s.memo.Ended != e.messageID {
			s.withheldIDs = append(slices.Clone(s.withheldIDs), e.messageID)
		}
	case messageReleased:
		s.withheldIDs = slices.DeleteFunc(slices.Clone(s.withheldIDs), func(id string) bool { return id == e.messageID })
		do(wakeSender{})
	case turnsHeld:
		if s.heldBy == "" && s.row.State == session.UserTurn {
			s.heldBy = e.by
		}
	case turnsReleased:
		if s.heldBy == e.by {
			s.heldBy = ""
			do(wakeSender{})
		}
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
		s.lastActivity = e.at // it was not silent while it waited for a person
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
			// A CLI whose input was closed also prints a result. Only the outcome of sending tells
			// whether the answer reached the CLI.
			s.inFlight = with(s.inFlight, e.toolUseID, true)
		} else if a, ok := s.memo.Answered.find(e.toolUseID); ok {
			s.memo.Answered = s.memo.Answered.without(e.toolUseID)
			do(storeDelivery{a.RequestID, pending.Consumed})
		}
	case endRequested:
		s.setStopReason(e.reason)
		s.endedByPerson = s.endedByPerson || e.byPerson
		if s.row.KillReason == "" && s.row.Running() {
			// Stored before the process has ended: if the server dies first, the next server goes on
			// ending it.
			s.row.KillReason, s.unsaved = e.reason, true
			s.memo.EndedByLimit = true
		}
		if s.endedByPerson && s.memo.EndedByLimit {
			s.memo.EndedByLimit, s.unsaved = false, true
		}
		do(wakeWriter{})
	case serverStopping:
		s.setStopReason(statement.New("server_stopped"))
	case detachSet:
		s.detached = e.detached
	case cliGone:
		if s.end == nil {
			s.end = &e.ended
			do(notify{})
		}
	case exited:
		s.diedInTurn = s.row.State == session.AssistantTurn
		s.memo.CutOff = s.memo.CutOff || s.diedInTurn
		do(s.move(session.Dead, e.at)...)
		s.row.PID, s.row.Memory, s.row.CPU, s.row.Stuck, s.row.Throttled = 0, 0, 0, "", ""
		if e.stop != "" {
			s.row.KillReason = e.stop
		} else {
			s.row.Error = e.reason
		}
		save()
	case writingEnded:
		s.live, s.nextLive, s.ended = nil, nil, true
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
		s.savingLive = becameItem(s.live)
		if becameItem(s.nextLive) {
			s.nextLive = nil // its item is saved, too
		}
		s.storing, s.cost = s.storing+s.cost, 0
	case costCounted:
		s.cost -= e.micros
	case saveEnded:
		s.storing -= e.cost
		if s.savingLive { // even if the save failed, so that the next block is not delayed
			s.live, s.nextLive, s.savingLive = s.nextLive, nil, false
		}
		if e.err != nil {
			s.cost += e.cost
			s.unsaved = s.unsaved || e.row
		} else if e.offset >= 0 {
			s.stored = e.offset
		}
	}
	return s, effects
}

// receive returns the state after a line of the CLI, and the effects.
func (s state) receive(e messageReceived) (state, []effect) {
	var effects []effect
	c := e.change
	s.lastMessage, s.lastActivity = e.at, e.at
	if len(c.Finished) > 0 {
		// The results are stored before the offset passes their line, because the line is not read
		// again after that. Reading it twice does no harm.
		effects = append(effects, settleCalls{c.Finished, e.offset})
	} else {
		s.offset = e.offset
	}
	if c.Cost > 0 {
		s.cost, s.costAt = s.cost+c.Cost, e.at
	}
	if c.LiveChanged {
		if becameItem(s.live) {
			s.nextLive = c.Live
		} else {
			s.live = c.Live
		}
	}
	started := c.SessionStarted && !s.memo.Begun
	s.memo.Begun = s.memo.Begun || c.SessionStarted

	before, next := s.row, s.row.State
	switch {
	case c.TurnEnded:
		next = session.UserTurn
		s.memo.Ended = cmp.Or(s.memo.Sending, s.memo.Ended)
		s.memo.Sending, s.turnEnded, s.memo.CutOff = "", true, false
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
	// The stored offset advances even if nothing visible changed.
	effects = append(effects, wakeWriter{})
	// A tab that receives a stored item also reads the live block.
	if c.LiveChanged && !changed && !becameItem(c.Live) {
		effects = append(effects, notifyLive{})
	}
	// If the store fails, this is repeated at the end of each turn.
	if s.memo.Begun && !s.startStored && (started || c.TurnEnded) {
		effects = append(effects, storeStart{})
	}
	if c.TurnEnded || e.earlyInterrupt && s.interruptDue() {
		effects = append(effects, wakeSender{})
	}
	return s, effects
}

// sample returns the state after a sample of the process tree, and the effects.
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
	var effects []effect
	if s.blocked = u.Blocked; s.blocked != "" {
		s.lastActivity = e.at // the CLI is not at fault
	}
	if s.blocked == launch.JournalFull && !s.toldWaiting {
		s.toldWaiting = true
		effects = append(effects, noteWaiting{})
	}
	s.tree, s.samples = t, addSample(s.samples, Sample{At: e.at, Memory: u.Memory, CPU: cores})

	judged := usageJudged{memory: u.Memory, cpu: cores}
	judged.stuck, judged.reason = s.judge(e)
	if (judged.stuck != "" || judged.reason != "") && s.stopReason == "" {
		return s, append(effects, judgeUnlessAsking{judged})
	}
	s, more := transition(s, judged)
	return s, append(effects, more...)
}

// becameItem reports whether a block has ended and is an item now.
func becameItem(l *session.Live) bool { return l != nil && l.Key != "" }

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

// with returns a copy of a map with one entry more; without returns a copy with one entry less.
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
