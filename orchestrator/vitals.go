package orchestrator

import (
	"context"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/procfs"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// Vitals are the details of a running process besides its state.
type Vitals struct {
	ProcessID string
	HeardAt   time.Time // time of its last output; zero before the first
	Samples   []Sample  // of the last five minutes, the oldest first
	Adopted   bool      // an earlier server started it
	Reached   bool      // its shim answers
	Recovered string    // what the database has forgotten of it, a sentence; else ""
	// The rest is for bug reports.
	Resumed      bool
	Questions    int      // waiting for a person
	Calls        []string // tools that run or wait, by name
	Unreadable   int      // lines that were no message
	Offset       int64    // processed part of the journal, in bytes
	Unwritten    int      // bytes of transcript that are not stored yet
	RulesRevoked int      // that the CLI may still apply
	Stderr       string   // the last lines, without what looks like a secret
}

// Vitals returns the details of a session's process; false when none runs here.
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
	for _, toolName := range p.transcript.RunningCalls() {
		v.Calls = append(v.Calls, toolName)
	}
	conn := p.conn
	p.mu.Unlock()
	v.Unreadable, _ = p.noise.seen()
	if conn != nil {
		v.Stderr = lastLines(o.o.CLI.Redact(conn.Stderr()), stderrLines)
	}
	return v, true
}

// stderrLines bounds the lines of stderr in a bug report.
const stderrLines = 20

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Live returns the block that a running session streams.
func (o *Orchestrator) Live(sessionID string) (session.Live, bool) {
	if p := o.find(sessionID); p != nil {
		if live := p.snapshot().live; live != nil {
			return *live, true
		}
	}
	return session.Live{}, false
}

// measure handles a sample of the process tree and applies the limits.
func (p *process) measure(ctx context.Context, now time.Time, u procfs.Usage, limits Limits) {
	questions := p.questions.count() // before the lock: see endQuestion
	p.mu.Lock()
	e := sampled{at: now, usage: u, limits: limits, questions: questions, retrying: p.transcript.Retrying()}
	e.tool, e.toolSince, _ = p.transcript.OldestCall(func(toolUseID string) (time.Time, bool) {
		a, asked := p.state.memo.Answered.find(toolUseID)
		return a.At, asked
	})
	effects := p.transition(e)
	p.mu.Unlock()
	p.perform(ctx, effects)
}

// journalInterval is how often the files of processes are checked.
const journalInterval = 500 * time.Millisecond

// checkJournals finds the processes that no other server could continue with.
func (o *Orchestrator) checkJournals(ctx context.Context) {
	for _, p := range o.all() {
		p.mu.Lock()
		conn, ok := p.conn.(launch.JournaledConn)
		known := p.state.journalLost || p.state.row.State == session.Dead
		p.mu.Unlock()
		if !ok || known || conn.IsIntact() {
			continue
		}
		select {
		case <-conn.Done(): // it is being removed
		default:
			p.log.ErrorContext(ctx, "the files of a running process were deleted; it goes on without them")
			p.handle(ctx, journalLost{})
		}
	}
}

// readTable is replaced by tests that need a growing process tree.
var readTable = procfs.Table

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
		if pid := p.snapshot().row.PID; pid != 0 {
			roots = append(roots, pid)
		}
	}
	sums := procfs.Sum(table, roots)
	for _, p := range running {
		p.measure(ctx, now, sums[p.snapshot().row.PID], o.rules().Limits)
	}
}
