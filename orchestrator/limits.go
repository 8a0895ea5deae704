package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// Limits bound what a process may take. A process with a request that waits for
// a person is exempt from Idle, Silent and Absolute: people take their time.
// Zero means no limit.
type Limits struct {
	Start    time.Duration // from spawn to the answer to initialize
	Reply    time.Duration // for an answer of the CLI to interrupt and the like
	Idle     time.Duration // waiting for a person's message
	Silent   time.Duration // working without any sign of life
	Absolute time.Duration // since its start
	Stuck    time.Duration // working without a sign of life until people are told
	PickUp   time.Duration // for the CLI to act on an answer until people are told
	Sample   time.Duration // between two looks at the process table
}

// DefaultLimits are generous: a limit is there to free what was forgotten, and
// an ended session goes on with the next message.
func DefaultLimits() Limits {
	return Limits{
		Start: 60 * time.Second, Reply: 10 * time.Second,
		Idle: time.Hour, Silent: 2 * time.Hour, Absolute: 24 * time.Hour,
		Stuck: 2 * time.Minute, PickUp: 30 * time.Second, Sample: 2 * time.Second,
	}
}

// What must change before a measurement is worth a new state for every tab.
const (
	memoryStep = 4 << 20
	cpuStep    = 0.05
	// busyCPU is how much processor time in one sample counts as a sign of life.
	busyCPU = 0.02
	// grown is how much more memory a process must take that says nothing, and at
	// least twice as much as before, until people are told.
	grown = 512 << 20
)

// measure takes in a sample of the process tree and applies the limits.
func (p *process) measure(ctx context.Context, now time.Time, u usage, limits Limits) {
	p.mu.Lock()
	s := p.state
	if s.State == session.Dead || s.PID == 0 {
		p.mu.Unlock()
		return
	}
	cores := 0.0
	if took := now.Sub(p.lastSample).Seconds(); !p.lastSample.IsZero() && took > 0 {
		cores = max(0, (u.cpu-p.lastCPU).Seconds()/took)
	}
	p.lastCPU, p.lastSample = u.cpu, now
	if cores > busyCPU || u.processes != p.tree {
		p.busy = now
	}
	if u.processes > p.tree {
		p.spawned = now
	}
	p.tree = u.processes
	if p.memorySince.IsZero() || p.heard.After(p.memorySince) {
		p.memorySince, p.memoryThen = now, u.memory
	}
	p.memoryNow = u.memory
	p.keepSample(Sample{At: now, Memory: u.memory, CPU: cores})
	stuck, reason := p.judge(now, limits)
	stopping := p.stopReason != ""
	p.mu.Unlock()

	if (stuck != "" || reason != "") && !stopping && p.asksOverMCP(ctx) {
		stuck, reason = "", "" // it waits for a person, too
	}
	if reason != "" && !stopping {
		p.kill(false, false, reason)
	}
	if differs(float64(s.Memory), float64(u.memory), memoryStep) || differs(s.CPU, cores, cpuStep) || stuck != s.Stuck {
		p.update(func(s *session.ProcessState) {
			s.Memory, s.CPU, s.Stuck = u.memory, cores, stuck
		})
	}
}

// ignoredAnswer names an answer that the CLI took and then gave no sign of life:
// no line, no processor time, no child since. It is called with the lock held.
func (p *process) ignoredAnswer(now time.Time, patience time.Duration) string {
	for _, a := range p.memo.Answered {
		if patience > 0 && now.Sub(a.At) >= patience && !p.heard.After(a.At) && !p.spawned.After(a.At) && now.Sub(p.busy) >= patience {
			return fmt.Sprintf("Claude has not picked up the answer to %s, which was delivered at %s. If this lasts, kill the session and resume it.",
				a.ToolName, clock(a.At))
		}
	}
	return ""
}

func differs(a, b, step float64) bool { return a-b >= step || b-a >= step }

// judge says what the process seems to be stuck at, and why it must end; both
// are "" for a process in good order. It is called with the lock held.
func (p *process) judge(now time.Time, l Limits) (stuck, reason string) {
	if ignored := p.ignoredAnswer(now, l.PickUp); ignored != "" {
		return ignored, ""
	}
	if len(p.questions) > 0 {
		return "", ""
	}
	over := func(since time.Time, limit time.Duration) bool { return limit > 0 && now.Sub(since) >= limit }
	switch {
	case over(p.state.StartedAt, l.Absolute):
		return "", fmt.Sprintf("It ran for %s, the longest a process may.", words(l.Absolute))
	case p.state.State == session.UserTurn && over(p.turnSince, l.Idle):
		return "", fmt.Sprintf("Nobody wrote for %s.", words(l.Idle))
	case p.state.State == session.AssistantTurn && over(p.busy, l.Silent):
		return "", fmt.Sprintf("It gave no sign of life for %s.", words(l.Silent))
	case p.state.State == session.AssistantTurn && over(p.busy, l.Stuck):
		return p.waitsFor(), ""
	case p.state.State == session.AssistantTurn && over(p.lastWord(), l.Stuck) && p.memoryNow > p.memoryThen+grown && p.memoryNow > 2*p.memoryThen:
		return fmt.Sprintf("Claude has said nothing since %s, and with all it runs it has grown from %d MB to %d MB.",
			clock(p.lastWord()), p.memoryThen>>20, p.memoryNow>>20), ""
	}
	return "", ""
}

// lastWord is when it said something last, or should have begun to.
func (p *process) lastWord() time.Time {
	if p.heard.After(p.turnSince) {
		return p.heard
	}
	return p.turnSince
}

// waitsFor says what a turn that gives no sign of life seems to wait for. It is
// called with the lock held.
func (p *process) waitsFor() string {
	if tool, since, runs := p.transcript.OldestCall(p.answeredAt); runs {
		return fmt.Sprintf("The tool %s has been running since %s without a sign of life.", tool, clock(since))
	}
	switch {
	case p.transcript.Retrying():
		return fmt.Sprintf("Waiting for the Claude API since %s: it was not to be reached, and Claude tries again.", clock(p.lastWord()))
	case p.memo.Spoke:
		return fmt.Sprintf("Waiting for the Claude API, which has sent nothing since %s.", clock(p.lastWord()))
	}
	return fmt.Sprintf("Claude has been silent since %s, when its turn began.", clock(p.turnSince))
}

// answeredAt returns when the request of a call was answered. It is called with the
// lock held.
func (p *process) answeredAt(toolUseID string) (time.Time, bool) {
	a, asked := p.memo.Answered[toolUseID]
	return a.At, asked
}

// clock says a time as people read it in a sentence.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }

// words says a duration as people do.
func words(d time.Duration) string {
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

// working reports whether a turn is going on.
func (p *process) working() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.State == session.AssistantTurn
}

// sample measures every process tree and applies the limits.
func (o *Orchestrator) sample(ctx context.Context, now time.Time) {
	running := o.all()
	if len(running) == 0 {
		return
	}
	table, err := readTable()
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the process table", "error", err)
		return
	}
	roots := make([]int, 0, len(running))
	for _, p := range running {
		if pid := p.pid(); pid != 0 {
			roots = append(roots, pid)
		}
	}
	sums := sumTrees(table, roots)
	for _, p := range running {
		p.measure(ctx, now, sums[p.pid()], o.rules().Limits)
	}
}
