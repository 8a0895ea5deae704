package orchestrator

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// mcpCalls ends questions that tool calls of one process asked over MCP and no longer wait for. The
// CLI cuts off such calls without notice.
type mcpCalls struct {
	o         *node
	log       *slog.Logger
	sessionID string
	addItems  func(...session.Item) // to the transcript
	requests  *requests
	signal    chan struct{} // finished is not empty; capacity 1, never closed

	mu       sync.Mutex
	finished []transcript.FinishedCall // calls that may have asked
}

// asking reports whether a tool call waits for a person. It reads the store, and reports true if
// that fails.
func (c *mcpCalls) asking(ctx context.Context) bool {
	if c.o.o.MCP == nil {
		return false
	}
	open, err := c.o.o.Registry.Open(ctx, c.sessionID)
	if err != nil {
		return true // so that the process is not ended
	}
	return slices.ContainsFunc(open, func(r pending.Request) bool { return isOverMCP(r) && r.Status == pending.Open })
}

// finish records that a tool call has its result. It runs on the read loop.
func (c *mcpCalls) finish(call transcript.FinishedCall) {
	if c.o.o.MCP == nil || !strings.HasPrefix(call.ToolName, launch.MCPToolPrefix) {
		return
	}
	c.mu.Lock()
	c.finished = append(c.finished, call)
	c.mu.Unlock()
	wake(c.signal)
}

// run withdraws what finished calls asked, until ctx ends with the CLI.
func (c *mcpCalls) run(ctx context.Context) {
	for {
		select {
		case <-c.signal:
		case <-ctx.Done():
			return // the rest ends with the process
		}
		c.mu.Lock()
		finished := c.finished
		c.finished = nil
		c.mu.Unlock()
		c.withdraw(ctx, func(r pending.Request) bool { return callOf(finished, r) >= 0 })
		c.record(ctx, finished)
	}
}

// callOf returns the index of the call that asked, or -1.
func callOf(calls []transcript.FinishedCall, r pending.Request) int {
	return slices.IndexFunc(calls, func(c transcript.FinishedCall) bool { return c.ToolUseID == r.AskerToolUseID })
}

// record writes the ends of questions to the transcript, which their asker cannot do, and records
// that finished calls have received their answers.
func (c *mcpCalls) record(ctx context.Context, finished []transcript.FinishedCall) {
	ended, err := c.o.o.Store.UnrecordedRequests(ctx, c.sessionID)
	if err != nil && ctx.Err() == nil {
		c.log.ErrorContext(ctx, "cannot read requests that are not yet in the transcript", "error", err)
	}
	for _, r := range ended {
		if !isOverMCP(r) {
			continue
		}
		i, agentID := callOf(finished, r), ""
		if i >= 0 {
			agentID = finished[i].AgentID
		}
		c.addItems(session.ResolvedItem(r, agentID, r.Resolution.At))
		if i < 0 || r.Resolution.Answer == nil {
			continue
		}
		c.requests.setDelivery(ctx, r.RequestID, pending.Consumed)
	}
}

// withdraw withdraws the open questions that match.
func (c *mcpCalls) withdraw(ctx context.Context, match func(pending.Request) bool) {
	err := retryStore(ctx, c.log, "withdrawn questions over MCP", func() error {
		return c.o.withdrawMCP(ctx, c.sessionID, statement.New("asker_stopped_waiting"), match)
	})
	if err != nil && ctx.Err() == nil {
		c.log.ErrorContext(ctx, "cannot withdraw questions asked over MCP", "error", err)
	}
}

// settle withdraws what an adopted process asked in calls that ended before this server attached.
// It leaves alone questions from the last moment before asked, because their calls may be about to
// appear.
func (c *mcpCalls) settle(ctx context.Context, running map[string]bool, asked time.Time) {
	const lastMoment = 5 * time.Second
	c.withdraw(ctx, func(r pending.Request) bool {
		return r.AskerToolUseID != "" && !running[r.AskerToolUseID] && r.CreatedAt.Before(asked.Add(-lastMoment))
	})
}
