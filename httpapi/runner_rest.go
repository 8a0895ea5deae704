package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

type runnerStore interface {
	Runners(ctx context.Context) ([]session.Runner, error)
	SetRunnerPaused(ctx context.Context, runnerID string, paused bool, by pending.Actor) error
}

// runnerHandlers serves runners to admins.
type runnerHandlers struct {
	store    runnerStore
	runnerID string // the one inside this server
}

func (s *runnerHandlers) getRunners(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.store.Runners(r.Context())
	if err != nil {
		return err
	}
	list := wire.RunnerList{Runners: make([]wire.Runner, 0, len(all))}
	for _, one := range all {
		list.Runners = append(list.Runners, wire.Runner{
			RunnerID: one.RunnerID, Name: one.Name, State: s.stateOf(one), Paused: one.Paused, Release: one.Release,
			Epoch: one.Epoch, SeenAt: wire.SecondsOrNull(one.SeenAt),
		})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// stateOf compares the time of the database with that of this server, which may be a little off.
func (s *runnerHandlers) stateOf(r session.Runner) wire.RunnerState {
	switch {
	case !r.RemovedAt.IsZero():
		return wire.RunnerRemoved
	case r.RunnerID == s.runnerID || time.Now().Before(r.ExpiresAt):
		return wire.RunnerReady
	}
	return wire.RunnerUnreachable
}

// patchRunner pauses or resumes a runner. Its sessions continue.
func (s *runnerHandlers) patchRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.RunnerChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := s.store.SetRunnerPaused(context.WithoutCancel(r.Context()), r.PathValue("id"), body.Paused, access.Actor(who)); err != nil {
		return err
	}
	return s.getRunners(w, r, who)
}
