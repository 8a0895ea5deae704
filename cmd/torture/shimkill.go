package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// The limits of R23, and how long to wait beyond them to measure by how much they are missed.
const (
	orphanedIn = 2 * time.Second
	goneIn     = 5 * time.Second
	resumedIn  = 10 * time.Second
	patience   = 15 * time.Second
)

const perSession = 4 // open requests of each session in the run of R23

// shimRun is one run of R23.
type shimRun struct {
	*harness
	tab      *tab
	sessions []string
	random   func(int) int

	orphaned, gone, resumed []time.Duration
	faults                  []fault
}

// runShimKills proves R23: shims killed one after the other.
func runShimKills(ctx context.Context, s settings) ([]fault, error) {
	h, err := openHarness(ctx, s, true)
	if err != nil {
		return nil, err
	}
	r := &shimRun{harness: h, random: s.random(4).IntN}
	if err := r.run(ctx); err != nil {
		r.blame(otherFaults, "run", "%v", err)
	}
	faults := h.close(ctx, r.sessions, r.faults)
	fmt.Fprintf(s.out, "\n## Shims killed %d times, seed %d\n\n", len(r.orphaned), s.seed)
	s.header("what, ms", "")
	fmt.Fprintf(s.out, "| killed → session dead and its requests orphaned, in a tab | %s |\n", summary(r.orphaned))
	fmt.Fprintf(s.out, "| killed → CLI and its children gone | %s |\n", summary(r.gone))
	fmt.Fprintf(s.out, "| asked to resume → running again | %s |\n", summary(r.resumed))
	printFaults(s.out, faults)
	return faults, nil
}

func (r *shimRun) blame(kind, id, format string, args ...any) {
	r.faults = append(r.faults, fault{kind, id, fmt.Sprintf(format, args...)})
}

func (r *shimRun) run(ctx context.Context) error {
	texts := writer{random: r.settings.random(1)}
	for i := range r.settings.sessions {
		texts.steps++
		title := fmt.Sprintf("session %d", i)
		id, err := r.session(ctx, message{Title: title, Text: title + "\n" + claudetest.Prompt(claudetest.Step{Ask: texts.ask(), Count: perSession, Parallel: true})})
		if err != nil {
			return err
		}
		r.sessions = append(r.sessions, id)
	}
	if _, err := r.awaitOpen(ctx, perSession*len(r.sessions)); err != nil {
		return err
	}
	var err error
	if r.tab, err = r.harness.tab(ctx, 0, tabOptions{first: firstBackoff, longest: longestBackoff}); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	watchers.Go(func() { r.tab.run(watching) })
	alive := append([]string(nil), r.sessions...)
	for n := range min(r.shimKills, len(r.sessions)) {
		i := r.random(len(alive))
		id := alive[i]
		alive = append(alive[:i], alive[i+1:]...)
		if err := r.killOne(ctx, id, alive, n%2 == 0); err != nil {
			return err
		}
	}
	return nil
}

// cliOf finds the newest CLI of a session.
func (r *shimRun) cliOf(id string) (*cliLedger, error) {
	clis, err := readRecords(r.records)
	if err != nil {
		return nil, err
	}
	for i := len(clis) - 1; i >= 0; i-- {
		if clis[i].SessionID == id {
			return clis[i], nil
		}
	}
	return nil, fmt.Errorf("session %s has no CLI", id)
}

// killOne kills the shim of a session and checks R23, and that other sessions are not affected.
func (r *shimRun) killOne(ctx context.Context, id string, others []string, resume bool) error {
	cli, err := r.cliOf(id)
	if err != nil {
		return err
	}
	shim := r.alive([]*cliLedger{{Parent: cli.Parent}})
	if len(shim) != 1 || parentOf(cli.PID) != cli.Parent {
		return fmt.Errorf("the CLI of session %s is not kept by a shim but by process %d, the server is %d", id, cli.Parent, r.serverPID())
	}
	at := time.Now()
	if err := syscall.Kill(cli.Parent, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the shim of session %s: %w", id, err)
	}
	took, err := r.until(ctx, at, func() bool { return r.isOrphaned(id) })
	if err != nil {
		return err
	}
	r.orphaned = append(r.orphaned, took)
	if took > orphanedIn*r.settings.slack {
		dead, n := r.stateOf(id)
		r.blame(missedLimits, id, "after %s dead: %t, orphaned requests: %d of %d", took.Round(time.Millisecond), dead, n, perSession)
	}
	tree := &cliLedger{PID: cli.PID, Children: cli.Children}
	if took, err = r.until(ctx, at, func() bool { return len(r.alive([]*cliLedger{tree})) == 0 }); err != nil {
		return err
	}
	r.gone = append(r.gone, took)
	if left := r.alive([]*cliLedger{tree}); took > goneIn*r.settings.slack {
		r.blame(missedLimits, id, "%s after its shim was killed, of the CLI %d and its children %v there was left: %s", took.Round(time.Millisecond), cli.PID, cli.Children, pids(left))
	}
	for _, other := range others {
		if err := r.checkUntouched(other); err != nil {
			return err
		}
	}
	if !resume {
		return nil
	}
	at = time.Now()
	if err := r.admin.Do(ctx, http.MethodPost, "/api/sessions/"+id+"/resume", map[string]any{}, nil); err != nil {
		r.blame(otherFaults, id, "it cannot be resumed: %v", err)
		return nil
	}
	took, err = r.until(ctx, at, func() bool {
		dead, _ := r.stateOf(id)
		now, err := r.cliOf(id)
		return !dead && err == nil && now.PID != cli.PID
	})
	r.resumed = append(r.resumed, took)
	if took > resumedIn*r.settings.slack {
		r.blame(missedLimits, id, "%s after it was resumed it does not run", took.Round(time.Millisecond))
	}
	return err
}

// until waits for a condition and returns the time since at, or the whole timeout if the
// condition was never met.
func (r *shimRun) until(ctx context.Context, at time.Time, holds func() bool) (time.Duration, error) {
	for {
		switch took := time.Since(at); {
		case holds():
			return time.Since(at), nil
		case took > patience*r.settings.slack:
			return took, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-r.server.Exited():
			return 0, errors.New("the server ended by itself; it said:\n" + r.server.LogTail())
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// stateOf returns the state of a session in the tab.
func (r *shimRun) stateOf(id string) (dead bool, orphaned int) {
	r.tab.mu.Lock()
	defer r.tab.mu.Unlock()
	return !r.tab.dead[id].IsZero(), len(r.tab.orphaned[id])
}

func (r *shimRun) isOrphaned(id string) bool {
	dead, orphaned := r.stateOf(id)
	return dead && orphaned == perSession
}

// checkUntouched checks that a session whose shim was not killed has not changed.
func (r *shimRun) checkUntouched(id string) error {
	cli, err := r.cliOf(id)
	if err != nil {
		return err
	}
	r.tab.mu.Lock()
	open := 0
	for requestID := range r.tab.open {
		if r.tab.ledger.Shown[requestID].SessionID == id {
			open++
		}
	}
	r.tab.mu.Unlock()
	dead, orphaned := r.stateOf(id)
	if dead || orphaned > 0 || open != perSession || cli.EOF || cli.Exit || len(r.alive([]*cliLedger{cli})) != 2+len(cli.Children) {
		r.blame(disturbed, id, "dead %t, orphaned %d, open %d of %d, its CLI ended %t", dead, orphaned, open, perSession, cli.EOF || cli.Exit)
	}
	return nil
}

// parentOf returns the process id of a process's parent, 0 if the process has exited.
func parentOf(pid int) int {
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	parent, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return parent
}
