package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/session"
)

// RunnerDescription holds what only the server that drives a runner knows about it.
type RunnerDescription struct {
	Name    string          `json:"name"`
	Roots   workspace.Roots `json:"roots"`
	Catalog *Catalog        `json:"catalog"` // see [Orchestrator.LastCatalog]
}

// DescribeRunner implements [Sessions].
func (o *Orchestrator) DescribeRunner(ctx context.Context, runnerID string) (RunnerDescription, error) {
	if err := o.checkRunner(ctx, session.Session{RunnerID: runnerID}); err != nil {
		return RunnerDescription{}, err
	}
	return RunnerDescription{Name: o.machineName(ctx), Roots: o.rules().Roots, Catalog: o.LastCatalog()}, nil
}
