// Package tracing measures the steps of a request between the line in which Claude asks and the
// line that answers it. It knows no format of traces; cmd/sayso sends them.
package tracing

import "time"

// Step names a part of a request's way.
type Step string

// The steps, in their order. Those from Store to Commit are within Ask, and Commit is within Answer.
const (
	Request Step = "request"     // the whole: from the line that asks to the line that answers
	Decode  Step = "decode"      // from the arrival of the line until it is known what it asks
	Ask     Step = "ask"         // until there is a decision
	Store   Step = "store"       // the row of the request
	Notify  Step = "notify"      // telling the parts of the server that the session changed
	Frame   Step = "frame"       // from the row until the frame is queued for the tabs
	Answer  Step = "answer"      // a person's answer: validation and commit
	Commit  Step = "commit"      // the row with the answer
	Write   Step = "write stdin" // until the shim has written the answer to Claude's stdin
	Deliver Step = "deliver"     // the row that says how far the answer is
)

// Span is a finished step.
type Span struct {
	RequestID  string
	Step       Step
	Start, End time.Time
	Err        error // why the step failed
}

// Tracer passes finished steps on. A nil Tracer measures nothing and costs nothing.
type Tracer struct {
	record func(Span)
}

// New returns a tracer that calls record for every step, also at the same time. record must not
// block.
func New(record func(Span)) *Tracer { return &Tracer{record} }

// Begin returns the time at which a step begins, the zero time without a tracer.
func (t *Tracer) Begin() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// End records a step that began at start.
func (t *Tracer) End(requestID string, step Step, start time.Time, err error) {
	if t != nil {
		t.record(Span{requestID, step, start, time.Now(), err})
	}
}
