package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// lateLauncher finds what a former server left only once it may.
type lateLauncher struct {
	launch.Launcher
	may chan struct{}
}

func (l lateLauncher) Leftovers(ctx context.Context) ([]launch.Leftover, error) {
	select {
	case <-l.may:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return l.Launcher.Leftovers(ctx)
}

// TestAKillReachesAProcessThatIsNotAdoptedYet: it does not count as dead, because it goes on.
func TestAKillReachesAProcessThatIsNotAdoptedYet(t *testing.T) {
	var may chan struct{}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		killed := make(chan error, 1)
		go func() { killed <- b.Kill(b.t.Context(), "s0", true, "Ended by Ada.") }()
		synctest.Wait()
		if len(killed) > 0 {
			t.Error("it was taken for dead")
		}
		close(may)
		if err := <-killed; err != nil {
			t.Error(err)
		}
		if s := b.wait("s0", in(session.Dead)); s.KillReason != "Ended by Ada." {
			t.Errorf("it is dead because: %s%s", s.KillReason, s.Error)
		}
	}, inherits(t, &left{}), func(o *orchestrator.Options) {
		may = make(chan struct{})
		o.Launcher = lateLauncher{o.Launcher, may}
	})
}
