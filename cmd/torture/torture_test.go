package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asCLI {
		os.Exit(playCLI(os.Args[2:]))
	}
	goleak.VerifyTestMain(m,
		// The pools of the standard library's client.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.Cleanup(func(status int) {
			if folder, err := buildFolder(); err == nil {
				os.RemoveAll(folder)
			}
			os.Exit(status)
		}))
}

var buildFolder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "sayso-built-") })

// build builds sayso, once for all tests, and returns its path.
var build = sync.OnceValues(func() (string, error) {
	folder, err := buildFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "sayso")
	if out, err := exec.Command("go", "build", "-o", path, "../sayso").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sayso: %w\n%s", err, out)
	}
	return path, nil
})

// short are the settings of a proof that takes seconds, and where it prints to.
func short(t *testing.T) (settings, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sayso, err := build()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := defaults(self)
	s.out, s.builds = &out, []string{sayso}
	s.seed = rand.Uint64()
	s.sessions, s.tabs = 6, 2
	s.settle = time.Minute
	s.slack = 10 // other tests run beside it
	return s, &out
}

// proves runs a proof and fails with what it printed.
func proves(t *testing.T, s settings, out *bytes.Buffer, run func(context.Context, settings) ([]fault, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	faults, err := run(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		t.Errorf("%d faults with seed %d\n%s", len(faults), s.seed, out)
	}
}

// They run one after the other: each wants the machine for itself.
func TestServerKilledAgainAndAgain(t *testing.T) {
	s, out := short(t)
	s.kills, s.requests = 50, 200
	proves(t, s, out, runCrash)
	for _, what := range []string{"of these counted, taken back", "undos, of these in vain", "refusals while another's"} {
		line := regexp.MustCompile(regexp.QuoteMeta("| "+what) + `.*\| ([0-9, ]+) \|`).FindStringSubmatch(out.String())
		if line == nil || strings.HasPrefix(line[1], "0") {
			t.Errorf("%s: %q; without them it is no proof of holds\n%s", what, line, out)
		}
	}
}

func TestAllFormsReturn(t *testing.T) {
	s, out := short(t)
	s.open, s.tabs, s.rounds = 200, 10, 2
	proves(t, s, out, runRestore)
}

func TestShimsKilled(t *testing.T) {
	s, out := short(t)
	s.shimKills = 4
	proves(t, s, out, runShimKills)
}
