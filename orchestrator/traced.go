package orchestrator

import (
	"errors"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/tracing"
)

// traced is a transport that measures both ends of a request: the line that asks, and the line that
// answers.
type traced struct {
	claude.Transport
	tracer *tracing.Tracer
	// stored returns the id under which a request of the CLI is stored.
	stored func(askerRequestID string) string

	read time.Time // when the last line arrived; only the read loop uses it

	mu    sync.Mutex
	asked map[string]time.Time // when the unanswered requests arrived, by the CLI's ids
}

// Recv returns the next line of the CLI.
func (c *traced) Recv() ([]byte, error) {
	line, err := c.Transport.Recv()
	c.read = time.Now()
	return line, err
}

// decoded records that the last line is a request. It runs on the read loop.
func (c *traced) decoded(requestID, subtype string) {
	if subtype != "can_use_tool" && subtype != "elicitation" {
		return
	}
	c.mu.Lock()
	c.asked[requestID] = c.read
	c.mu.Unlock()
	c.tracer.End(c.stored(requestID), tracing.Decode, c.read, nil)
}

// withdrawn forgets a request that the CLI cancelled.
func (c *traced) withdrawn(requestID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, requestID)
}

// Send writes a line to the CLI. The answer to a request completes the trace of the request.
func (c *traced) Send(line []byte) error {
	start := time.Now()
	err := c.Transport.Send(line)
	requestID, isAnswer := claude.AnswerTo(line)
	if !isAnswer {
		return err
	}
	c.mu.Lock()
	began, known := c.asked[requestID]
	if err == nil || errors.Is(err, claude.ErrRepeated) {
		delete(c.asked, requestID)
	}
	c.mu.Unlock()
	if !known {
		return err
	}
	stored := c.stored(requestID)
	c.tracer.End(stored, tracing.Write, start, err)
	if err == nil {
		c.tracer.End(stored, tracing.Request, began, nil)
	}
	return err
}
