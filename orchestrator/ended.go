package orchestrator

import (
	"slices"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ended describes how a CLI ended.
type ended struct {
	stop, reason string // why it was ended, "" if nobody ended it; why it died by itself
	at           time.Time
}

// of returns a stored state as it is after this end. The questions of the process stay
// answerable unless a person ended it.
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
	// Storing the end increments the version at least once more, so two different states never
	// have the same version.
	now.Version++
	return now
}
