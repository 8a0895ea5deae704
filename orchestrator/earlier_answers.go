package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// openQuestions reports whether a process that died left questions, answered or not,
// that the next one may ask again, and whether Claude waits for any of them: what
// it may have heard it has perhaps done.
func (o *Orchestrator) openQuestions(ctx context.Context, sessionID string) (any, waits bool, err error) {
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil || len(open) > 0 {
		return len(open) > 0, len(open) > 0, err
	}
	given, err := o.unconsumed(ctx, sessionID)
	for _, r := range given {
		waits = waits || r.Delivery == pending.Queued
	}
	return len(given) > 0, waits, err
}

// owesEarlier is openQuestions for a process that runs: what it asked itself does not
// count. requests are those of the session that can be answered.
func (o *Orchestrator) owesEarlier(ctx context.Context, id launch.ID, requests []pending.Request) (bool, error) {
	given, err := o.unconsumed(ctx, id.SessionID)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(requests, func(r pending.Request) bool { return r.Status == pending.Orphaned }) ||
		slices.ContainsFunc(given, func(r pending.Request) bool { return r.ProcessID != id.ProcessID }), nil
}

// carryAnswer looks whether a person has answered this very question to the process
// before this one, which died without hearing it. Then the answer is carried
// over, and nobody is asked again. An answer to the same tool with another input
// is shown beside the new question, and so is one that the process may have heard
// before it died: what was allowed once must not run twice without another word.
// carried is false when a person must be asked.
//
// Only the turn that was cut off is asked again, so this holds until its end.
func (p *process) carryAnswer(ctx context.Context, req *pending.Request) (settled pending.Request, carried bool, err error) {
	if !p.snapshot().earlierQuestions {
		return pending.Request{}, false, nil
	}
	answers, err := p.earlierAnswers(ctx)
	if err != nil {
		return pending.Request{}, false, err
	}
	var similar *pending.Request
	for i, old := range answers {
		if old.ToolName != req.ToolName || old.RequestType != req.RequestType || old.Source != req.Source {
			continue
		}
		if old.Delivery != pending.Queued || !transcript.SameInput(old.ToolInput, req.ToolInput) {
			similar = &answers[i]
			continue
		}
		settled, carried, err := p.o.o.Registry.Carry(ctx, *req, old.RequestID)
		if err != nil || carried {
			return settled, carried, err
		}
	}
	if similar != nil {
		a := similar.Resolution
		req.Earlier = &pending.Earlier{
			RequestID: similar.RequestID, ToolInput: similar.ToolInput, Status: similar.Status,
			Summary: a.Answer.Summary(*similar), By: a.Actor.Name, At: a.At, UpdatedInput: a.Answer.UpdatedInput,
		}
	}
	// The same question that nobody has answered yet: the new one takes its place.
	open, err := p.o.o.Registry.Open(ctx, p.session.SessionID)
	if err != nil {
		return pending.Request{}, false, err
	}
	for _, old := range open {
		if old.Status == pending.Orphaned && old.ProcessID != p.processID && old.ToolName == req.ToolName && old.Source == req.Source && transcript.SameInput(old.ToolInput, req.ToolInput) {
			if p.withdraw(ctx, old, "Claude asked this again after it was resumed.") {
				return p.carryAnswer(ctx, req) // it was answered in this very moment
			}
			break
		}
	}
	return pending.Request{}, false, nil
}

// earlierAnswers lists what people answered and a former process was not seen to
// act on; of those that are Delivered it may have heard.
func (p *process) earlierAnswers(ctx context.Context) ([]pending.Request, error) {
	given, err := p.o.unconsumed(ctx, p.session.SessionID)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: answers to the former process: %w", err)
	}
	former := given[:0]
	for _, r := range given {
		if r.ProcessID != p.processID && r.Resolution != nil && r.Resolution.Answer != nil {
			former = append(former, r)
		}
	}
	return former, nil
}

// endEarlierQuestions lets go of what a former process asked, once the turn that was cut
// off is over: what was not asked again by then never will be.
func (p *process) endEarlierQuestions(ctx context.Context) {
	if !p.snapshot().earlierQuestions {
		return
	}
	p.handle(ctx, earlierQuestions{false})
	for more := true; more; {
		var all bool
		if more, all = p.dropEarlier(ctx); !all {
			p.handle(ctx, earlierQuestions{true}) // the end of the next turn tries again
		}
	}
}

// dropEarlier lets go of what is there now. It reports whether there is more, an
// answer that came in this very moment, and whether the store took all of it.
func (p *process) dropEarlier(ctx context.Context) (more, all bool) {
	all = true
	answers, err := p.earlierAnswers(ctx)
	if err != nil {
		all = false
		p.log.ErrorContext(ctx, "cannot read the answers to the former process", "error", err)
	}
	for _, old := range answers {
		if old.Delivery == pending.Queued { // else it was recorded when it was given
			p.addItems(session.ResolvedItem(old, p.speaker(old.AgentID), old.Resolution.At))
		}
		if err := p.o.o.Store.SetDelivery(ctx, old.RequestID, pending.Dropped); err != nil {
			p.log.ErrorContext(ctx, "cannot drop an answer that nobody asked for again", "error", err)
			all = false
		}
	}
	open, err := p.o.o.Registry.Open(ctx, p.session.SessionID)
	if err != nil {
		p.log.ErrorContext(ctx, "cannot read the orphaned questions", "error", err)
		all = false
	}
	for _, old := range open {
		if old.Status != pending.Orphaned || old.ProcessID == p.processID {
			continue
		}
		if p.withdraw(ctx, old, "Claude went on without asking this again.") {
			more = true
		}
	}
	return more, all
}

// settleDelivered notes which answers a dead process may have heard, although the
// server that gave them did not live to note it. Those are not carried.
func (p *process) settleDelivered(ctx context.Context) error {
	var wrote func(requestID string) (bool, error)
	if p.conn == nil && p.leftover != nil {
		wrote = p.leftover.Wrote
	} else if conn, ok := p.conn.(launch.JournaledConn); ok {
		wrote = conn.Wrote
	} else {
		return nil // without a journal only this server wrote to it, and has noted that
	}
	given, err := p.o.undelivered(ctx, p.session.SessionID)
	if err != nil {
		return err
	}
	for _, r := range given {
		if r.ProcessID != p.processID {
			continue
		}
		heard, err := wrote(r.AskerRequestID)
		if err != nil {
			p.log.ErrorContext(ctx, "cannot read what was written to a dead process", "error", err)
			heard = true // the careful side: a person decides
		}
		if !heard {
			continue
		}
		if err := p.o.o.Store.SetDelivery(ctx, r.RequestID, pending.Delivered); err != nil {
			return err
		}
	}
	return nil
}
