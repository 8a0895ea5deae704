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
)

// handleMessage handles one message of the CLI, on its read loop.
func (p *process) handleMessage(m claude.Message) {
	p.awaitCapacity()
	e := messageReceived{at: time.Now()}
	p.mu.Lock()
	if conn, ok := p.conn.(launch.JournaledConn); ok {
		e.offset = conn.Offset()
	}
	p.transcript.Ending = cmp.Or(p.state.stopReason, p.state.row.KillReason) // an earlier server started to end it
	e.change = p.transcript.Apply(m, e.at)
	e.earlyInterrupt = p.transcript.Interrupt != nil && p.transcript.Interrupt.Early
	p.queueItems(e.change.Items)
	effects := p.transition(e)
	p.mu.Unlock()
	switch m := m.(type) {
	case *claude.User: // only these contain results
		for _, call := range e.change.Finished {
			p.countGrantUse(call, m)
		}
	case *claude.CommandsChanged:
		p.replaceCommands(m.Commands)
	}
	p.perform(context.Background(), effects)
}

// handleInitialized keeps what the CLI offers, on its read loop, so that a change which the CLI
// reports right after it is not overwritten.
func (p *process) handleInitialized(r *claude.InitializeResponse) {
	if launch.HasAccount(r.Account) {
		p.setCatalog(catalogOf(r))
	}
}

// handleUnreadable handles a line of the CLI that is no message.
func (p *process) handleUnreadable(line []byte, err error) {
	switch {
	case errors.Is(err, claude.ErrReusedAnswered):
		p.requests.noteReused(line, "id_reused_closed")
	case errors.Is(err, claude.ErrReused):
		p.requests.noteReused(line, "id_reused_open")
	}
	text := string(line[:min(len(line), 200)])
	const worthLogging = 10 // of one process, so that a flood does not fill the log
	if p.noise.add(text) <= worthLogging {
		p.log.Warn("Claude printed a line that is no message", "line", text, "error", err)
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

// handleWithdrawn records the requests that the CLI cancelled, on its read loop. They matter
// only for an adopted process that is not initialized yet.
func (p *process) handleWithdrawn(requestID string) {
	if p.leftover != nil && !p.snapshot().initialized {
		p.requests.noteWithdrawn(requestID)
	}
}

// countGrantUse counts a call that ran without asking for the grants that cover it.
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
