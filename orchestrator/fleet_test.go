package orchestrator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// slowHost is a runner that takes until release to list its processes.
type slowHost struct {
	*launcher
	release chan struct{}
}

func (h *slowHost) Leftovers(ctx context.Context) ([]launch.Leftover, error) {
	select {
	case <-h.release:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestRulesThatChangeWhileARunnerConnects: a runner gets the rules that were changed while its
// processes were listed, and keeps its own roots.
func TestRulesThatChangeWhileARunnerConnects(t *testing.T) {
	var options orchestrator.Options
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		server, host := options, options
		server.RunnerID = "" // without a runner inside
		local, err := orchestrator.New(server)
		if err != nil {
			b.t.Fatal(err)
		}
		fleet := orchestrator.NewFleet(local)
		release := make(chan struct{})
		host.RunnerID, host.Launcher, host.Rules.Roots = "far", &slowHost{b.launcher, release}, workspace.Roots{"/far"}
		far, err := orchestrator.New(host)
		if err != nil {
			b.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.t.Context())
		var driving sync.WaitGroup
		driving.Go(func() {
			if err := fleet.Drive(ctx, far, func() {}); err != nil {
				b.t.Errorf("Drive: %v", err)
			}
		})
		synctest.Wait()
		rules := *fleet.Rules()
		rules.Limits.Idle = 7 * time.Minute
		fleet.SetRules(rules)
		close(release)
		synctest.Wait()
		if got := far.Rules(); got.Limits != rules.Limits || !slices.Equal(got.Roots, workspace.Roots{"/far"}) {
			b.t.Errorf("the runner has %+v, want the limits %+v and its own roots", *got, rules.Limits)
		}
		cancel()
		driving.Wait()
	}, func(o *orchestrator.Options) { options = *o })
}
