package orchestrator

import (
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// Rules are what may change while an [Orchestrator] runs.
type Rules struct {
	Roots workspace.Roots
	// Limits, but for Sample, which is read once.
	Limits Limits
	// EachPerson are the limits of a person for whom no other is set, in all their
	// sessions together.
	EachPerson project.Limits
	// ResumeOnAnswer: a person's answer to an orphaned request resumes its session.
	ResumeOnAnswer bool
	// AsksIn reports whether sessions in a folder, absolute and with symlinks
	// resolved, ask over MCP; nil when all do. It holds for processes that are
	// started from then on.
	AsksIn func(folder string) bool
}

func (r *Rules) asksIn(folder string) bool { return r.AsksIn == nil || r.AsksIn(folder) }

// SetRules changes the rules for all that is decided from now on.
func (o *Orchestrator) SetRules(r Rules) {
	o.changed.Store(&r)
	o.LimitsChanged()
}

func (o *Orchestrator) rules() *Rules { return o.changed.Load() }
