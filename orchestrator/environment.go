package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/internal/statement"
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
	if o.o.Runner != nil {
		e.Problem = nameMachine(o.machineName(ctx), e.Problem)
	}
	e.WorkspaceRoots = o.rules().Roots
	e.DemoAvailable = o.o.Demo != nil && e.ClaudePath != "" // the demo runs the real CLI, too
	return e
}

// machineName returns the current name of the runner.
func (o *node) machineName(ctx context.Context) string {
	if r, err := o.o.Store.Runner(ctx, o.o.RunnerID); err == nil {
		return r.Name
	}
	return o.o.NodeID
}

// nameMachine adds the name of the runner to a sentence about the sign-in of its CLI, for people who
// may use another server. It returns any other sentence unchanged.
func nameMachine(name, sentence string) string {
	if r := statement.Find(sentence); r != nil && r.Reason == "cli_signed_out" {
		return statement.New("cli_signed_out_there", "runner", name, "command", r.Params["command"])
	}
	return sentence
}
