// Command bench measures the performance goals of sayso. It starts the built server with itself
// as the CLI, and acts as the tabs. Every figure is compared with an anchor measured in the same
// run, because ratios depend less on the machine than times do.
//
// The program also acts as those that it starts: a stub of the CLI and two echo servers.
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

// run rejects unknown arguments. The server runs its CLI with various arguments, and a CLI that
// started to measure would start servers without end.
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
		// No server must be left if the reader of the output goes away.
		signal.Ignore(syscall.SIGPIPE)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return measure(ctx, args[1:])
	}
	return fmt.Errorf("no such command %q; measure is for people", args)
}

// isCLIFlag reports whether an argument makes this program act as the CLI.
func isCLIFlag(arg string) bool { return strings.HasPrefix(arg, "--output-format") }

// settings configures a run.
type settings struct {
	self   string // path of this program
	sayso  string
	sdk    string // folder in which the official TypeScript SDK is installed
	rounds int
	// anchors is the path of the program of cmd/bench/anchors.
	anchors string
	report  *report

	// Of the servers. An empty claude means the stub.
	claude  string
	flags   []string // of serve
	environ []string // KEY=value
}

// parts lists the values of -only, in the order of the run.
var parts = []struct {
	name string
	run  func(context.Context, settings) error
}{
	{"start", benchStart}, {"path", benchPath}, {"memory", benchMemory}, {"ingest", benchIngest}, {"fanout", benchFanOut},
	{"sessions", benchSessions}, {"load", benchLoad}, {"growing", benchGrowingMessage}, {"cli", benchCLI},
	{"database", benchDatabase}, {"postgres", benchPostgres}, {"cluster", benchCluster}, {"sizing", benchSizing}, {"curves", benchCurves},
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
	var failed []error // the other parts still run
	for _, part := range parts {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.run(ctx, s); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", part.name, err))
		}
		if *file != "" { // after each part, so that an interrupted run keeps its figures
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
