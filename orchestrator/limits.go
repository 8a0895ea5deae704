package orchestrator

import (
	"fmt"
	"time"

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

// ignoredAnswer names an answer that the CLI took and then gave no sign of life:
// no line, no processor time, no child since.
func (s state) ignoredAnswer(now time.Time, timeout time.Duration) string {
	for _, a := range s.memo.Answered {
		if timeout > 0 && now.Sub(a.At) >= timeout && !s.lastMessage.After(a.At) && !s.tree.grewAt.After(a.At) && now.Sub(s.lastActivity) >= timeout {
			return fmt.Sprintf("Claude has not picked up the answer to %s, which was delivered at %s. If this lasts, kill the session and resume it.",
				a.ToolName, clockText(a.At))
		}
	}
	return ""
}

func differs(a, b, step float64) bool { return a-b >= step || b-a >= step }

// judge returns what the process seems to be stuck at, and why it must end; both are ""
// for a process in good order.
func (s state) judge(e sampled) (stuck, reason string) {
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
		return "", fmt.Sprintf("It ran for %s, the longest a process may.", durationText(l.Absolute))
	case s.row.State == session.UserTurn && exceeds(s.turnSince, l.Idle):
		return "", fmt.Sprintf("Nobody wrote for %s.", durationText(l.Idle))
	case s.working() && exceeds(s.lastActivity, l.Silent):
		return "", fmt.Sprintf("It gave no sign of life for %s.", durationText(l.Silent))
	case s.working() && exceeds(s.lastActivity, l.Stuck):
		return s.waitsFor(e), ""
	case s.working() && exceeds(s.lastWord(), l.Stuck) && s.tree.memory > s.tree.memoryBefore+maxGrowth && s.tree.memory > 2*s.tree.memoryBefore:
		return fmt.Sprintf("Claude has said nothing since %s, and with all it runs it has grown from %d MB to %d MB.",
			clockText(s.lastWord()), s.tree.memoryBefore>>20, s.tree.memory>>20), ""
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
		return fmt.Sprintf("The tool %s has been running since %s without a sign of life.", e.tool, clockText(e.toolSince))
	}
	switch {
	case e.retrying:
		return fmt.Sprintf("Waiting for the Claude API since %s: it was not to be reached, and Claude tries again.", clockText(s.lastWord()))
	case s.memo.TurnStarted:
		return fmt.Sprintf("Waiting for the Claude API, which has sent nothing since %s.", clockText(s.lastWord()))
	}
	return fmt.Sprintf("Claude has been silent since %s, when its turn began.", clockText(s.turnSince))
}

// clockText says a time as people read it in a sentence.
func clockText(t time.Time) string { return t.UTC().Format("15:04:05 MST") }

// durationText says a duration as people do.
func durationText(d time.Duration) string {
	count := func(n int, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return count(int(d/time.Hour), "hour")
	case d >= time.Minute && d%time.Minute == 0:
		return count(int(d/time.Minute), "minute")
	}
	return count(int(d.Round(time.Second)/time.Second), "second")
}
