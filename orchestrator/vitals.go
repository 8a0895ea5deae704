package orchestrator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// Vitals are the details of a running process besides its state.
type Vitals struct {
	ProcessID string
	HeardAt   time.Time // time of its last output; zero before the first
	Samples   []Sample  // of the last five minutes, the oldest first
	Adopted   bool      // an earlier server started it
	Reached   bool      // false until the shim of an adopted process answers
	Recovered string    // a sentence about what the database has forgotten of it, else ""
	// At the end of its last turn: the cost so far in US dollars, nil if unknown; the tokens of
	// context in use, and the size of the context window, 0 if unknown.
	CostUSD                      *float64
	ContextTokens, ContextWindow int
	// The rest is for bug reports.
	Resumed      bool
	Questions    int      // waiting for a person
	Calls        []string // tools that run or wait, by name
	Unreadable   int      // lines that were no message
	Offset       int64    // processed part of the journal, in bytes
	Unwritten    int      // bytes of transcript that are not stored yet
	RulesRevoked int      // revoked grants that the CLI may still apply
}

// Vitals returns the details of a session's process, and false if no process of it runs here.
func (o *Orchestrator) Vitals(sessionID string) (Vitals, bool) {
	p := o.find(sessionID)
	if p == nil {
		return Vitals{}, false
	}
	p.mu.Lock()
	v := Vitals{
		ProcessID: p.processID, HeardAt: p.state.lastMessage, Samples: p.state.samples, Adopted: p.leftover != nil, Reached: p.conn != nil || p.leftover == nil,
		Resumed: p.plan.Resume != "", Questions: p.questions.count(), Offset: p.state.offset, Unwritten: p.itemBytes, Recovered: p.state.recovered, RulesRevoked: p.revoked.len(),
	}
	v.ContextTokens, v.ContextWindow = p.transcript.ContextTokens, p.transcript.ContextWindow
	if cost := p.transcript.Cost; cost != nil && !p.transcript.Free {
		v.CostUSD = new(float64(*cost) / 1e6)
	}
	for _, toolName := range p.transcript.RunningCalls() {
		v.Calls = append(v.Calls, toolName)
	}
	p.mu.Unlock()
	v.Unreadable, _ = p.noise.seen()
	return v, true
}

// Stderr returns the last lines that a session's process printed on stderr, without anything that
// looks like a secret; "" if no process of the session runs here. It blocks on the runner.
func (o *Orchestrator) Stderr(ctx context.Context, sessionID string) string {
	p := o.find(sessionID)
	if p == nil {
		return ""
	}
	return lastLines(p.stderr(ctx, p.connection()), stderrLines)
}

// stderr returns the end of what the CLI printed on stderr, "" when that is unknown.
func (p *process) stderr(ctx context.Context, conn launch.Conn) string {
	if conn == nil {
		return ""
	}
	text, err := conn.Stderr(ctx)
	if err != nil {
		p.log.WarnContext(ctx, "cannot read Claude's stderr", "error", err)
	}
	return text
}

// stderrLines bounds the lines of stderr in a bug report.
const stderrLines = 20

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Live returns the block that Claude is writing in a session; false if there is none here.
func (o *Orchestrator) Live(sessionID string) (session.Live, bool) {
	if p := o.find(sessionID); p != nil {
		if live := p.snapshot().live; live != nil {
			return *live, true
		}
	}
	return session.Live{}, false
}

// measure applies a sample of the process tree and the limits to the process.
func (p *process) measure(ctx context.Context, now time.Time, u launch.Vitals, limits Limits) {
	questions := p.questions.count() // before the lock: see endQuestion
	p.mu.Lock()
	e := sampled{at: now, usage: u, limits: limits, machine: p.o.o.NodeID, questions: questions, retrying: p.transcript.Retrying()}
	e.tool, e.toolSince, _ = p.transcript.OldestCall(func(toolUseID string) (time.Time, bool) {
		a, asked := p.state.memo.Answered.find(toolUseID)
		return a.At, asked
	})
	effects := p.transition(e)
	p.mu.Unlock()
	p.perform(ctx, effects)
}

// Stalled returns the number of processes that wait because their output cannot be stored.
func (o *Orchestrator) Stalled() (n int) {
	for _, p := range o.all() {
		if p.is(func(s state) bool { return s.blocked != "" }) {
			n++
		}
	}
	return n
}

// journalInterval is how often the files of processes are checked.
const journalInterval = 500 * time.Millisecond

// checkJournals finds the processes whose files are damaged, so that no other server could adopt
// them.
func (o *Orchestrator) checkJournals(ctx context.Context) {
	damaged, err := o.o.Launcher.Damaged(ctx)
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot check the files of processes", "error", err)
	}
	for _, p := range o.all() {
		if slices.Contains(damaged, p.processID) && p.is(func(s state) bool { return !s.journalLost && s.row.State != session.Dead }) {
			p.log.ErrorContext(ctx, "the files of a running process were deleted; it continues without them")
			p.handle(ctx, journalLost{})
		}
	}
}

// sample measures every process tree and applies the limits.
func (o *Orchestrator) sample(ctx context.Context, now time.Time) {
	vitals, err := o.o.Launcher.Vitals(ctx)
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot measure the processes", "error", err)
		return
	}
	byID := make(map[string]launch.Vitals, len(vitals))
	for _, v := range vitals {
		byID[v.ProcessID] = v
	}
	for _, p := range o.all() {
		p.measure(ctx, now, byID[p.processID], o.rules().Limits)
	}
}
