package orchestrator

import (
	"slices"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ended is how a CLI ended.
type ended struct {
	stop, reason string // why it was ended; why it died by itself
	at           time.Time
}

// of returns a stored state after this end. If a person ended the process, it asks nothing
// any more; other questions stay answerable.
func (e ended) of(stored session.ProcessState, byPerson bool) session.ProcessState {
	now := stored
	now.State, now.StateChangedAt = session.Dead, e.at
	now.PID, now.Memory, now.CPU, now.Stuck, now.Throttled = 0, 0, 0, "", ""
	if e.stop != "" {
		now.KillReason = e.stop
	} else {
		now.Error = e.reason
	}
	now.Requests = nil
	if !byPerson {
		now.Requests = slices.Clone(stored.Requests)
		for i := range now.Requests {
			now.Requests[i].Status = pending.Orphaned
		}
	}
	// Storing the end takes at least one more change, so two different states never have the
	// same version.
	now.Version++
	return now
}
