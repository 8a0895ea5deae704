package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// TestHelloOfSlowCLI: a runner whose CLI does not answer in time connects with what the CLI reported
// before.
func TestHelloOfSlowCLI(t *testing.T) {
	t.Parallel()
	path, _ := claudetest.Program(t, claudetest.Script{})
	h := &host{settings: settings{StateDir: t.TempDir()}, log: slog.New(slog.DiscardHandler), cli: &launch.CLI{Path: path, Environ: os.Environ()}}
	before, err := h.hello(t.Context())
	if err != nil || len(before.CLIs) != 1 || before.CLIs[0].Version == "" || !before.CLIs[0].SignedIn {
		t.Fatalf("the CLIs are %+v, %v", before.CLIs, err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil { // another build, which is asked again
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	after, err := h.hello(late)
	if err != nil || !slices.Equal(after.CLIs, before.CLIs) {
		t.Errorf("the CLIs are %+v, %v; before %+v", after.CLIs, err, before.CLIs)
	}

	// Of a CLI that never answered, the path is known.
	h = &host{settings: h.settings, log: h.log, cli: &launch.CLI{Path: path, Environ: os.Environ()}}
	never, err := h.hello(late)
	if want := []session.RunnerCLI{{Path: path}}; err != nil || !slices.Equal(never.CLIs, want) {
		t.Errorf("the CLIs are %+v, %v, want %+v", never.CLIs, err, want)
	}
}
