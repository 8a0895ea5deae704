package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// Machine describes a runner to people who start sessions.
type Machine struct {
	session.Runner
	Here    bool   // it is the one inside this server
	Ready   bool   // a server drives it
	Running int    // processes
	Problem string // a sentence about why its CLI cannot run sessions; "" if it can, or if that is unknown
}

// isFull reports whether the machine runs as many processes as it may.
func (m Machine) isFull() bool { return m.Capacity.Processes > 0 && m.Running >= m.Capacity.Processes }

// TakesSessions reports whether a session can start there now.
func (m Machine) TakesSessions() bool {
	return m.Ready && !m.Paused && !m.Draining && !m.isFull() && m.Problem == ""
}

// use returns the fraction of the machine's capacity that is in use. Without a limit, each core counts
// as capacity for perCore processes.
func (m Machine) use() float64 {
	const perCore = 4
	return float64(m.Running) / float64(cmp.Or(m.Capacity.Processes, perCore*m.Capacity.Cores, perCore))
}

// AnyRunner in a [StartRequest] places the session by labels and free capacity.
const AnyRunner = "any"

// installationTimeout bounds how long a list of machines waits for reports about CLIs.
const installationTimeout = 3 * time.Second

// Machines returns the runners that were not removed, the one inside this server first, the others by
// name. It asks each runner that can be reached about its CLI, once; with fresh, it asks again.
func (f *Fleet) Machines(ctx context.Context, fresh bool) ([]Machine, error) {
	known, err := f.o.Store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	running, err := f.o.Store.RunningByRunner(ctx)
	if err != nil {
		return nil, err
	}
	f.askInstallations(ctx, fresh)
	var list []Machine
	for _, r := range known {
		if !r.RemovedAt.IsZero() {
			continue
		}
		m := Machine{Runner: r, Here: r.RunnerID == f.o.RunnerID, Running: running[r.RunnerID]}
		o := f.connected(r.RunnerID)
		m.Ready = o != nil || r.Leased
		if o != nil {
			m.Roots = o.rules().Roots
		}
		if i, asked := f.installation(r.RunnerID); asked {
			m.Problem = i.Problem
			if !m.Here {
				m.Problem = nameMachine(m.Name, m.Problem)
			}
			m.CLIs = nil
			if i.ClaudePath != "" {
				m.CLIs = []session.RunnerCLI{{Path: i.ClaudePath, Version: i.ClaudeVersion, SignedIn: i.SignedIn}}
			}
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b Machine) int {
		switch {
		case a.Here != b.Here && a.Here:
			return -1
		case a.Here != b.Here:
			return 1
		}
		return 0
	})
	return list, nil
}

// Environment calls [Orchestrator.Environment] of a runner, "" for the one inside the server. If there is
// none inside, the result's Problem says where sessions can start.
func (f *Fleet) Environment(ctx context.Context, runnerID string) (Environment, error) {
	if runnerID == "" && !f.hasLocal() {
		all, err := f.Machines(ctx, false)
		where := problem.New("runner_none_connected").Message
		if slices.ContainsFunc(all, func(m Machine) bool { return m.Ready }) {
			where = statement.New("machines_only")
		}
		return Environment{Installation: launch.Installation{Problem: where}}, err
	}
	o, err := f.orchestratorFor(ctx, runnerID)
	if err != nil {
		return Environment{}, err
	}
	return o.Environment(ctx), nil
}

func (f *Fleet) installation(runnerID string) (i launch.Installation, asked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, asked = f.installations[runnerID]
	return i, asked
}

// askInstallations asks the runners that can be reached about their CLI, concurrently. A runner that does
// not answer in time is asked again with the next list.
func (f *Fleet) askInstallations(ctx context.Context, fresh bool) {
	ctx, cancel := context.WithTimeout(ctx, installationTimeout)
	defer cancel()
	var asking sync.WaitGroup
	defer asking.Wait()
	near := map[string]launch.Runner{}
	for _, o := range f.each() {
		near[o.o.RunnerID] = o.runner
	}
	if f.elsewhere != nil {
		for _, runnerID := range f.elsewhere.Runners() {
			if r := f.elsewhere.Runner(runnerID); r != nil && near[runnerID] == nil {
				near[runnerID] = r
			}
		}
	}
	for runnerID, r := range near {
		if _, asked := f.installation(runnerID); asked && !fresh {
			continue
		}
		asking.Go(func() {
			found, err := r.Installation(ctx)
			if err != nil {
				f.o.Log.DebugContext(ctx, "a runner does not describe its CLI", "runner_id", runnerID, "error", err)
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.installations[runnerID] = found
		})
	}
}

// DriverChanged forgets what a runner reported about its CLI, because another server drives it now.
func (f *Fleet) DriverChanged(runnerID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.installations, runnerID)
}

