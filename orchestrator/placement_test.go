package orchestrator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
)

// otherRunners is a store with runners that this server does not drive.
type otherRunners struct {
	orchestrator.Store
	list []session.Runner
}

func (s otherRunners) Runners(context.Context) ([]session.Runner, error) { return s.list, nil }

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
