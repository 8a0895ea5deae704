package pending

import (
	"slices"
	"time"
)

// Wait is a period in which a request of a session waited for a person.
type Wait struct {
	SessionID string
	InProject string // id of the session's project, "" for none
	From      time.Time
	To        time.Time // zero while it is open
}

// WaitedBySession returns how long each session waited between two times. Overlapping waits
// count once.
func WaitedBySession(waits []Wait, since, now time.Time) map[string]time.Duration {
	slices.SortFunc(waits, func(a, b Wait) int { return a.From.Compare(b.From) })
	sum, until := map[string]time.Duration{}, map[string]time.Time{}
	for _, w := range waits {
		from, to := w.From, w.To
		if to.IsZero() || to.After(now) {
			to = now
		}
		if from.Before(since) {
			from = since
		}
		if before := until[w.SessionID]; from.Before(before) {
			from = before
		}
		if to.After(from) {
			sum[w.SessionID] += to.Sub(from)
			until[w.SessionID] = to
		}
	}
	return sum
}