// Start starts a session on the runner that the request names. If the request asks for any runner, or
// names none and there is none inside the server, Start chooses one.
func (f *Fleet) Start(ctx context.Context, r StartRequest) (string, error) {
	if r.RunnerID == AnyRunner || len(r.Labels) > 0 || r.RunnerID == "" && !f.hasLocal() {
		return f.startAnywhere(ctx, r)
	}
	return f.startOn(ctx, r)
}

// startOn starts a session on the runner that the request names, if need be through the server that
// drives it.
func (f *Fleet) startOn(ctx context.Context, r StartRequest) (string, error) {
	if there := f.otherServer(ctx, r.RunnerID); there != nil {
		return startElsewhere(ctx, there, r)
	}
	o, err := f.orchestratorFor(ctx, r.RunnerID)
	if err != nil {
		return "", err
	}
	return o.Start(ctx, r)
}

// place returns the runners on which a session may start, the least used first, or a
// [problem.Error].
func (f *Fleet) place(ctx context.Context, r StartRequest) (runnerIDs []string, err error) {
	machines, err := f.Machines(ctx, false)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(machines, func(m Machine) bool { return m.Ready }) {
		return nil, problem.For("runner_id", "runner_none_connected")
	}
	var fit []Machine
	labelled := false
	for _, m := range machines {
		if slices.ContainsFunc(r.Labels, func(l string) bool { return !slices.Contains(m.Labels, l) }) {
			continue
		}
		labelled = true
		if m.TakesSessions() && (f.connected(m.RunnerID) != nil || f.otherServer(ctx, m.RunnerID) != nil) {
			fit = append(fit, m)
		}
	}
	switch {
	case !labelled:
		return nil, problem.For("runner_labels", "runner_labels_unknown", "labels", strings.Join(r.Labels, ", "))
	case len(fit) == 0:
		return nil, problem.For("runner_id", "runner_none_free")
	}
	slices.SortStableFunc(fit, func(a, b Machine) int { return cmp.Compare(a.use(), b.use()) })
	for _, m := range fit {
		runnerIDs = append(runnerIDs, m.RunnerID)
	}
	return runnerIDs, nil
}

// otherRunner lists the reasons of errors after which startAnywhere tries the next runner.
var otherRunner = []string{"runner_full", "runner_paused", "runner_draining", "folder_not_found", "folder_not_a_folder", "folder_outside"}

// startAnywhere starts a session on the first runner that accepts it, in the order of place. Once a
// runner has the session, it tries no other, because the session could run on both.
func (f *Fleet) startAnywhere(ctx context.Context, r StartRequest) (sessionID string, err error) {
	if r.storedID() == "" {
		r.SessionID = uuid.NewString()
	}
	stored, err := f.o.Store.Session(ctx, r.storedID())
	switch {
	case err == nil && stored.Kind == session.Ours: // a repeated command goes to the same runner
		r.RunnerID, r.Labels = stored.RunnerID, nil
		return f.startOn(ctx, r)
	case err != nil && !errors.Is(err, session.ErrNotFound):
		return "", err
	}
	order, err := f.place(ctx, r)
	if err != nil {
		return "", err
	}
	for _, r.RunnerID = range order {
		sessionID, err = f.startOn(ctx, r)
		var reason *problem.Error
		elsewhere := errors.As(err, &reason) && slices.Contains(otherRunner, reason.Reason)
		if !elsewhere && !errors.Is(err, launch.ErrUnreachable) {
			break
		}
		if _, unknown := f.o.Store.Session(ctx, r.storedID()); !errors.Is(unknown, session.ErrNotFound) {
			break // that runner has the session, or the store fails
		}
	}
	return sessionID, err
}
