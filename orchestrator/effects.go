package orchestrator

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// handle applies an event to the state and performs the effects.
func (p *process) handle(ctx context.Context, e event) {
	p.mu.Lock()
	effects := p.transition(e)
	p.mu.Unlock()
	p.perform(ctx, effects)
}

// handleAndRead is like handle, and also returns the state right after the event.
func (p *process) handleAndRead(ctx context.Context, e event) state {
	p.mu.Lock()
	effects := p.transition(e)
	after := p.state
	p.mu.Unlock()
	p.perform(ctx, effects)
	return after
}

// transition applies an event to the state. The caller holds p.mu, and performs the effects after
// releasing it. Inlining would put copies of the state into the caller's frame; see is.
//
//go:noinline
func (p *process) transition(e event) (effects []effect) {
	p.state, effects = transition(p.state, e)
	return effects
}

// perform performs the effects of an event.
func (p *process) perform(ctx context.Context, effects []effect) {
	for _, f := range effects {
		switch f := f.(type) {
		case wakeWriter:
			wake(p.dirty)
		case wakeSender:
			wake(p.feed)
		case notify:
			p.o.o.Notifier.Notify(p.session.SessionID)
		case notifyLive:
			p.o.o.Notifier.NotifyLive(p.session.SessionID)
		case settleCalls:
			for _, call := range f.calls {
				p.handle(ctx, resultReceived{call.ToolUseID})
				for _, requestID := range p.elicitations.finishCall(call.ToolUseID) {
					p.requests.setDelivery(ctx, requestID, pending.Consumed)
				}
				p.mcpCalls.finish(call)
			}
			p.handle(ctx, lineSettled{f.offset})
		case storeStart:
			begun := true
			if _, err := p.o.o.Store.UpdateSession(ctx, p.session.SessionID, session.Patch{Begun: &begun}); err != nil {
				p.log.Error("cannot store that the session has started", "error", err)
			} else {
				p.handle(ctx, startWasStored{})
			}
		case noteWaiting:
			p.addItems(transcript.Note("waited:"+p.processID, "warning", statement.New("journal_was_full", "machine", p.o.o.NodeID), time.Now()))
		case storeDelivery:
			p.requests.setDelivery(ctx, f.requestID, f.delivery)
		case endProcess:
			p.kill(false, false, f.reason)
		case judgeUnlessAsking:
			if p.mcpCalls.asking(ctx) { // then the process waits for a person
				f.judged.stuck, f.judged.reason = "", ""
			}
			p.handle(ctx, f.judged)
		case logIllegalMove:
			p.log.Error("rejected an invalid state change", "from", f.from, "to", f.to)
		}
	}
}

// kill makes the process end, and does not wait for that. A second call with force shortens the
// first.
func (p *process) kill(force, byPerson bool, reason string) {
	p.handle(context.Background(), endRequested{reason: reason, byPerson: byPerson})
	for {
		select {
		case p.kills <- killRequest{force: force, reason: reason}:
			return
		default:
			if !force {
				return // another request is waiting
			}
			// A waiting graceful request is replaced by this one.
			select {
			case <-p.kills:
			default:
			}
		}
	}
}
