package transcript

import (
	"bytes"
	"math"

	"github.com/sayso-dev/sayso/claude"
)

// roundedCost bounds the difference between the total that a CLI reports and the one that it
// counts, in millionths of a dollar: from half a dollar on, a CLI rounds to cents.
const roundedCost = 10_000

// turnCost returns the cost since the previous result, in millionths of a dollar, and whether
// it is known. A result has the total of the process. Some CLIs include the cost of earlier
// processes in the total, and /clear may reset it.
func (b *Builder) turnCost(m *claude.Result) (cost int64, known bool) {
	if m.TotalCostUSD == 0 && !bytes.Contains(m.Raw, []byte(`"total_cost_usd"`)) {
		return 0, false // this result has no cost
	}
	total, before := Micros(m.TotalCostUSD), b.Cost
	b.Cost = &total
	switch {
	case before == nil:
		return 0, false // without the previous total, the difference is unknown
	case total >= *before:
		return total - *before, true
	case *before-total > roundedCost:
		return total, true
	}
	return 0, true
}

// Micros converts dollars to millionths of a dollar. It returns 0 for negative amounts.
func Micros(usd float64) int64 {
	const limit = 1e12
	if !(usd > 0) {
		return 0
	}
	return int64(math.Round(min(usd*1e6, limit)))
}
