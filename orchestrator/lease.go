package orchestrator

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/session"
)

// drives reports whether this Orchestrator drives a runner; "" is the runner inside the server. Only
// the runner itself knows that a process has ended, so processes of other runners are left alone.
func (o *node) drives(runnerID string) bool {
	return o.o.RunnerID != "" && (runnerID == "" || runnerID == o.o.RunnerID)
}

// leaseLost makes Run return, because a server with a newer lease drives the runner.
func (o *node) leaseLost() { wake(o.fenced) }

// checkPaused returns a [problem.Error] if the runner accepts no new sessions.
func (o *node) checkPaused(ctx context.Context) error {
	r, err := o.o.Store.Runner(ctx, o.o.RunnerID)
	switch {
	case errors.Is(err, session.ErrNoRunner): // removed from the database by hand
		return nil
	case err == nil && r.Paused:
		return problem.New("runner_paused", "runner", r.Name)
	}
	return err
}

// checkDraining returns a [problem.Error] if the runner starts no processes.
func (o *node) checkDraining(ctx context.Context) error {
	r, err := o.o.Store.Runner(ctx, o.o.RunnerID)
	switch {
	case errors.Is(err, session.ErrNoRunner): // removed from the database by hand
		return nil
	case err == nil && r.Draining:
		return problem.New("runner_draining", "runner", r.Name)
	}
	return err
}

// checkRunner returns a [problem.Error] if a session belongs to a runner that this Orchestrator
// does not drive.
func (o *node) checkRunner(ctx context.Context, s session.Session) error {
	if s.Kind != session.Ours || o.drives(s.RunnerID) {
		return nil
	}
	name := s.RunnerID
	if r, err := o.o.Store.Runner(ctx, s.RunnerID); err == nil {
		name = r.Name
	}
	return problem.For("session_id", "runner_unreachable", "runner", name)
}
