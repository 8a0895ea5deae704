package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// overMCP reports whether a request came from a CLI of ours by MCP: it waits in a
// tool call of the CLI, and its asker is the door.
func overMCP(r pending.Request) bool { return r.Source == pending.SourceMCP }

// ofTheCLI reports whether a request came from a CLI's control protocol, so that
// the orchestrator is its asker.
func ofTheCLI(r pending.Request) bool {
	return r.Source == pending.SourceClaude || r.Source == pending.SourceElicitation
}

// undelivered are the answers to the CLI of a session that it never heard.
func (o *Orchestrator) undelivered(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UndeliveredRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// unconsumed are the answers to the CLI of a session on which it was not seen to
// act.
func (o *Orchestrator) unconsumed(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UnconsumedRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// asksOverMCP reports whether a tool call of the process waits for a person.
func (p *process) asksOverMCP(ctx context.Context) bool {
	if p.o.o.MCP == nil {
		return false
	}
	open, err := p.o.o.Registry.Open(ctx, p.session.SessionID)
	if err != nil {
		return true // who cannot be looked at is not ended for it
	}
	return slices.ContainsFunc(open, func(r pending.Request) bool { return overMCP(r) && r.Status == pending.Open })
}

// noteFinishedCall takes note that a tool call has its result, on the read loop. A question
// that it asked over MCP has nobody who waits any more: the CLI cuts calls off by
// itself and tells nobody.
func (p *process) noteFinishedCall(c transcript.FinishedCall) {
	if p.o.o.MCP == nil || !strings.HasPrefix(c.ToolName, launch.MCPToolPrefix) {
		return
	}
	p.mu.Lock()
	p.finishedCalls = append(p.finishedCalls, c)
	p.mu.Unlock()
	wake(p.callsFinished)
}

// withdrawFinished withdraws what was asked by calls that are over, until ctx ends with the
// CLI.
func (p *process) withdrawFinished(ctx context.Context) {
	for {
		select {
		case <-p.callsFinished:
		case <-ctx.Done():
			return // what is left goes with the process
		}
		p.mu.Lock()
		cuts := p.finishedCalls
		p.finishedCalls = nil
		p.mu.Unlock()
		p.withdrawMCP(ctx, stoppedWaiting, func(r pending.Request) bool { return callOf(cuts, r) >= 0 })
		p.recordMCP(ctx, cuts)
	}
}

// callOf is the place of the call that asked, -1 when it is none of them.
func callOf(calls []transcript.FinishedCall, r pending.Request) int {
	return slices.IndexFunc(calls, func(c transcript.FinishedCall) bool { return c.ToolUseID == r.AskerToolUseID })
}

// recordMCP writes the records of what was asked over MCP and has ended, whose
// asker knows no transcript, and notes that the answers to calls that are over
// were heard.
func (p *process) recordMCP(ctx context.Context, over []transcript.FinishedCall) {
	ended, err := p.o.o.Store.UnrecordedRequests(ctx, p.session.SessionID)
	if err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot read the requests without a record", "error", err)
	}
	for _, r := range ended {
		if !overMCP(r) {
			continue
		}
		i, agentID := callOf(over, r), ""
		if i >= 0 {
			agentID = over[i].AgentID
		}
		p.addItems(session.ResolvedItem(r, agentID, r.Resolution.At))
		if i < 0 || r.Resolution.Answer == nil {
			continue
		}
		if err := p.o.o.Store.SetDelivery(ctx, r.RequestID, pending.Consumed); err != nil && ctx.Err() == nil {
			p.log.ErrorContext(ctx, "cannot note that an answer was consumed", "error", err)
		}
	}
}

// withdrawMCP withdraws what the process asked over MCP, as far as it is meant.
func (p *process) withdrawMCP(ctx context.Context, reason string, meant func(pending.Request) bool) {
	err := p.retryStore(ctx, "the end of questions over MCP", func() error {
		return p.o.withdrawMCP(ctx, p.session.SessionID, reason, meant)
	})
	if err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot withdraw what was asked over MCP", "error", err)
	}
}

func (o *Orchestrator) withdrawMCP(ctx context.Context, sessionID, reason string, meant func(pending.Request) bool) error {
	if o.o.MCP == nil {
		return nil
	}
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !overMCP(r) || !meant(r) {
			continue
		}
		if err := o.o.Registry.Withdraw(ctx, r.RequestID, reason); err != nil && !errors.Is(err, pending.ErrNotOpen) {
			return err
		}
	}
	return nil
}

// endMCP withdraws all that a session asked over MCP: with its process died who
// waited, and nobody can give the answer to the next.
func (o *Orchestrator) endMCP(ctx context.Context, sessionID, reason string) error {
	return o.withdrawMCP(ctx, sessionID, reason, func(pending.Request) bool { return true })
}

// settleMCP withdraws what an adopted process asked over MCP in calls that were
// over before this server heard of them. A question of the last moment is left
// alone: its call may be about to come out.
func (p *process) settleMCP(ctx context.Context, asked time.Time) {
	const lastMoment = 5 * time.Second
	p.mu.Lock()
	running := map[string]bool{}
	for id := range p.transcript.RunningCalls() {
		running[id] = true
	}
	p.mu.Unlock()
	p.withdrawMCP(ctx, stoppedWaiting, func(r pending.Request) bool {
		return r.AskerToolUseID != "" && !running[r.AskerToolUseID] && r.CreatedAt.Before(asked.Add(-lastMoment))
	})
}
