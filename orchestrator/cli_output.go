package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/grants"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
)

// handleMessage handles one message of the CLI, on its read loop.
func (p *process) handleMessage(m claude.Message) {
	p.awaitCapacity()
	change, effects := p.apply(m)
	switch m := m.(type) {
	case *claude.User: // only these contain results
		for _, call := range change.Finished {
			p.countGrantUse(call, m)
		}
	case *claude.CommandsChanged:
		p.replaceCommands(m.Commands)
	}
	p.perform(context.Background(), effects)
}

// apply applies a message to the transcript and the state. It releases p.mu even after a panic.
func (p *process) apply(m claude.Message) (transcript.Change, []effect) {
	e := messageReceived{at: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if conn, ok := p.conn.(launch.JournaledConn); ok {
		e.offset = conn.Offset()
	}
	p.transcript.Ending = cmp.Or(p.state.stopReason, p.state.row.KillReason) // an earlier server started to end it
	e.change = p.transcript.Apply(m, e.at)
	e.earlyInterrupt = p.transcript.Interrupt != nil && p.transcript.Interrupt.Early
	p.queueItems(e.change.Items)
	return e.change, p.transition(e)
}

// handleInitialized stores what the CLI offers. It runs on the read loop, so that it cannot
// overwrite a change that the CLI reports right after.
func (p *process) handleInitialized(r *claude.InitializeResponse) {
	if launch.HasAccount(r.Account) {
		p.setCatalog(catalogOf(r))
	}
}

// handleUnreadable handles a line of the CLI that is no message, or that this server failed to
// handle.
func (p *process) handleUnreadable(line []byte, err error) {
	var panicked *claude.PanicError
	switch {
	case errors.Is(err, claude.ErrReusedAnswered):
		p.requests.noteLine(line, "id_reused_closed")
	case errors.Is(err, claude.ErrReused):
		p.requests.noteLine(line, "id_reused_open")
	case errors.As(err, &panicked):
		p.requests.noteLine(line, "line_failed")
		p.log.Error("cannot process a line of Claude's output", "error", err, "bytes", len(line), "stack", string(panicked.Stack))
		return
	}
	text := string(line[:min(len(line), 200)])
	const worthLogging = 10 // lines of one process, so that a flood does not fill the log
	if p.noise.add(text) <= worthLogging {
		p.log.Warn("Claude printed a line that is not a message", "line", text, "error", err)
	}
}

// handleRequest records a request of the CLI, on its read loop.
func (p *process) handleRequest(requestID, subtype string, body json.RawMessage) {
	if subtype != "elicitation" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.elicitations.add(requestID, body, p.transcript.RunningCalls())
}

// handleWithdrawn handles the cancel of a request, on the read loop. An answer that is sent while the
// cancel is on its way comes too late: Claude ignores it. A cancel that an adopted process printed
// before it is initialized is remembered for reconcile.
func (p *process) handleWithdrawn(requestID string) {
	if p.leftover != nil && !p.snapshot().initialized {
		p.requests.noteWithdrawn(requestID)
	}
	id := pending.NewRequestID(p.session.SessionID, p.processID, requestID)
	p.mu.Lock()
	late, isAnswered := p.state.memo.Answered.ofRequest(id)
	var effects []effect
	if isAnswered {
		effects = p.transition(answerDropped{late.ToolUseID})
		p.queueItems(p.transcript.UndoAllow(late.ToolUseID))
	}
	p.mu.Unlock()
	if isAnswered {
		wake(p.dirty)
		p.perform(context.Background(), effects)
		p.requests.setDelivery(context.Background(), id, pending.Dropped)
	}
}

// countGrantUse counts a call that ran without a question as a use of the grants that cover it.
func (p *process) countGrantUse(call transcript.FinishedCall, m *claude.User) {
	list := p.o.inForce.Load()
	if list == nil || call.ToolName == "" || call.Failed {
		return
	}
	s := p.snapshot()
	_, asked := s.memo.Answered.find(call.ToolUseID)
	_, asking := s.inFlight[call.ToolUseID]
	if asked || asking || s.row.PermissionMode == bypass {
		return
	}
	ctx := context.Background()
	home, err := p.o.runner.Home(ctx)
	var used []string
	if err == nil {
		used, err = p.grantProcess().Used(ctx, *list, grants.Call{
			ToolUseID: call.ToolUseID, Tool: call.ToolName, Input: call.Input, Mode: s.row.PermissionMode, Home: home,
		}, m)
	}
	if err != nil {
		p.log.Warn("cannot count the uses of grants", "error", err)
	}
	p.uses.add(used)
}
