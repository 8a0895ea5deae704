package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

type runnerStore interface {
	Runners(ctx context.Context) ([]session.Runner, error)
	SetRunnerUse(ctx context.Context, runnerID string, use session.RunnerUse, by pending.Actor) error
	RenameRunner(ctx context.Context, runnerID, name string, by pending.Actor) (sessionIDs []string, err error)
	SetRunnerLabels(ctx context.Context, runnerID string, labels []string, by pending.Actor) error
	CreateRunner(ctx context.Context, r session.Runner, tokenHash [sha256.Size]byte, by pending.Actor) error
	SetRunnerToken(ctx context.Context, runnerID string, tokenHash *[sha256.Size]byte, by pending.Actor) error
	RemoveRunner(ctx context.Context, runnerID string, by pending.Actor) (sessionIDs []string, err error)
}

// machineDriver is what runnerHandlers needs from the orchestrator.
type machineDriver interface {
	Machines(ctx context.Context, fresh bool) ([]orchestrator.Machine, error)
}

// Runners are the runners on other hosts that are connected to this server.
type Runners interface {
	// NewToken returns a token with which a runner authenticates, and the hash to store.
	NewToken() (token string, hash [sha256.Size]byte)
	// Load returns the resources that a runner uses, or false if it is not ready.
	Load(ctx context.Context, runnerID string) (wire.RunnerLoad, bool)
	// Recheck ends the connections of the runners whose token is no longer valid.
	Recheck(ctx context.Context)
	// Changed announces a changed runner to tabs. It does not block.
	Changed(ctx context.Context, runnerID string)
}

// runnerHandlers serves runners: in full to admins, as machines to people who start sessions.
type runnerHandlers struct {
	store    runnerStore
	driver   machineDriver
	runners  Runners
	notifier session.Notifier
}

// getMachines lists the machines on which sessions can start, and asks each for its CLI.
func (s *runnerHandlers) getMachines(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.driver.Machines(r.Context(), true)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.MachineList{Machines: NewMachines(all)})
	return nil
}

// NewMachines converts machines.
func NewMachines(all []orchestrator.Machine) []wire.Machine {
	list := make([]wire.Machine, 0, len(all))
	for _, m := range all {
		one := wire.Machine{
			RunnerID: m.RunnerID, Name: m.Name, Here: m.Here, State: wire.RunnerReady, Paused: m.Paused, Draining: m.Draining,
			Labels: append([]string{}, m.Labels...), Processes: m.Running, MaxProcesses: m.Capacity.Processes,
			Problem: wire.OrNull(m.Problem), Reasons: statement.Reasons("problem", m.Problem),
		}
		if !m.Ready {
			one.State, one.SeenAt = wire.RunnerUnreachable, wire.SecondsOrNull(m.SeenAt)
		}
		list = append(list, one)
	}
	return list
}

func (s *runnerHandlers) getRunners(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.store.Runners(r.Context())
	if err != nil {
		return err
	}
	machines, err := s.driver.Machines(r.Context(), true)
	if err != nil {
		return err
	}
	byID := map[string]orchestrator.Machine{}
	for _, m := range machines {
		byID[m.RunnerID] = m
	}
	list := wire.RunnerList{Runners: make([]wire.Runner, len(all))}
	var asking sync.WaitGroup
	for i, one := range all {
		asking.Go(func() {
			m, known := byID[one.RunnerID]
			if !known { // removed
				m.Runner = one
			}
			list.Runners[i] = s.wireRunner(r.Context(), m)
		})
	}
	asking.Wait()
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *runnerHandlers) wireRunner(ctx context.Context, r orchestrator.Machine) wire.Runner {
	load, connected := s.runners.Load(ctx, r.RunnerID)
	w := wire.Runner{
		RunnerID: r.RunnerID, Name: r.Name, State: wire.RunnerUnreachable, Paused: r.Paused, Draining: r.Draining, Release: r.Release,
		Epoch: r.Epoch, SeenAt: wire.SecondsOrNull(r.SeenAt), Remote: r.Remote, HasToken: r.HasToken,
		Labels: append([]string{}, r.Labels...), LabelsGiven: r.GivenLabels, Roots: append([]string{}, r.Roots...), CLIs: []wire.RunnerCLI{},
		Capacity: wire.RunnerCapacity(r.Capacity), ClockSkew: r.ClockSkew.Seconds(), Processes: r.Running,
		Problem: wire.OrNull(r.Problem), Reasons: statement.Reasons("problem", r.Problem),
	}
	switch {
	case !r.RemovedAt.IsZero():
		w.State = wire.RunnerRemoved
	case r.Ready:
		w.State = wire.RunnerReady
	}
	for _, cli := range r.CLIs {
		w.CLIs = append(w.CLIs, wire.RunnerCLI(cli))
	}
	if connected {
		w.Load = &load
	}
	return w
}

