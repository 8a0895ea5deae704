package orchestrator

import (
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// Present returns the current form of a stored state: this server knows that a process has ended as
// soon as its CLI is gone, while the store may record that later. A process of a runner that this
// Orchestrator does not drive is unreachable; it is dead only if the store says so.
func (o *Orchestrator) Present(stored session.ProcessState) session.ProcessState {
	stored.Unreachable = stored.Kind == session.Ours && !o.drives(stored.RunnerID)
	if !stored.Running() {
		return stored
	}
	p := o.find(stored.SessionID)
	switch {
	case p == nil && o.unsettled.Load() && o.leftRunning(stored):
		return ended{stop: statement.New("server_stopped_claude"), at: stored.StateChangedAt}.of(stored, false)
	case p == nil || p.processID != stored.ProcessID:
		return stored
	}
	s := p.snapshot()
	if s.end == nil {
		return stored
	}
	return s.end.of(stored, s.endedByPerson)
}
