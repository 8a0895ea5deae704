package transcript

import (
	"bytes"
	"math"

	"github.com/sayso-dev/sayso/claude"
)

// roundedCost bounds how far the total that a CLI reports may be from what it counts,
// in millionths of a dollar: from half a dollar on it rounds to cents.
const roundedCost = 10_000

// turnCost returns the cost since the result before, in millionths of a dollar, and
// whether it is known. A result has the total of the process; some CLIs start with the
// cost of the processes before them, and /clear may start it again.
func (b *Builder) turnCost(m *claude.Result) (cost int64, known bool) {
	if m.TotalCostUSD == 0 && !bytes.Contains(m.Raw, []byte(`"total_cost_usd"`)) {
		return 0, false // not in this result
	}
	total, before := Micros(m.TotalCostUSD), b.Cost
	b.Cost = &total
	switch {
	case before == nil:
		return 0, false // the new part cannot be known
	case total >= *before:
		return total - *before, true
	case *before-total > roundedCost:
		return total, true
	}
	return 0, true
}

// Micros converts dollars to millionths of a dollar. It never returns less than 0.
func Micros(usd float64) int64 {
	const limit = 1e12
	if !(usd > 0) {
		return 0
	}
	return int64(math.Round(min(usd*1e6, limit)))
}
