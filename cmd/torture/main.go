// Command torture proves that the server may die at any instant. It uses the product only over
// the wire and the command line, and reads the records of scripted CLIs.
//
//	torture -sayso bin/sayso                         1,000 kills, 3,000 requests
//	torture -sayso bin/sayso -kills 50 -requests 200 in a few seconds
//	torture -sayso bin/sayso -other old/sayso        two builds in turn: an upgrade and back, each time
//	torture -sayso bin/sayso -shim-kills 10          kills shims, not the server
//	torture -sayso bin/sayso -outages 100 [-database postgres]
//	                                                 makes the database fail, not the server
//	torture -sayso bin/sayso -runners 2 -faults 10m [-database postgres [-servers 2]]
//	                                                 lets servers, runners and connections fail
//	torture -sayso bin/sayso -soak 1h                finds what grows while sessions and tabs come and go
//	torture -sayso bin/sayso -r2 -open 1000 -tabs 50 measures how fast all forms return
//
// The first command proves R1. Several sessions ask continuously: approvals and questions,
// several at once, some of them withdrawn. Tabs, each with its own user, answer every request
// in different ways. Like the web app, they keep an answer until it is acked and send it again
// on the next connection. They hold a third of the answers and undo a third of those; then they
// answer again, or leave that to other tabs for a while. Meanwhile the server is killed repeatedly
// with SIGKILL, milliseconds after it is up, and restarted, and messages to the sessions keep
// coming. If too few answers get through, the time between kills grows. The last phase, without
// kills, settles everything.
//
// Then the command compares three ledgers: the acks of the tabs, the server's REST API
// (transcripts, open requests, and the winner that it names when each request is answered
// again), and the records of the CLIs. These are faults:
//
//   - A request is lost.
//   - A CLI receives two answers to a request, an answer to another request, or another answer
//     than the one that was acked as applied.
//   - Two answers are acked as applied, or one that the CLI does not receive.
//   - An undone answer counts, or a held one that was not undone gives way to another.
//   - A CLI ends, although only the server was killed.
//   - An ack is missing or changes, or the stored outcome differs.
//   - A line of a CLI or a message to one is missing or doubled.
//   - A process is left at the end.
//
// With -outages, the database fails instead of the server: a PostgreSQL of this run is stopped
// immediately and started, loses a backend to SIGKILL, or hangs; for SQLite the disk is full, or
// another program locks the file. It is then also a fault if a tab differs from the database 3
// seconds after it is back, or if no answer gets through.
//
// With -runners, the sessions run on other hosts, each of which reaches the servers over separate lines.
// In an order that depends on the seed, servers and runners are killed or stopped for a while, their
// clocks jump an hour, lines between runners, servers and PostgreSQL are cut, lose everything or are
// slow, and PostgreSQL fails or its notifications are lost. The limits are those of -outages. Moreover,
// what tabs, the store and CLIs saw of each request must be linearizable, each change of the database
// must be a step of the model by a server that may take it, and the shim of a CLI must have recorded
// each line from and to it once.
//
// If the CLI withdraws a request at the same moment as an answer is applied, the CLI may receive
// it or not. Such answers are counted, but are not faults.
//
// The exit status is 1 if there is a fault; the files are then kept. The printed seed determines
// the decisions, but not their times.
//
// The program is also the CLI that the server starts, see playCLI.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == asCLI {
		os.Exit(playCLI(os.Args[2:]))
	}
	// No process must be left if the reader of the output goes away.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	faulty, err := torture(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	case faulty:
		os.Exit(1)
	}
}