// Bounds of the labels of a runner.
const (
	maxLabels    = 20
	maxLabelSize = 64 // bytes
)

// patchRunner changes the use, the name or the labels of a runner, one at a time. Its sessions
// continue.
func (s *runnerHandlers) patchRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.RunnerChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, id, by := context.WithoutCancel(r.Context()), r.PathValue("id"), access.Actor(who)
	given := 0
	for _, is := range []bool{body.Paused != nil || body.Draining != nil, body.Name != nil, body.Labels != nil || body.UseOwnLabels} {
		if is {
			given++
		}
	}
	if given != 1 || body.Labels != nil && body.UseOwnLabels {
		return problem.New("runner_change_one")
	}
	var err error
	switch {
	case body.Name != nil:
		var name string
		var named []string
		if name, err = runnerName(*body.Name); err == nil {
			named, err = s.store.RenameRunner(ctx, id, name, by)
			err = nameTaken(err)
		}
		for _, sessionID := range named {
			s.notifier.Notify(sessionID)
		}
	case body.Labels != nil || body.UseOwnLabels:
		if err = checkLabels(body.Labels); err == nil {
			err = s.store.SetRunnerLabels(ctx, id, body.Labels, by)
		}
	default:
		err = s.store.SetRunnerUse(ctx, id, useOf(body), by)
	}
	if err != nil {
		return err
	}
	s.runners.Changed(ctx, id)
	return s.getRunners(w, r, who)
}

func useOf(c wire.RunnerChange) session.RunnerUse {
	switch {
	case c.Draining != nil && *c.Draining:
		return session.RunnerDraining
	case c.Paused != nil && *c.Paused:
		return session.RunnerPaused
	}
	return session.RunnerActive
}

func checkLabels(labels []string) error {
	bad := len(labels) > maxLabels
	for _, l := range labels {
		bad = bad || l == "" || len(l) > maxLabelSize || strings.ContainsFunc(l, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == ',' })
	}
	if bad {
		return problem.For("labels", "runner_labels_invalid", "max", strconv.Itoa(maxLabels), "size", strconv.Itoa(maxLabelSize))
	}
	return nil
}

// maxRunnerName bounds the name of a runner, in bytes.
const maxRunnerName = 100

// runnerName returns a name without surrounding space, or a [problem.Error] if it is invalid.
func runnerName(given string) (string, error) {
	name := strings.TrimSpace(given)
	if name == "" || len(name) > maxRunnerName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problem.For("name", "runner_name_invalid", "max", strconv.Itoa(maxRunnerName))
	}
	return name, nil
}

// nameTaken returns err, or a [problem.Error] if another runner has the name.
func nameTaken(err error) error {
	if errors.Is(err, session.ErrRunnerExists) {
		return problem.For("name", "runner_name_taken")
	}
	return err
}

// postRunner creates a runner on another host and its first token.
func (s *runnerHandlers) postRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.RunnerCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	name, err := runnerName(body.Name)
	if err != nil {
		return err
	}
	token, hash := s.runners.NewToken()
	made := session.Runner{RunnerID: uuid.NewString(), Name: name}
	ctx := context.WithoutCancel(r.Context())
	if err := nameTaken(s.store.CreateRunner(ctx, made, hash, access.Actor(who))); err != nil {
		return err
	}
	s.runners.Changed(ctx, made.RunnerID)
	writeJSON(w, http.StatusCreated, wire.RunnerToken{RunnerID: made.RunnerID, Token: token})
	return nil
}

// postRunnerToken replaces the token of a runner and ends connections that use the former one.
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

// deleteRunnerToken revokes the token of a runner, which can then no longer connect. Its processes
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

// deleteRunner removes a runner and archives its sessions. It refuses to remove a runner inside a
// server that still runs.
func (s *runnerHandlers) deleteRunner(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx := context.WithoutCancel(r.Context())
	machines, err := s.driver.Machines(ctx, false)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if m.RunnerID == r.PathValue("id") && m.Ready && !m.Remote {
			return problem.New("runner_in_use", "runner", m.Name)
		}
	}
	archived, err := s.store.RemoveRunner(ctx, r.PathValue("id"), access.Actor(who))
	if err != nil {
		return err
	}
	s.runners.Recheck(ctx)
	s.runners.Changed(ctx, r.PathValue("id"))
	for _, sessionID := range archived {
		s.notifier.Notify(sessionID)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
