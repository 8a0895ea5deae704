package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Environment describes what a person needs to know before starting a session.
type Environment struct {
	launch.Installation
	DemoAvailable  bool
	WorkspaceRoots []string
}

// Environment returns what a person needs to know before starting a session.
func (o *Orchestrator) Environment(ctx context.Context) Environment {
	var e Environment
	var err error
	if e.Installation, err = o.runner.Installation(ctx); err != nil {
		e.Problem = err.Error()
	}
	e.WorkspaceRoots = o.rules().Roots
	e.DemoAvailable = o.o.Demo != nil && e.ClaudePath != "" // the demo is the real CLI, too
	return e
}
