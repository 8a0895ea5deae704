package orchestrator

import (
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// memoryStep, in bytes, and cpuStep, in cores, are the smallest changes that are sent to tabs.
const (
	memoryStep = 4 << 20
	cpuStep    = 0.05
	// busyCPU is the use of processors, in cores, above which a sample counts as activity.
	busyCPU = 0.02
	// maxGrowth is the growth in bytes above which the memory of a silent process is reported to
	// people, if it has also doubled.
	maxGrowth = 512 << 20
)

// ignoredAnswer returns a sentence about an answer that did not reach the CLI within timeout, or
// after which the CLI showed no activity for that long: no line, no processor time, no child. It
// returns "" if there is none.
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

// judge returns why the process seems to be stuck, and why it must end; both are "" for a
// healthy process.
func (s state) judge(e sampled) (stuck, reason string) {
	if s.journalLost {
		return statement.New("journal_deleted"), ""
	}
	switch s.blocked {
	case "":
	case launch.JournalFull:
		return statement.New("journal_full", "machine", e.machine), ""
	default:
		parts := strings.Split(s.blocked, ": ") // the last part is the cause
		return statement.New("output_blocked", "machine", e.machine, "detail", parts[len(parts)-1]), ""
	}
	now, l := e.at, e.limits
	if ignored := s.ignoredAnswer(now, l.PickUp); ignored != "" {
		return ignored, ""
	}
	if e.questions > 0 {
		return "", ""
	}
	// turnSince may be a time of an earlier server, whose clock may differ. So an adopted process ends
	// only after it was also idle that long under this server.
	exceeds := func(since time.Time, limit time.Duration) bool { return limit > 0 && now.Sub(since) >= limit }
	switch {
	case exceeds(s.row.StartedAt, l.Absolute):
		return "", statement.New("time_limit", "limit", l.Absolute.Seconds())
	case s.row.State == session.UserTurn && exceeds(s.turnSince, l.Idle) && exceeds(s.drivenSince, l.Idle):
		return "", statement.New("idle", "limit", l.Idle.Seconds())
	case s.working() && exceeds(s.lastActivity, l.Silent):
		return "", statement.New("silent", "limit", l.Silent.Seconds())
	case s.working() && exceeds(s.lastActivity, l.Stuck):
		return s.stuckReason(e), ""
	case s.working() && exceeds(s.lastOutput(), l.Stuck) && s.tree.memory > s.tree.memoryBefore+maxGrowth && s.tree.memory > 2*s.tree.memoryBefore:
		return statement.New("stuck_growing", "since", clockText(s.lastOutput()), "before", s.tree.memoryBefore>>20, "after", s.tree.memory>>20), ""
	}
	return "", ""
}

// lastOutput returns the time of Claude's last output, or of the start of the turn if that is
// later.
func (s state) lastOutput() time.Time {
	if s.lastMessage.After(s.turnSince) {
		return s.lastMessage
	}
	return s.turnSince
}

// stuckReason returns a sentence about what a turn without activity seems to wait for.
func (s state) stuckReason(e sampled) string {
	if e.tool != "" {
		return statement.New("stuck_tool", "tool", e.tool, "since", clockText(e.toolSince))
	}
	switch {
	case e.retrying:
		return statement.New("stuck_retrying", "since", clockText(s.lastOutput()))
	case s.memo.TurnStarted:
		return statement.New("stuck_api", "since", clockText(s.lastOutput()))
	}
	return statement.New("stuck_silent", "since", clockText(s.turnSince))
}

// clockText formats a time for a sentence.
func clockText(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
