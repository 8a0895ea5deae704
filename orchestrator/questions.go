package orchestrator

import (
	"maps"
	"slices"
	"sync"
)

// question is one request of a process that waits for a person.
type question struct {
	done chan struct{} // closed once the CLI has its answer or will get none
	// abandoned is closed once the CLI no longer waits; nil for requests that the CLI itself
	// withdraws.
	abandoned <-chan struct{}
}

// questions holds the open questions of one process. It is safe for concurrent use.
type questions struct {
	mu   sync.Mutex
	open map[*question]string // the value is who interrupted the turn that asked, "" for nobody
}

// begin adds a question.
func (qs *questions) begin(abandoned <-chan struct{}) *question {
	q := &question{done: make(chan struct{}), abandoned: abandoned}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == nil {
		qs.open = map[*question]string{}
	}
	qs.open[q] = ""
	return q
}

// end removes a question once the CLI has its answer or will get none.
func (qs *questions) end(q *question) {
	qs.mu.Lock()
	delete(qs.open, q)
	qs.mu.Unlock()
	close(q.done)
}

// interrupt records who interrupted the turn that asked the open questions.
func (qs *questions) interrupt(by string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.open {
		qs.open[q] = by
	}
}

// interruptedBy returns who interrupted the turn that asked, "" for nobody.
func (qs *questions) interruptedBy(q *question) string {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.open[q]
}

func (qs *questions) list() []*question {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return slices.Collect(maps.Keys(qs.open))
}

func (qs *questions) count() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return len(qs.open)
}

// questionTool is the tool whose permission request is a question.
const questionTool = "AskUserQuestion"