// torture parses the command line and runs the command.
func torture(ctx context.Context, args []string) (faulty bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	s := defaults(self)
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	sayso := flags.String("sayso", filepath.Join(filepath.Dir(self), "sayso"), "path of sayso")
	another := flags.String("other", "", "path of another build of sayso, which takes every other turn")
	flags.StringVar(&s.database, "database", "", "database of the server; one that is empty, or \"postgres\" for a PostgreSQL of the run's own (default: sqlite in its state folder)")
	flags.Uint64Var(&s.seed, "seed", rand.Uint64(), "of all decisions")
	flags.BoolVar(&s.keep, "keep", false, "keep the folder of the run")
	flags.IntVar(&s.sessions, "sessions", 0, "sessions (default 20, with -soak 100)")
	flags.IntVar(&s.kills, "kills", s.kills, "how often the server is killed")
	flags.IntVar(&s.requests, "requests", s.requests, "how many requests the CLIs ask")
	flags.BoolVar(&s.holds, "holds", s.holds, "have a third of the answers held, and take some back; -holds=false for an -other that cannot")
	flags.DurationVar(&s.minUptime, "least", s.minUptime, "shortest life of a server after it has come up")
	flags.DurationVar(&s.maxUptime, "most", s.maxUptime, "longest life")
	flags.DurationVar(&s.settle, "settle", s.settle, "how long the phase without kills waits without progress")
	limit := flags.Duration("limit", 30*time.Minute, "of the whole run")
	flags.IntVar(&s.tabs, "tabs", 0, "tabs (default 2, with -r2 and -soak 50)")
	flags.IntVar(&s.shimKills, "shim-kills", 0, "kill so many shims instead of the server, at most one for each session")
	flags.IntVar(&s.outages, "outages", 0, "let the database fail so many times instead of killing the server; without -database, or with -database postgres; some 1,500 an hour")
	flags.DurationVar(&s.soakFor, "soak", 0, "kill nothing and let sessions and tabs come and go for so long; fails when memory, goroutines, descriptors or folders grow")
	flags.IntVar(&s.runners, "runners", 0, "run the sessions on so many other hosts, and let these, the server and what is between them fail")
	flags.IntVar(&s.servers, "servers", 1, "with -runners and -database postgres: how many servers share the database")
	flags.DurationVar(&s.faultsFor, "faults", 20*time.Second, "with -runners: for how long; make torture-cluster takes 10 minutes")
	r2 := flags.Bool("r2", false, "time the return of all forms instead")
	flags.IntVar(&s.open, "open", s.open, "with -r2: open requests")
	flags.IntVar(&s.rounds, "rounds", s.rounds, "with -r2: how often the server is killed")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() > 0 {
		return false, fmt.Errorf("there is no use for %q", flags.Arg(0))
	}
	for _, path := range []string{*sayso, *another} {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return false, err
		}
		if _, err := os.Stat(path); err != nil {
			return false, fmt.Errorf("%w; build sayso first, or say with -sayso where it is", err)
		}
		s.builds = append(s.builds, path)
	}
	if s.soakFor > 0 {
		s.sessions = orElse(s.sessions, 100)
		*limit = max(*limit, s.soakFor+10*time.Minute)
	}
	if s.servers > 1 && (s.runners == 0 || s.database != "postgres") {
		return false, errors.New("several servers need runners and PostgreSQL: -runners 2 -database postgres")
	}
	if s.runners > 0 {
		s.sessions = orElse(s.sessions, 8)
		s.requests = max(s.sessions, int(s.faultsFor.Seconds())*faultyRate)
		*limit = max(*limit, 2*s.faultsFor+10*time.Minute)
	}
	s.sessions = orElse(s.sessions, 20)
	if s.sessions < 1 || s.kills < 1 || s.requests < s.sessions || s.minUptime > s.maxUptime {
		return false, errors.New("there must be a session, a kill, and a request for each session")
	}
	if s.outages > 0 || s.runners > 0 {
		if s.database != "" && s.database != "postgres" {
			return false, errors.New("only a database of the run's own can be made to fail: -database postgres, or none for sqlite")
		}
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		if !given["least"] {
			s.minUptime = 50 * time.Millisecond
		}
		if !given["most"] {
			s.maxUptime = 500 * time.Millisecond
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("the run took longer than %s", *limit))
	defer cancel()
	run := runCrash
	switch {
	case *r2:
		run = runRestore
		s.tabs = orElse(s.tabs, 50)
	case s.soakFor > 0:
		run = runSoak
		s.tabs = orElse(s.tabs, 50)
	case s.shimKills > 0:
		run = runShimKills
	}
	s.tabs = orElse(s.tabs, 2)
	faults, err := run(ctx, s)
	if err != nil {
		return false, err
	}
	if len(faults) > 0 {
		fmt.Fprintf(s.out, "\nFAILED with seed %d: %d faults\n", s.seed, len(faults))
	} else {
		fmt.Fprintf(s.out, "\nall is well; seed %d\n", s.seed)
	}
	return len(faults) > 0, nil
}

// defaults returns the settings of the proof.
func defaults(self string) settings {
	return settings{
		self: self, out: os.Stdout, holds: true, sessions: 20, kills: 1000, requests: 3000,
		minUptime: 5 * time.Millisecond, maxUptime: 30 * time.Millisecond, settle: 30 * time.Second,
		open: 1000, rounds: 1, slack: 1,
	}
}

// faultyRate is how many requests a second the CLIs ask in a run with runners.
const faultyRate = 8

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
