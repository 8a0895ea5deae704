// Package tracing measures the steps of a request between the line in which Claude asks and the
// line that answers it. It does not depend on a trace format; cmd/sayso exports the spans.
package tracing

import "time"

// Step names a part of the processing of a request.
type Step string

// The steps, in order. Those from Store to Commit are within Ask, and Commit is within Answer.
const (
	Request Step = "request"     // the whole: from the line that asks to the line that answers
	Decode  Step = "decode"      // from the arrival of the line until the request is decoded
	Ask     Step = "ask"         // until there is a decision
	Store   Step = "store"       // storing the request
	Notify  Step = "notify"      // notifying the parts of the server that the session has changed
	Frame   Step = "frame"       // from storing the request until the frame is queued for the tabs
	Answer  Step = "answer"      // a person's answer: validation and commit
	Commit  Step = "commit"      // storing the answer
	Write   Step = "write stdin" // until the shim has written the answer to Claude's stdin
	Deliver Step = "deliver"     // storing the delivery of the answer
)

// Span is a finished step.
type Span struct {
	RequestID  string
	Step       Step
	Start, End time.Time
	Err        error // why the step failed
}

// Tracer records finished steps. A nil Tracer records nothing and costs nothing.
type Tracer struct {
	record func(Span)
}

// New returns a tracer that calls record for every step, possibly concurrently. record must not
// block.
func New(record func(Span)) *Tracer { return &Tracer{record} }

// Begin returns the current time as the start of a step, or the zero time if t is nil.
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
