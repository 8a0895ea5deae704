package orchestrator_test

import (
	"context"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// complaining gives each CLI the same stderr.
type complaining struct{ *launcher }

func (l complaining) Open(ctx context.Context, p launch.Process) (launch.Conn, error) {
	conn, err := l.launcher.Open(ctx, p)
	return complaint{conn}, err
}

type complaint struct{ launch.Conn }

func (complaint) Stderr(context.Context) (string, error) { return "warning: low on tokens\n", nil }

// A bug report about a session on another runner has what its Claude printed on stderr.
func TestStderrOfAnotherRunner(t *testing.T) {
	var options orchestrator.Options
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		made := func(runnerID string) *orchestrator.Orchestrator {
			options.RunnerID = runnerID
			o, err := orchestrator.New(options)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		fleet, there := orchestrator.NewFleet(made("")), made("elsewhere")
		defer b.runs(func(ctx context.Context) error { return fleet.Drive(ctx, there, func() {}) })()
		b.until("the runner is driven", func() bool { return fleet.Drives("elsewhere") })
		id, err := there.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "hello", By: b.person})
		if err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		if text := fleet.Stderr(b.t.Context(), id); text != "warning: low on tokens" {
			t.Errorf("got %q", text)
		}
		if text := fleet.Stderr(b.t.Context(), "no such session"); text != "" {
			t.Errorf("got %q of a session that is not there", text)
		}
	}, func(o *orchestrator.Options) {
		o.Launcher = complaining{o.Launcher.(*launcher)}
		options = *o
	})
}
