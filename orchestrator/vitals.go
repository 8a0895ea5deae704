package orchestrator

import (
	"slices"
	"strings"
	"time"
)

// Sample is what a process and all it runs took at one moment.
type Sample struct {
	At     time.Time
	Memory uint64  // bytes resident
	CPU    float64 // cores in use since the sample before
}

// The ring of samples is kept here and not in each tab, so that a new tab sees
// the last minutes at once, and all see the same.
const (
	sampleEvery = 5 * time.Second
	samplesKept = 60 // five minutes
)

// addSample returns a copy of samples with one more, unless the last is too recent.
func addSample(samples []Sample, s Sample) []Sample {
	if n := len(samples); n > 0 && s.At.Sub(samples[n-1].At) < sampleEvery {
		return samples
	}
	return append(slices.Clone(samples[max(0, len(samples)-samplesKept+1):]), s)
}

// Vitals are what is known of a running process besides its state.
type Vitals struct {
	ProcessID string
	HeardAt   time.Time // when it said something last; zero when it did not yet
	Samples   []Sample  // of the last five minutes, the oldest first
	Adopted   bool      // a former server started it
	Reached   bool      // its keeper answers
	// The rest is for a report of a fault.
	Resumed      bool
	Questions    int      // that wait for a person
	Calls        []string // tools that run or wait, by name
	Unreadable   int      // lines that were no message
	Offset       int64    // of the journal that is taken in, in bytes
	Unwritten    int      // bytes of transcript that wait for the store
	RulesRevoked int      // that the CLI may still know
	Stderr       string   // its last lines, without what looks like a secret
}

// Vitals looks at the process of a session; false when none runs here.
func (o *Orchestrator) Vitals(sessionID string) (Vitals, bool) {
	p := o.process(sessionID)
	if p == nil {
		return Vitals{}, false
	}
	p.mu.Lock()
	v := Vitals{
		ProcessID: p.processID, HeardAt: p.state.lastMessage, Samples: p.state.samples, Adopted: p.leftover != nil, Reached: p.conn != nil || p.leftover == nil,
		Resumed: p.plan.Resume != "", Questions: len(p.questions), Unreadable: p.unreadable, Offset: p.state.offset, Unwritten: p.itemBytes, RulesRevoked: p.revoked.Len(),
	}
	for _, toolName := range p.transcript.RunningCalls() {
		v.Calls = append(v.Calls, toolName)
	}
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		v.Stderr = lastLines(o.o.CLI.Redact(conn.Stderr()), stderrLines)
	}
	return v, true
}

// stderrLines is how many of them a report of a fault holds.
const stderrLines = 20

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
