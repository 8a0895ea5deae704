package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// otherRunners is a store with runners that this server does not drive.
type otherRunners struct {
	orchestrator.Store
	list []session.Runner
}

func (s otherRunners) Runners(context.Context) ([]session.Runner, error) { return s.list, nil }

func (s otherRunners) Runner(_ context.Context, runnerID string) (session.Runner, error) {
	for _, r := range s.list {
		if r.RunnerID == runnerID {
			return r, nil
		}
	}
	return session.Runner{}, session.ErrNoRunner
}

// TestLeaseByTheClockOfTheDatabase: whether another server drives a runner does not depend on the clock
// of this one.
func TestLeaseByTheClockOfTheDatabase(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		list, err := orchestrator.NewFleet(b.Orchestrator).Machines(b.t.Context(), false)
		if err != nil {
			b.t.Fatal(err)
		}
		ready := slices.IndexFunc(list, func(m orchestrator.Machine) bool { return m.Ready })
		if len(list) != 2 || ready != 0 || slices.IndexFunc(list[1:], func(m orchestrator.Machine) bool { return m.Ready }) >= 0 {
			b.t.Errorf("got %+v, want the first alone to be ready", list)
		}
	}, func(o *orchestrator.Options) {
		o.Store = otherRunners{o.Store, []session.Runner{
			{RunnerID: "r1", Name: "driven", Leased: true, ExpiresAt: time.Now().Add(-time.Hour)}, // this clock is ahead
			{RunnerID: "r2", Name: "left", ExpiresAt: time.Now().Add(time.Hour)},                  // this clock is behind
		}}
	})
}

// machine gives access to a machine whose CLI is ready, and records the grants that it removes.
type machine struct {
	launch.Runner

	mu      sync.Mutex
	removed []string // ids of grants
}

func (m *machine) Installation(context.Context) (launch.Installation, error) {
	return launch.Installation{}, nil
}

func (m *machine) RemoveGrant(_ context.Context, g pending.Grant) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed = append(m.removed, g.GrantID)
	return nil, nil
}

func (m *machine) hasRemoved(grantID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.removed, grantID)
}

// newMachine returns access to this machine.
func newMachine(t *testing.T, cli *launch.CLI) *machine {
	t.Helper()
	r, err := launch.NewRunner(cli, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{Runner: r}
}

// twoRunners is a server with a runner inside, and the connection to one on another host.
type twoRunners struct {
	*orchestrator.Fleet
	b        *bench
	options  orchestrator.Options // of the runner on the other host
	machine  *machine
	launcher *launcher
}

// withTwoRunners is withBench for a server that another runner, "far", is to connect to.
func withTwoRunners(t *testing.T, test func(f *twoRunners), change ...func(*orchestrator.Options)) {
	t.Helper()
	f := &twoRunners{}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		f.b, f.Fleet = b, orchestrator.NewFleet(b.Orchestrator)
		test(f)
	}, append([]func(*orchestrator.Options){func(o *orchestrator.Options) {
		o.Store = otherRunners{o.Store, []session.Runner{{RunnerID: "here", Name: "here", Leased: true}, {RunnerID: "far", Name: "far", Leased: true}}}
		f.options = *o
		f.options.RunnerID, f.options.NodeID = "far", "far"
		f.machine = newMachine(t, o.CLI)
		f.launcher = &launcher{}
		f.launcher.starter = launch.Starter{CLI: o.CLI, Commands: f.launcher, Roots: func() workspace.Roots { return o.Rules.Roots }}
		f.options.Runner, f.options.Launcher = f.machine, f.launcher
		o.Runner = newMachine(t, o.CLI)
	}}, change...)...)
}

// connect drives the other runner until disconnect is called.
func (f *twoRunners) connect() (disconnect func()) {
	f.b.t.Helper()
	far, err := orchestrator.New(f.options)
	if err != nil {
		f.b.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.b.t.Context())
	var driving sync.WaitGroup
	driving.Go(func() {
		if err := f.Drive(ctx, far, func() {}); err != nil {
			f.b.t.Errorf("Drive: %v", err)
		}
	})
	synctest.Wait()
	return func() {
		stop()
		driving.Wait()
	}
}

// TestASessionRunsOnOneMachine: a machine that is full by the time at which it has stored a session keeps
// it. The session does not start on another one as well.
func TestASessionRunsOnOneMachine(t *testing.T) {
	busy := &busyMachine{}
	withTwoRunners(t, func(f *twoRunners) {
		b := f.b
		defer f.connect()()
		busy.free.Store(1) // for the check before the session is stored
		busy.full.Store(true)
		request := orchestrator.StartRequest{SessionID: uuid.NewString(), RunnerID: orchestrator.AnyRunner, CWD: b.folder, Prompt: "hello", By: b.person}
		id, err := f.Start(b.t.Context(), request)
		if err != nil || id != request.SessionID {
			t.Fatalf("got %s, %v", id, err)
		}
		waits := b.wait(id, func(s session.ProcessState) bool { return s.Throttled != "" })
		if waits.State != session.Dead || waits.RunnerID != "here" || waits.QueuedMessages != 1 {
			t.Errorf("it is %s on %s with %d messages", waits.State, waits.RunnerID, waits.QueuedMessages)
		}
		request.RunnerID = "far"
		var refused *problem.Error
		if _, err := f.Start(b.t.Context(), request); !errors.As(err, &refused) || refused.Reason != "runner_unreachable" {
			t.Errorf("repeated on the other machine: %v", err)
		}
		if n := len(f.launcher.commands()); n != 0 {
			t.Fatalf("the other machine started %d processes", n)
		}
		busy.full.Store(false)
		f.LimitsChanged()
		b.wait(id, in(session.UserTurn))
		if n, said := len(b.launcher.commands()), len(b.launcher.records("user")); n != 1 || said != 1 {
			t.Errorf("%d processes were started, and Claude got %d messages", n, said)
		}
	}, onBusyMachine(busy))
}
