package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	processes "github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// runners drives the runners on other hosts that dial this server. It is the [runner.Registry] of
// the endpoint.
type runners struct {
	store    session.RunnerStore
	server   string // identifies this server in leases
	announce func() // tells other servers that a runner has another driver; it must not block
	log      *slog.Logger
	fleet    *orchestrator.Fleet
	notifier session.Notifier
	// orchestrate returns the Orchestrator of a runner over its connection.
	orchestrate func(l session.Lease, known session.Runner, c *link.Conn) (*orchestrator.Orchestrator, error)
	endpoint    *runner.Endpoint
	runnerID    string // the runner inside this server
	local       func() wire.RunnerLoad
	// loadElsewhere is Load for the runners of other servers; nil if there are none.
	loadElsewhere func(ctx context.Context, runnerID string) (wire.RunnerLoad, bool)
	// show sends tabs the machines on which sessions run.
	show    func([]wire.Machine)
	changed chan struct{} // capacity 1: machines must be read again

	mu        sync.Mutex
	connected map[string]*link.Conn // by the id of the runner, while it is driven
}

// serve creates the endpoint, which accepts runners while its Run runs.
func (r *runners) serve() (err error) {
	r.connected = map[string]*link.Conn{}
	r.changed = make(chan struct{}, 1)
	r.endpoint, err = runner.NewEndpoint(runner.EndpointOptions{
		Registry: r, Drive: r.drive, Codes: processes.Codes(), Log: r.log,
		Serve: func(context.Context, string, *link.Call) (any, error) { return nil, link.ErrUnknown },
	})
	return err
}

// FindToken implements [runner.Registry].
func (r *runners) FindToken(ctx context.Context, hash [sha256.Size]byte) (string, error) {
	known, err := r.store.RunnerByToken(ctx, hash)
	if errors.Is(err, session.ErrNoRunner) {
		return "", runner.ErrToken
	}
	return known.RunnerID, err
}

// TakeLease implements [runner.Registry].
func (r *runners) TakeLease(ctx context.Context, runnerID string, h runner.Hello) (runner.Welcome, error) {
	lease, err := r.store.TakeLease(ctx, session.Hello{
		RunnerID: runnerID, InstallationID: h.InstallationID, Machine: h.Machine, Name: h.Name, Release: h.Release, Server: r.server,
		Fence: h.Fence, Labels: h.Labels, Roots: h.Roots, Capacity: h.Capacity, CLIs: h.CLIs, Clock: h.Clock,
	})
	switch {
	case errors.Is(err, session.ErrOtherInstallation):
		r.log.ErrorContext(ctx, "a runner was refused: its token is used by another installation or on another machine", "runner_id", runnerID, "machine", h.Machine)
		return runner.Welcome{}, runner.ErrInstallation
	case errors.Is(err, session.ErrRunnerRemoved):
		return runner.Welcome{}, runner.ErrRemoved
	case err != nil:
		return runner.Welcome{}, err
	}
	known, err := r.store.Runner(ctx, runnerID)
	return runner.Welcome{RunnerID: runnerID, Epoch: lease.Epoch, Time: known.SeenAt}, err
}

