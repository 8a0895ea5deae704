// Command bench measures what sayso promises to be quick at. It starts the real
// server with itself as the CLI, and plays the tabs. Every figure stands beside
// an anchor that was measured in the same run, because machines differ and
// ratios do not.
//
// It is also the programs that it starts: a stub of the CLI, and two echoes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run refuses what it does not know. The server asks its CLI this and that, and
// a CLI that answered by measuring would start servers without end.
func run(args []string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case slices.ContainsFunc(args, isCLIFlag):
		return stub(os.Stdin, os.Stdout)
	case verb == "--version":
		fmt.Println("2.1.329 (Claude Code)")
		return nil
	case slices.Equal(args, []string{"auth", "status"}):
		return nil // signed in
	case verb == "pipe-echo":
		return pipeEcho(os.Stdin, os.Stdout)
	case verb == "websocket-echo":
		return webSocketEcho(os.Stdin, os.Stdout)
	case verb == "measure":
		// Whoever stops reading what this prints must not leave servers behind.
		signal.Ignore(syscall.SIGPIPE)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return measure(ctx, args[1:])
	}
	return fmt.Errorf("no such command %q; measure is for people", args)
}

// isCLIFlag tells that whoever starts this program takes it for the CLI.
func isCLIFlag(arg string) bool { return strings.HasPrefix(arg, "--output-format") }

// settings of one run.
type settings struct {
	self   string // path of this program
	sayso  string
	sdk    string // folder in which the official TypeScript SDK is installed
	rounds int
	// anchors is the path of the program of cmd/bench/anchors.
	anchors string
	report  *report

	// Of the servers that are started; the stub and nothing else unless set.
	claude  string
	flags   []string // of serve
	environ []string // KEY=value
}

// parts are what -only takes, in the order in which they are measured.
var parts = []struct {
	name string
	run  func(context.Context, settings) error
}{
	{"start", benchStart}, {"path", benchPath}, {"memory", benchMemory}, {"ingest", benchIngest}, {"fanout", benchFanOut},
	{"sessions", benchSessions}, {"load", benchLoad}, {"growing", benchGrowing}, {"cli", benchCLI},
	{"database", benchDatabase}, {"postgres", benchPostgres}, {"curves", benchCurves},
}

func measure(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = part.name
	}
	s := settings{self: self, sayso: filepath.Join(filepath.Dir(self), "sayso"), report: newReport()}
	flags := flag.NewFlagSet("bench measure", flag.ContinueOnError)
	flags.StringVar(&s.sdk, "sdk", "", "folder with the official TypeScript SDK, to compare with")
	flags.StringVar(&s.anchors, "anchors", "", "program of cmd/bench/anchors, which fan-out is compared with")
	flags.IntVar(&s.rounds, "rounds", 5, "how often each figure is taken, in turn with its anchor")
	only := flags.String("only", "", "one of "+strings.Join(names, ", ")+"; all when empty")
	file := flags.String("json", "", "file that gets the samples; parts that it has from the same commit are replaced")
	against := flags.String("against", "", "another sayso, whose way of an approval is measured in turn with this one's, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *against != "" {
		return benchAgainst(ctx, s, *against)
	}
	if *only != "" && !slices.Contains(names, *only) {
		return fmt.Errorf("no part is named %q", *only)
	}
	var failed []error // no reason to leave out what comes after
	for _, part := range parts {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.run(ctx, s); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", part.name, err))
		}
		if *file != "" { // after each part: whoever interrupts has what was measured
			failed = append(failed, s.report.write(*file))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if below := s.report.belowFloor(); len(below) > 0 {
		err := fmt.Errorf("below the floor: %s", strings.Join(below, ", "))
		if os.Getenv("BENCH_STRICT") == "1" {
			failed = append(failed, err)
		} else {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	return errors.Join(failed...)
}
