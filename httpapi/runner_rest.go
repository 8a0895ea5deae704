package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

type runnerStore interface {
	Runners(ctx context.Context) ([]session.Runner, error)
	SetRunnerPaused(ctx context.Context, runnerID string, paused bool, by pending.Actor) error
	CreateRunner(ctx context.Context, r session.Runner, tokenHash [sha256.Size]byte, by pending.Actor) error
	SetRunnerToken(ctx context.Context, runnerID string, tokenHash *[sha256.Size]byte, by pending.Actor) error
	RemoveRunner(ctx context.Context, runnerID string, by pending.Actor) (sessionIDs []string, err error)
}

// Runners are the runners on other hosts that are connected to this server.
type Runners interface {
	// NewToken returns a token that lets a runner in, and the hash of it that is stored.
	NewToken() (token string, hash [sha256.Size]byte)
	// Load returns what a runner uses, false if it is not ready here.
	Load(ctx context.Context, runnerID string) (wire.RunnerLoad, bool)
	// Recheck ends the connections of the runners whose token is no longer valid.
	Recheck(ctx context.Context)
}

// runnerHandlers serves runners to admins.
type runnerHandlers struct {
	store    runnerStore
	runners  Runners
	notifier session.Notifier
	runnerID string // the one inside this server
}

func (s *runnerHandlers) getRunners(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.store.Runners(r.Context())
	if err != nil {
		return err
	}
	list := wire.RunnerList{Runners: make([]wire.Runner, 0, len(all))}
	for _, one := range all {
		list.Runners = append(list.Runners, s.wireRunner(r.Context(), one))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *runnerHandlers) wireRunner(ctx context.Context, r session.Runner) wire.Runner {
	load, connected := s.runners.Load(ctx, r.RunnerID)
	w := wire.Runner{
		RunnerID: r.RunnerID, Name: r.Name, State: s.stateOf(r, connected), Paused: r.Paused, Release: r.Release,
		Epoch: r.Epoch, SeenAt: wire.SecondsOrNull(r.SeenAt), Remote: r.Remote, HasToken: r.HasToken,
		Labels: append([]string{}, r.Labels...), Roots: append([]string{}, r.Roots...), CLIs: []wire.RunnerCLI{},
		Capacity: wire.RunnerCapacity(r.Capacity), ClockSkew: r.ClockSkew.Seconds(),
	}
	for _, cli := range r.CLIs {
		w.CLIs = append(w.CLIs, wire.RunnerCLI(cli))
	}
	if connected {
		w.Load = &load
	}
	return w
}

// stateOf compares the time of the database with that of this server, which may be a little off.
func (s *runnerHandlers) stateOf(r session.Runner, connected bool) wire.RunnerState {
	switch {
	case !r.RemovedAt.IsZero():
		return wire.RunnerRemoved
	case connected, r.RunnerID == s.runnerID, time.Now().Before(r.ExpiresAt):
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

// maxRunnerName bounds the name of a runner, in bytes.
const maxRunnerName = 100

// postRunner creates a runner on another host and its first token.
func (s *runnerHandlers) postRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.RunnerCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	name := strings.TrimSpace(body.Name)
	if name == "" || len(name) > maxRunnerName || strings.ContainsFunc(name, unicode.IsControl) {
		return problem.For("name", "runner_name_invalid", "max", strconv.Itoa(maxRunnerName))
	}
	token, hash := s.runners.NewToken()
	made := session.Runner{RunnerID: uuid.NewString(), Name: name}
	err := s.store.CreateRunner(context.WithoutCancel(r.Context()), made, hash, access.Actor(who))
	if errors.Is(err, session.ErrRunnerExists) {
		return problem.For("name", "runner_name_taken")
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.RunnerToken{RunnerID: made.RunnerID, Token: token})
	return nil
}

// postRunnerToken replaces the token of a runner. The former one ends its connection.
func (s *runnerHandlers) postRunnerToken(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	token, hash := s.runners.NewToken()
	id, ctx := r.PathValue("id"), context.WithoutCancel(r.Context())
	if err := s.store.SetRunnerToken(ctx, id, &hash, access.Actor(who)); err != nil {
		return err
	}
	s.runners.Recheck(ctx)
	writeJSON(w, http.StatusCreated, wire.RunnerToken{RunnerID: id, Token: token})
	return nil
}

// deleteRunnerToken revokes the token of a runner, which cannot connect any more. Its processes
// continue.
func (s *runnerHandlers) deleteRunnerToken(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx := context.WithoutCancel(r.Context())
	if err := s.store.SetRunnerToken(ctx, r.PathValue("id"), nil, access.Actor(who)); err != nil {
		return err
	}
	s.runners.Recheck(ctx)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// deleteRunner removes a runner and archives its sessions.
func (s *runnerHandlers) deleteRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx := context.WithoutCancel(r.Context())
	archived, err := s.store.RemoveRunner(ctx, r.PathValue("id"), access.Actor(who))
	if err != nil {
		return err
	}
	s.runners.Recheck(ctx)
	for _, sessionID := range archived {
		s.notifier.Notify(sessionID)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
