// Command approvaltest checks whether a host of Claude Code handles approvals correctly. It plays both
// the CLI that the host starts and the person who answers, and compares the requests of the CLI with
// the decisions of the person and the answers of the host.
//
//	approvaltest [flags] client                  package claude of this repository
//	approvaltest [flags] sayso PATH              a built sayso
//	approvaltest [flags] driver COMMAND ARGS...  any host, through a driver: see docs/protocol/hosts.md
//
// It exits with 0 if every scenario passed, 1 if one failed, and 2 if it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == asCLI {
		if err := relay(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(command(ctx, os.Args[1:], []string{self, asCLI}, os.Stdout, os.Stderr))
}

var errUsage = errors.New("usage: approvaltest [flags] client | sayso PATH | driver COMMAND ARGS")

// command runs the program and returns its exit status.
func command(ctx context.Context, args, self []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("approvaltest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o := options{self: self, progress: stderr}
	names := flags.String("scenarios", "", "names of the scenarios to run, separated by commas; all if empty")
	flags.BoolVar(&o.long, "long", false, "also run scenarios that take a minute or much memory")
	flags.DurationVar(&o.patience, "patience", defaultPatience, "how long the host may take for what it has to do")
	flags.StringVar(&o.out, "out", "", "folder for report.txt, report.md, report.xml (JUnit) and a trace of each scenario")
	list := flags.Bool("list", false, "print the scenarios and exit")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *list {
		for _, s := range scenarios {
			fmt.Fprintf(stdout, "%-16s %s\n", s.name, s.does)
		}
		return 0
	}
	var err error
	if o.start, err = starterOf(flags.Arg(0), flags.Args()[min(1, flags.NArg()):]); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if *names != "" {
		o.scenarios = strings.Split(*names, ",")
	}
	if o.out != "" {
		if err := os.MkdirAll(filepath.Join(o.out, "traces"), 0o755); err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
	}
	rep, err := check(ctx, o)
	if err == nil && o.out != "" {
		err = rep.write(o.out)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	rep.text(stdout)
	if rep.failed() {
		return 1
	}
	return 0
}
