package main

import (
	"bytes"
	"flag"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// TestEveryCommandHasHelp asks each command for help in every way, and calls it with a flag
// that does not exist.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	call := func(args ...string) (stdout, stderr string, code int) {
		var out, err bytes.Buffer
		code = run(t.Context(), args, streams{strings.NewReader(""), &out, &err})
		return out.String(), err.String(), code
	}
	all, _, _ := call("--help")
	for _, c := range commands() {
		if c.internal {
			continue
		}
		words := strings.Fields(c.name)
		if !strings.Contains(all, "sayso "+c.name+" ") || c.summary == "" || len(c.usage) == 0 {
			t.Errorf("sayso --help has no line for %s", c.name)
		}
		first := ""
		for _, args := range [][]string{append([]string{"help"}, words...), append(words[:len(words):len(words)], "-h"), append(words[:len(words):len(words)], "--help")} {
			page, said, code := call(args...)
			if first == "" {
				first = page
			}
			if code != 0 || said != "" || page != first || !strings.Contains(page, "Usage:\n  sayso "+c.name) {
				t.Errorf("%v: exit code %d\n%s%s", args, code, page, said)
			}
			for _, o := range c.options() {
				if !strings.Contains(page, "\n  --"+o.name) || o.help == "" {
					t.Errorf("%v does not explain --%s", args, o.name)
				}
			}
		}
		if page, said, code := call(append(words, "--frobnicate")...); code != 2 || page != "" || !strings.Contains(said, "there is no flag --frobnicate") {
			t.Errorf("%s --frobnicate: exit code %d\n%s%s", c.name, code, page, said)
		}
		var page bytes.Buffer
		if err := manPage(words, &page); err != nil || !strings.HasPrefix(page.String(), ".TH SAYSO") || !strings.Contains(page.String(), ".SH EXIT STATUS") {
			t.Errorf("man page of %s: %v\n%s", c.name, err, page.String())
		}
	}
	for _, args := range [][]string{{"frobnicate"}, {"help", "frobnicate"}, {"man", "frobnicate"}, {"completion", "csh"}, {"completion"}} {
		if _, said, code := call(args...); code != 2 || said == "" {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
	for _, args := range [][]string{{"--version"}, {"-v"}, {"version"}} {
		if out, _, code := call(args...); code != 0 || !strings.HasPrefix(out, "sayso "+versionText()+"\n") || !strings.Contains(out, "Commit:") || !strings.Contains(out, "Claude Code:") {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}

// TestCompletion lets bash complete with the script that it is given, and looks at those of
// shells that need not be here.
func TestCompletion(t *testing.T) {
	t.Parallel()
	var script bytes.Buffer
	if err := completion([]string{"bash"}, &script); err != nil {
		t.Fatal(err)
	}
	for typed, wants := range map[string][]string{
		"sayso pen":                  {"pending"},
		"sayso token --a":            {"--agent"},
		"sayso user dis":             {"disable"},
		"sayso mcp reg":              {"register"},
		"sayso mcp register --pro":   {"--project"},
		"sayso serve --workspace":    {"--workspace-root"},
		"sayso completion ":          {"bash", "zsh", "fish"},
		"sayso man pen":              {"pending"},
		"sayso --":                   {"--help"},
		"sayso answer 12345678 all":  {"allow"},
		"sayso pending --j":          {"--json"},
		"sayso doctor --state":       {"--state-dir"},
		"sayso user add x --role --": {"--database", "--role", "--state-dir", "--help"},
	} {
		words := strings.Split(typed, " ")
		cmd := exec.Command("bash", "-uc", script.String()+"\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _sayso; echo \"${COMPREPLY[@]}\"", "bash")
		cmd.Args = append(cmd.Args, words...)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != strings.Join(wants, " ") {
			t.Errorf("%q: %q (%v), want %q", typed, got, err, wants)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		var script bytes.Buffer
		if err := completion([]string{shell}, &script); err != nil {
			t.Fatal(err)
		}
		for _, c := range commands() {
			for _, o := range c.options() {
				if !c.internal && !strings.Contains(script.String(), o.name) {
					t.Errorf("the script for %s lacks --%s", shell, o.name)
				}
			}
		}
	}
}

// TestFlagsBetweenArguments puts flags everywhere.
func TestFlagsBetweenArguments(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"a --x 1 b":  "a b 1",
		"--x 1 a b":  "a b 1",
		"a b --x=1":  "a b 1",
		"a -- --x 1": "a --x 1 ",
	} {
		x := ""
		rest, err := parseFlags(newFlags("t", func(f *flag.FlagSet) { f.StringVar(&x, "x", "", "x") }), strings.Fields(typed))
		if got := strings.Join(rest, " ") + " " + x; err != nil || got != want {
			t.Errorf("%q: %q (%v), want %q", typed, got, err, want)
		}
	}
}

// TestTables fit into their terminal, and say all elsewhere.
func TestTables(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"1", "short", "x"}, {"2", strings.Repeat("漢字 long ", 20), "y"}}
	for _, width := range []int{0, 40, 80} {
		var out bytes.Buffer
		(&screen{w: &out, width: width}).table([]string{"ID", "TITLE", "END"}, rows, 1, nil)
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if len(lines) != 3 || strings.Contains(out.String(), "\x1b") {
			t.Fatalf("%d columns:\n%s", width, out.String())
		}
		for _, line := range lines {
			if width > 0 && columnsOf(line) > width {
				t.Errorf("%d columns: %q has %d", width, line, columnsOf(line))
			}
		}
		if whole := strings.Contains(out.String(), rows[1][1]); whole != (width == 0) {
			t.Errorf("%d columns: whole %v", width, whole)
		}
	}
	var out bytes.Buffer
	(&screen{w: &out, width: 20}).quoted("one two three four five six\n")
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "  │ ") || columnsOf(line) > 21 {
			t.Errorf("%q", line)
		}
	}
}

// TestStatusCountsRequests reads the line of sayso status about open requests.
func TestStatusCountsRequests(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for n, want := range map[int]string{
		0: "none",
		1: "1 request needs your attention, opened 2 min ago. Show it: sayso pending",
		3: "3 requests need your attention, the oldest opened 2 min ago. Show them: sayso pending",
	} {
		var out bytes.Buffer
		s := serverStatus{Ready: true, OpenRequests: n, OldestAt: float64(now.Unix() - 120), Sessions: map[session.State]int{}}
		s.print(newScreen(&out, func(string) string { return "" }), now)
		if !strings.Contains(out.String(), " "+want+"\n") {
			t.Errorf("%d requests:\n%s", n, out.String())
		}
		if !strings.Contains(out.String(), " none running\n") {
			t.Errorf("without sessions:\n%s", out.String())
		}
	}
}
