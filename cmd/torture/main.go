// Command torture proves that the server may die at any instant. It knows the
// product through the wire, the command line and what scripted CLIs record, and
// through nothing else.
//
//	torture -sayso bin/sayso                         1,000 kills, 3,000 requests
//	torture -sayso bin/sayso -kills 50 -requests 200 in a few seconds
//	torture -sayso bin/sayso -other old/sayso        two builds in turn: an upgrade and back, each time
//	torture -sayso bin/sayso -shim-kills 10          kills shims, not the server
//	torture -sayso bin/sayso -outages 100 [-database postgres]
//	                                                 lets the database fail, not the server
//	torture -sayso bin/sayso -soak 1h                says what grows while sessions and tabs come and go
//	torture -sayso bin/sayso -r2 -open 1000 -tabs 50 times the return of all forms
//
// The first is the proof of R1. Some sessions work on scripts that ask all the
// time: approvals and questions, several at once, some withdrawn again. Tabs,
// each of a user of its own, answer everything that they are shown, each
// differently, keep what was not acked and say it again on the next connection,
// as the web app does. A third of the answers they have held for some time, and a
// third of those they take back; then they answer once more, or leave it to the
// others for a while. Meanwhile the server is killed with SIGKILL again and
// again some milliseconds after it has come up, and started at once. Messages
// to the sessions come in all the while. When too few answers get through, the
// server is left alone a little longer each time. A phase without kills lets
// everything be settled.
//
// Then three ledgers are held against each other: what the tabs were told, what
// the server says over REST (transcripts, open requests, and to whom a further
// answer to each request is said to have lost), and what the CLIs recorded. It
// is a fault if a request is lost; if a CLI hears two answers to one, or another
// answer than the one whose tab was told applied, or one that was given to
// another request; if two tabs are told applied, or one and the CLI hears
// nothing; if an answer counts or is heard that was taken back, or one that was
// held and not taken back gives way to another; if a CLI ends though only the server was killed; if an ack changes or
// is missing; if what is stored says otherwise; if a line of a CLI or a message
// to one is missing or doubled; and if a process is left when all is over.
//
// With -outages the server lives on and its database fails: a PostgreSQL of the run's own
// is stopped at once and started, loses a backend to SIGKILL, or hangs; for SQLite the disk
// is full, or another program holds the file. It is then also a fault if a tab differs from
// what is stored 3 seconds after the database is back, or if no answer gets through.
//
// An answer that was applied at the very time at which the CLI withdrew the
// request may be heard or not; it is counted and no fault.
//
// The exit status is 1 when there is a fault, and everything is then left for
// inspection. Decisions follow from the printed seed; the instants at which they
// fall do not.
//
// It is also the CLI that it has the server start, see playCLI.
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
	// Whoever stops reading what this prints must not leave processes behind.
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

// torture reads the command line and runs what it asks for.
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
	flags.DurationVar(&s.least, "least", s.least, "shortest life of a server after it has come up")
	flags.DurationVar(&s.most, "most", s.most, "longest life")
	flags.DurationVar(&s.settle, "settle", s.settle, "how long the phase without kills waits without progress")
	limit := flags.Duration("limit", 30*time.Minute, "of the whole run")
	flags.IntVar(&s.tabs, "tabs", 0, "tabs (default 2, with -r2 and -soak 50)")
	flags.IntVar(&s.shimKills, "shim-kills", 0, "kill so many shims instead of the server, at most one for each session")
	flags.IntVar(&s.outages, "outages", 0, "let the database fail so many times instead of killing the server; without -database, or with -database postgres; some 1,500 an hour")
	flags.DurationVar(&s.soakFor, "soak", 0, "kill nothing and let sessions and tabs come and go for so long; fails when memory, goroutines, descriptors or folders grow")
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
	s.sessions = orElse(s.sessions, 20)
	if s.sessions < 1 || s.kills < 1 || s.requests < s.sessions || s.least > s.most {
		return false, errors.New("there must be a session, a kill, and a request for each session")
	}
	if s.outages > 0 {
		if s.database != "" && s.database != "postgres" {
			return false, errors.New("only a database of the run's own can be made to fail: -database postgres, or none for sqlite")
		}
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		if !given["least"] {
			s.least = 50 * time.Millisecond
		}
		if !given["most"] {
			s.most = 500 * time.Millisecond
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

// defaults are those of the proof.
func defaults(self string) settings {
	return settings{
		self: self, out: os.Stdout, holds: true, sessions: 20, kills: 1000, requests: 3000,
		least: 5 * time.Millisecond, most: 30 * time.Millisecond, settle: 30 * time.Second,
		open: 1000, rounds: 1, slack: 1,
	}
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
