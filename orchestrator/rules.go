package orchestrator

// Rules are what may change while an [Orchestrator] runs.
type Rules struct {
	Roots Roots
	// Limits, but for Sample, which is read once.
	Limits Limits
	// ResumeOnAnswer: a person's answer to an orphaned request resumes its session.
	ResumeOnAnswer bool
}

// SetRules changes the rules for all that is decided from now on.
func (o *Orchestrator) SetRules(r Rules) { o.changed.Store(&r) }

func (o *Orchestrator) rules() *Rules { return o.changed.Load() }