// drive drives a runner until its connection ends or another server takes its lease.
func (r *runners) drive(ctx context.Context, w runner.Welcome, _ runner.Hello, c *link.Conn) error {
	r.mu.Lock()
	r.connected[w.RunnerID] = c
	r.mu.Unlock()
	lease := session.Lease{RunnerID: w.RunnerID, Epoch: w.Epoch}
	defer func() {
		r.mu.Lock()
		delete(r.connected, w.RunnerID)
		r.mu.Unlock()
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		defer r.machinesChanged()
		if err := r.store.ReleaseLease(releasing, lease); err != nil {
			r.log.DebugContext(ctx, "cannot release the lease of a runner; it will expire", "runner_id", w.RunnerID, "error", err)
		}
	}()
	known, err := r.store.Runner(ctx, w.RunnerID)
	if err != nil {
		return err
	}
	o, err := r.orchestrate(lease, known, c)
	if err != nil {
		return err
	}
	r.log.InfoContext(ctx, "a runner is connected", "runner_id", w.RunnerID, "name", known.Name, "epoch", w.Epoch)
	driving, ctx := errgroup.WithContext(ctx)
	driving.Go(func() error { return renewLease(ctx, r.store, lease) })
	driving.Go(func() error {
		return r.fleet.Drive(ctx, o, func() { r.reachableChanged(context.WithoutCancel(ctx), w.RunnerID) })
	})
	if err = driving.Wait(); errors.Is(err, session.ErrLeaseLost) {
		return runner.ErrLeaseLost
	}
	return err
}

// reachableChanged tells tabs and other servers that a runner can be reached, or no longer can.
func (r *runners) reachableChanged(ctx context.Context, runnerID string) {
	r.fleet.DriverChanged(runnerID)
	r.machinesChanged()
	r.announce()
	touched, err := r.store.TouchRunner(ctx, runnerID)
	if err != nil {
		r.log.WarnContext(ctx, "cannot store the connection state of a runner; tabs may show it late", "runner_id", runnerID, "error", err)
	}
	for _, sessionID := range touched {
		r.notifier.Notify(sessionID)
	}
}

// machinesInterval is how often machines are read: other servers change them, too.
const machinesInterval = 2 * time.Second

// machinesChanged makes watchMachines read at once. It does not block.
func (r *runners) machinesChanged() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// watchMachines sends tabs the machines, at each change, until ctx ends.
func (r *runners) watchMachines(ctx context.Context) error {
	ticker := time.NewTicker(machinesInterval)
	defer ticker.Stop()
	for {
		if all, err := r.fleet.Machines(ctx, false); err == nil {
			r.show(httpapi.NewMachines(all))
		} else if ctx.Err() == nil {
			r.log.DebugContext(ctx, "cannot read the machines; tabs may show an old list", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
		case <-ticker.C:
		}
	}
}

// Changed implements [httpapi.Runners]. Sessions that wait for the runner are tried again.
func (r *runners) Changed(ctx context.Context, runnerID string) {
	r.reachableChanged(ctx, runnerID)
	r.fleet.LimitsChanged()
}

// NewToken implements [httpapi.Runners].
func (r *runners) NewToken() (token string, hash [sha256.Size]byte) { return runner.NewToken() }

// Recheck implements [httpapi.Runners].
func (r *runners) Recheck(ctx context.Context) { r.endpoint.Recheck(ctx) }

// loadTimeout bounds how long a list of runners waits for the load of one.
const loadTimeout = time.Second

// Load implements [httpapi.Runners].
func (r *runners) Load(ctx context.Context, runnerID string) (wire.RunnerLoad, bool) {
	load, drives := r.loadHere(ctx, runnerID)
	if !drives && r.loadElsewhere != nil {
		ctx, cancel := context.WithTimeout(ctx, 2*loadTimeout)
		defer cancel()
		return r.loadElsewhere(ctx, runnerID)
	}
	return load, drives
}

// loadHere returns the load of a runner, and false if this server does not drive it.
func (r *runners) loadHere(ctx context.Context, runnerID string) (load wire.RunnerLoad, connected bool) {
	if runnerID == r.runnerID {
		return r.local(), true
	}
	r.mu.Lock()
	c := r.connected[runnerID]
	r.mu.Unlock()
	if c == nil || !r.fleet.Drives(runnerID) { // false until its sessions are taken over
		return load, false
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if err := c.Call(ctx, callLoad, nil, &load); err != nil {
		r.log.DebugContext(ctx, "cannot read a runner's load", "runner_id", runnerID, "error", err)
	}
	return load, true
}

// callLoad asks a runner for its [wire.RunnerLoad].
const callLoad = "load"
