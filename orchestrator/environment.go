package orchestrator

import (
	"context"
	"os"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Environment is what a person must know before starting a session.
type Environment struct {
	ClaudePath     string // "" when no CLI was found
	ClaudeVersion  string
	SignedIn       bool   // the CLI has an account or an API key
	Problem        string // a sentence when sessions cannot run, "" when they can
	DemoAvailable  bool
	WorkspaceRoots []string
	Home           string
}

// Environment returns what a person must know before starting a session.
func (o *Orchestrator) Environment(ctx context.Context) Environment {
	e := Environment{DemoAvailable: o.o.Demo != nil, WorkspaceRoots: o.rules().Roots}
	e.Home, _ = os.UserHomeDir() // "" when there is none
	if o.o.CLI.RunAs != nil {
		e.Home = o.o.CLI.RunAs.Home
	}
	path, err := o.o.CLI.Find()
	if err != nil {
		e.Problem = err.Error()
		e.DemoAvailable = false // the demo is the real CLI, too
		return e
	}
	e.ClaudePath = path
	e.ClaudeVersion, e.Problem = o.o.CLI.Version(ctx, path)
	e.SignedIn = e.Problem == "" && o.o.CLI.SignedIn(ctx, path)
	if e.Problem == "" && !e.SignedIn {
		e.Problem = launch.NotSignedIn(path)
	}
	return e
}
