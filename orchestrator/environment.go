package orchestrator

import (
	"context"
	"os"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Environment describes what a person needs to know before starting a session.
type Environment struct {
	ClaudePath     string // "" when no CLI was found
	ClaudeVersion  string
	SignedIn       bool   // the CLI has an account or an API key
	Problem        string // a message when sessions cannot run, else ""
	DemoAvailable  bool
	WorkspaceRoots []string
	Home           string
}

// Environment returns what a person needs to know before starting a session.
func (o *Orchestrator) Environment(ctx context.Context) Environment {
	e := EnvironmentOf(ctx, o.o.CLI)
	e.WorkspaceRoots = o.rules().Roots
	e.DemoAvailable = o.o.Demo != nil && e.ClaudePath != "" // the demo is the real CLI, too
	return e
}

// EnvironmentOf returns the part of an [Environment] about a CLI: all but the demo and the
// workspace roots.
func EnvironmentOf(ctx context.Context, cli *launch.CLI) Environment {
	var e Environment
	e.Home, _ = os.UserHomeDir() // "" when there is none
	if cli.RunAs != nil {
		e.Home = cli.RunAs.Home
	}
	path, err := cli.Find()
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	e.ClaudePath = path
	e.ClaudeVersion, e.Problem = cli.Version(ctx, path)
	e.SignedIn = e.Problem == "" && cli.SignedIn(ctx, path)
	if e.Problem == "" && !e.SignedIn {
		e.Problem = launch.NotSignedIn(path)
	}
	return e
}
