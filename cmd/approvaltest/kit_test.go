package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asCLI {
		if err := relay(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m,
		// The connection pool of the standard library's client.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

var self = []string{os.Args[0], asCLI}

// nightly reports whether what takes long runs, too.
func nightly() bool { return os.Getenv("SAYSO_TEST_ALL") != "" }

// passes runs all scenarios with a host that has to pass them, except those that it cannot.
func passes(t *testing.T, o options, cannot ...string) {
	t.Helper()
	o.self, o.patience, o.long = self, time.Minute, nightly()
	rep, err := check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range rep.Outcomes {
		if out.Verdict != "pass" && !(out.Verdict == "skip" && slices.Contains(cannot, out.Scenario)) {
			t.Errorf("%s: %s %s %v", out.Scenario, out.Verdict, out.Why, out.Findings)
		}
	}
	if want := 22; len(rep.Outcomes) < want {
		t.Errorf("%d scenarios, want %d", len(rep.Outcomes), want)
	}
}

func TestClientPasses(t *testing.T) {
	t.Parallel()
	passes(t, options{start: startClient}, "host-restarts")
}

func TestSaysoPasses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso")
	if out, err := exec.Command("go", "build", "-o", path, "../sayso").CombinedOutput(); err != nil {
		t.Fatalf("build sayso: %v\n%s", err, out)
	}
	passes(t, options{start: func(ctx context.Context, h host) (driver, error) { return startSayso(ctx, path, h) }})
}

// TestFaultsAreFound: each mistake of a host is found by a scenario, as what it is. A host
// without one passes.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault    fault
		scenario string
		want     kind // "" for none
	}{
		{none, "withdraw", ""},
		{none, "comes-back", ""},
		{allowsAtOnce, "one", unasked},
		{allowsWhenAlone, "withdraw-one", unasked},
		{allowsUnknown, "unknown-request", unasked},
		{ignoresUnknown, "unknown-request", hang},
		{answersNewest, "parallel", wrong},
		{swapsInputs, "parallel", wrong},
		{oneSlot, "parallel", lost},
		{answersTwice, "one", doubled},
		{loses, "one", lost},
		{changesInput, "odd-input", changed},
		{dropsInput, "one", invalid},
		{ignoresEdits, "edit", changed},
		{dropsMessage, "one", invalid},
		{ignoresWithdrawals, "withdraw", stillOpen},
		{ignoresDeath, "dies-in-a-line", stillOpen},
		{showsTwice, "repeat", doubled},
		{remembersIDs, "reused-id", unasked},
		{closesInput, "no-answer", lost},
		{panicsOnUnknown, "unknown-fields", crashed},
		{shortLines, "long-line", notShown},
		{writesTorn, "one", invalid},
	} {
		t.Run(string(test.fault)+", "+test.scenario, func(t *testing.T) {
			t.Parallel()
			rep, err := check(t.Context(), options{start: faulty(test.fault), self: self, scenarios: []string{test.scenario}, patience: patienceWith(test.want)})
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, f := range rep.Outcomes[0].Findings {
				if f.Kind == test.want {
					return
				}
				if f.Kind != advice {
					found += fmt.Sprintf(" %s: %s;", f.Kind, f.Detail)
				}
			}
			if test.want != "" || found != "" {
				t.Errorf("want %q, found%s", test.want, found)
			}
		})
	}
}

// patienceWith is short where a host is found by what it does not do. A slow machine makes such
// a test no less likely to pass, as long as the rest of the scenario takes less.
func patienceWith(want kind) time.Duration {
	switch want {
	case hang, lost, stillOpen, notShown, wrong:
		return 5 * time.Second
	}
	return time.Minute
}

// TestDriverProgram holds the protocol of drivers that are programs, with one in sh that
// fails.
func TestDriverProgram(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	script := `
		echo '{"event":"ready","host":"a shell","cannot":["interrupt"]}'
		while read -r line; do
			case $line in
			*'"do":"prompt"'*) echo '{"event":"failed","text":"made up"}' ;;
			esac
		done`
	status := command(t.Context(), []string{"-out", out, "-scenarios", "one,interrupt", "driver", "sh", "-c", script}, self, &stdout, &stderr)
	if status != 1 || !strings.Contains(stdout.String(), "a shell: 0 passed, 1 failed, 1 skipped") || !strings.Contains(stdout.String(), "made up") {
		t.Errorf("status %d\n%s\n%s", status, &stdout, &stderr)
	}
	var suite junitSuite
	text, err := os.ReadFile(filepath.Join(out, "report.xml"))
	if err == nil {
		err = xml.Unmarshal(text, &suite)
	}
	if err != nil || suite.Tests != 2 || suite.Failures != 1 || suite.Skipped != 1 || !strings.Contains(suite.Cases[0].Failure.Text, "made up") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil || !strings.Contains(string(text), "| [one](traces/one.jsonl) | One request is allowed, another denied with a reason. | fail | **host failed**: driver: made up |") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = os.ReadFile(filepath.Join(out, "traces", "one.jsonl"))
	var first entry
	if err == nil {
		line, _, _ := bytes.Cut(text, []byte("\n"))
		err = json.Unmarshal(line, &first)
	}
	if err != nil || first.Who != "person" || !strings.Contains(string(first.Line), `"do":"prompt"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestHostsPage holds that docs/protocol/hosts.md describes every scenario and has a result of each.
func TestHostsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocol/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if !strings.Contains(string(page), fmt.Sprintf("\n| %s | %s |\n", s.name, s.does)) {
			t.Errorf("the description of %s is missing or another", s.name)
		}
		if strings.Count(string(page), "\n| "+s.name+" | ") != 2 {
			t.Errorf("%s has no row among the results", s.name)
		}
	}
}

// TestDriversParse holds that the drivers in JavaScript are JavaScript: the hosts that they drive
// are not installed here.
func TestDriversParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("drivers/*.mjs")
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		if out, err := exec.Command("node", "--check", f).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f, err, out)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 2, "usage: approvaltest"},
		{[]string{"nobody"}, 2, "usage: approvaltest"},
		{[]string{"sayso"}, 2, "usage: approvaltest"},
		{[]string{"-scenarios", "none", "client"}, 2, "no scenario has that name"},
		{[]string{"driver", "/does/not/exist"}, 2, "/does/not/exist"},
		{[]string{"driver", "false"}, 2, "the driver has failed"},
		{[]string{"-list"}, 0, "withdraw-race"},
	} {
		var out bytes.Buffer
		if status := command(t.Context(), test.args, self, &out, &out); status != test.status || !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: status %d\n%s", test.args, status, &out)
		}
	}
}
