package orchestrator

import (
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// What must change before a measurement is worth a new state for every tab.
const (
	memoryStep = 4 << 20
	cpuStep    = 0.05
	// busyCPU is how much processor time in one sample counts as a sign of life.
	busyCPU = 0.02
	// maxGrowth is how much more memory a process must take that says nothing, and at
	// least twice as much as before, until people are told.
	maxGrowth = 512 << 20
)

// ignoredAnswer names an answer that did not reach the CLI, or that it took and then gave
// no sign of life: no line, no processor time, no child since.
func (s state) ignoredAnswer(now time.Time, timeout time.Duration) string {
	for _, a := range s.memo.Answered {
		if _, sending := s.inFlight[a.ToolUseID]; sending && timeout > 0 && now.Sub(a.At) >= timeout {
			return statement.New("answer_not_delivered", "tool", a.ToolName, "at", clockText(a.At))
		}
		if timeout > 0 && now.Sub(a.At) >= timeout && !s.lastMessage.After(a.At) && !s.tree.grewAt.After(a.At) && now.Sub(s.lastActivity) >= timeout {
			return statement.New("stuck_answer", "tool", a.ToolName, "at", clockText(a.At))
		}
	}
	return ""
}

func differs(a, b, step float64) bool { return a-b >= step || b-a >= step }

// judge returns what the process seems to be stuck at, and why it must end; both are ""
// for a process in good order.
func (s state) judge(e sampled) (stuck, reason string) {
	if s.journalLost {
		return statement.New("journal_deleted"), ""
	}
	now, l := e.at, e.limits
	if ignored := s.ignoredAnswer(now, l.PickUp); ignored != "" {
		return ignored, ""
	}
	if e.questions > 0 {
		return "", ""
	}
	exceeds := func(since time.Time, limit time.Duration) bool { return limit > 0 && now.Sub(since) >= limit }
	switch {
	case exceeds(s.row.StartedAt, l.Absolute):
		return "", statement.New("time_limit", "limit", l.Absolute.Seconds())
	case s.row.State == session.UserTurn && exceeds(s.turnSince, l.Idle):
		return "", statement.New("idle", "limit", l.Idle.Seconds())
	case s.working() && exceeds(s.lastActivity, l.Silent):
		return "", statement.New("silent", "limit", l.Silent.Seconds())
	case s.working() && exceeds(s.lastActivity, l.Stuck):
		return s.waitsFor(e), ""
	case s.working() && exceeds(s.lastWord(), l.Stuck) && s.tree.memory > s.tree.memoryBefore+maxGrowth && s.tree.memory > 2*s.tree.memoryBefore:
		return statement.New("stuck_growing", "since", clockText(s.lastWord()), "before", s.tree.memoryBefore>>20, "after", s.tree.memory>>20), ""
	}
	return "", ""
}

// lastWord returns when Claude printed something last, or should have begun to.
func (s state) lastWord() time.Time {
	if s.lastMessage.After(s.turnSince) {
		return s.lastMessage
	}
	return s.turnSince
}

// waitsFor says what a turn without a sign of life seems to wait for.
func (s state) waitsFor(e sampled) string {
	if e.tool != "" {
		return statement.New("stuck_tool", "tool", e.tool, "since", clockText(e.toolSince))
	}
	switch {
	case e.retrying:
		return statement.New("stuck_retrying", "since", clockText(s.lastWord()))
	case s.memo.TurnStarted:
		return statement.New("stuck_api", "since", clockText(s.lastWord()))
	}
	return statement.New("stuck_silent", "since", clockText(s.turnSince))
}

// clockText says a time as people read it in a sentence.
func clockText(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
