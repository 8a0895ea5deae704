package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/seedtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asCLI {
		os.Exit(playCLI(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == asClock {
		os.Exit(showClock())
	}
	goleak.VerifyTestMain(m,
		// The connection pool of the standard library's client.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.Cleanup(func(status int) {
			if folder, err := buildFolder(); err == nil {
				os.RemoveAll(folder)
			}
			os.Exit(status)
		}))
}

// asClock is the first argument with which this program is a clock.
const asClock = "clock"

// showClock prints, for each line that it reads, the time by both functions that have it, in ns, and how
// long it runs.
func showClock() int {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var ofDay syscall.Timeval
		if err := syscall.Gettimeofday(&ofDay); err != nil {
			return 1
		}
		fmt.Println(time.Now().UnixNano(), syscall.TimevalToNsec(ofDay), int64(time.Since(began)))
	}
	return 0
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

// short returns the settings of a proof that takes seconds, and its output.
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
	s.seed = seedtest.New(t)
	s.sessions, s.tabs = 6, 2
	s.settle = time.Minute
	s.slack = 10 // other tests run at the same time
	return s, &out
}

// proves runs a proof and fails with its output.
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

// They run one after the other, because each needs the whole machine.
func TestServerKilledAgainAndAgain(t *testing.T) {
	s, out := short(t)
	s.kills, s.requests = 50, 200
	proves(t, s, out, runCrash)
	for _, what := range []string{"of these counted, undone", "undos, of these without effect", "answers refused while another"} {
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

func TestDatabaseFails(t *testing.T) {
	for _, database := range []string{"", "postgres"} {
		t.Run(database, func(t *testing.T) {
			s, out := short(t)
			s.database, s.outages, s.requests = database, 4, 60
			s.minUptime, s.maxUptime = 50*time.Millisecond, 300*time.Millisecond
			proves(t, s, out, runCrash)
		})
	}
}

func TestRunnersFail(t *testing.T) {
	s, out := short(t)
	s.runners, s.faultsFor, s.requests = 2, 4*time.Second, 40
	proves(t, s, out, runCrash)
	for _, what := range []string{"histories of", "lines of CLIs that", "changes of the database that"} {
		if line := regexp.MustCompile(`\| ` + what + ` .* \| ([0-9]+) \|`).FindStringSubmatch(out.String()); line == nil || line[1] == "0" {
			t.Errorf("%s: nothing was checked\n%s", what, out)
		}
	}
}

// It fits lines through constant values, through values with one outlier, and through growing
// values.
func TestGaugeFindsGrowth(t *testing.T) {
	g := gauge{noise: 3, part: 0.05}
	for name, c := range map[string]struct {
		value func(i int) float64
		grows bool
	}{
		"Flat":            {func(int) float64 { return 70 }, false},
		"Noisy":           {func(i int) float64 { return 70 + float64(i*7919%13) }, false},
		"Peaks":           {func(i int) float64 { return 70 + 200*float64(i/50%2*(i%50/48)) }, false},
		"Shrinks":         {func(i int) float64 { return 70 - float64(i)/20 }, false},
		"GrowsTooLittle":  {func(i int) float64 { return 70 + float64(i)/1000 }, false},
		"Grows":           {func(i int) float64 { return 70 + float64(i)/20 }, true},
		"GrowsWithNoise":  {func(i int) float64 { return 70 + float64(i)/20 + float64(i*7919%13) }, true},
		"GrowsInATooth":   {func(i int) float64 { return 70 + float64(i)/20 + float64(i%10) }, true},
		"GrowsFromNought": {func(i int) float64 { return float64(i) / 40 }, true},
	} {
		var at, values []float64
		for i := range 400 {
			at, values = append(at, float64(i)/400), append(values, c.value(i))
		}
		if d := fitDrift(at, values); d.grows(g) != c.grows {
			t.Errorf("%s: grows %t, want %t: %+v", name, !c.grows, c.grows, d)
		}
	}
}

func TestSoak(t *testing.T) {
	s, out := short(t)
	s.soakFor, s.sessions, s.tabs = 3*time.Second, 3, 4
	// In seconds no gauge settles, so growth is ignored here.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	faults, err := runSoak(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if f.Kind != growth {
			t.Errorf("%+v\n%s", f, out)
		}
	}
	for _, g := range gauges {
		if !strings.Contains(out.String(), "| "+g.name+" |") {
			t.Errorf("nothing is said of %s\n%s", g.name, out)
		}
	}
}
