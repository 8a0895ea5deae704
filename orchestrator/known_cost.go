package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
)

// learnCost asks a CLI that was resumed what it counts already. One that cannot say
// counts from nothing.
func (p *process) learnCost(ctx context.Context, client *claude.Client) {
	p.mu.Lock()
	known := p.transcript.Cost != nil
	p.mu.Unlock()
	if known {
		return
	}
	var begun int64
	if p.leftover != nil || p.plan.Resume != "" {
		ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
		defer cancel()
		usd, err := client.SessionCost(ctx)
		if err != nil {
			p.log.DebugContext(ctx, "Claude does not say what it has cost so far", "error", err)
		}
		begun = transcript.Micros(usd)
	}
	p.mu.Lock()
	if p.transcript.Cost == nil {
		p.transcript.Cost = &begun
	}
	p.mu.Unlock()
}
