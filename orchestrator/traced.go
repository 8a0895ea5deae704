package orchestrator

import (
	"errors"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/tracing"
)

// traced measures the two ends of a request's way: the line that asks, and the line that answers.
type traced struct {
	claude.Transport
	tracer *tracing.Tracer
	// stored returns the id of the row of a request of the CLI.
	stored func(askerRequestID string) string

	read time.Time // when the last line came; belongs to the read loop

	mu    sync.Mutex
	asked map[string]time.Time // when the lines of the requests without an answer came, by the CLI's ids
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

// Send writes a line to the CLI. With the answer to a request, its trace is complete.
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
