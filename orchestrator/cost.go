package orchestrator

import (
	"bytes"
	"context"
	"math"

	"github.com/sayso-dev/sayso/claude"
)

// roundedCost is how far the total that a CLI tells of itself may be from what it
// counts, in millionths of a dollar: from half a dollar on it rounds to cents.
const roundedCost = 10_000

// spend returns what was spent since the result before, in millionths of a dollar, and
// whether that is known. The total in a result is of the process; some CLIs begin with what the conversation
// cost their predecessors, and /clear may begin it anew.
func (s *scribe) spend(m *claude.Result) (spent int64, known bool) {
	if m.TotalCostUSD == 0 && !bytes.Contains(m.Raw, []byte(`"total_cost_usd"`)) {
		return 0, false // a result that says nothing of it
	}
	total, before := micros(m.TotalCostUSD), s.Cost
	s.Cost = &total
	switch {
	case before == nil:
		return 0, false // what of it is new cannot be known
	case total >= *before:
		return total - *before, true
	case *before-total > roundedCost:
		return total, true
	}
	return 0, true
}

func micros(usd float64) int64 {
	const most = 1e12
	if !(usd > 0) {
		return 0
	}
	return int64(math.Round(min(usd*1e6, most)))
}

// learnCost asks a CLI that was resumed what it counts already. One that cannot say
// counts from nothing.
func (p *process) learnCost(ctx context.Context, client *claude.Client) {
	p.mu.Lock()
	known := p.script.Cost != nil
	p.mu.Unlock()
	if known {
		return
	}
	var begun int64
	if p.left != nil || p.plan.Resume != "" {
		ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
		defer cancel()
		usd, err := client.SessionCost(ctx)
		if err != nil {
			p.log.DebugContext(ctx, "Claude does not say what it has cost so far", "error", err)
		}
		begun = micros(usd)
	}
	p.mu.Lock()
	if p.script.Cost == nil {
		p.script.Cost = &begun
	}
	p.mu.Unlock()
}
