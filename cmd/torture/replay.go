package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
)

// The steps that a request and its delivery may take (docs/model/sayso.pml).
var (
	requestSteps = map[pending.Status][]pending.Status{
		pending.Open:     {pending.Orphaned, pending.Answered, pending.Denied, pending.Withdrawn, pending.Expired},
		pending.Orphaned: {pending.Answered, pending.Denied, pending.Withdrawn},
	}
	deliverySteps = map[pending.Delivery][]pending.Delivery{
		pending.NotDelivered: {pending.Queued}, // with its answer
		pending.Queued:       {pending.Delivered, pending.Consumed, pending.Carried, pending.Dropped},
		pending.Delivered:    {pending.Consumed, pending.Dropped},
	}
)

// stored is what the database holds, according to the trail.
type stored struct {
	requests  map[string]change
	processes map[string]change
	leases    map[string]change // the newest of each runner
}

// replay checks that each change of the trail is a step of the model, taken by a server that could take
// it at that time. It returns how many were steps.
func replay(trail []change) (steps int, faults []fault) {
	s := stored{requests: map[string]change{}, processes: map[string]change{}, leases: map[string]change{}}
	for _, c := range trail {
		if why := s.apply(c); why != "" {
			faults = append(faults, fault{againstModel, c.ID, fmt.Sprintf("%s: %s", c, why)})
		} else {
			steps++
		}
	}
	return steps, faults
}

// apply makes a change and returns why it is not a step of the model, "" if it is one.
func (s stored) apply(c change) (why string) {
	switch c.What {
	case "lease":
		was, known := s.leases[c.RunnerID]
		if s.leases[c.RunnerID] = c; known && (c.Number < was.Number || c.Number == was.Number && c.State != "") {
			return fmt.Sprintf("the epoch before was %d", was.Number)
		}
	case "process":
		was, known := s.processes[c.ID]
		s.processes[c.ID] = c
		switch {
		case known && c.Number <= was.Number:
			return fmt.Sprintf("the version before was %d", was.Number)
		case known && c.ProcessID == was.ProcessID && !session.CanMove(session.State(was.State), session.State(c.State)):
			return "the state before was " + was.State
		}
		return s.mayWrite(c)
	case "request":
		was, known := s.requests[c.ID]
		s.requests[c.ID] = c
		if !known {
			if c.State != string(pending.Open) && c.Delivery != string(pending.Queued) {
				return "a new request is open, or has the answer of an earlier one"
			}
			return s.mayWrite(c)
		}
		return s.step(was, c)
	}
	return ""
}

// step returns why a request may not change like this, "" if it may.
func (s stored) step(was, c change) (why string) {
	from, to := pending.Status(was.State), pending.Status(c.State)
	decided := to == pending.Answered || to == pending.Denied
	switch {
	case from != to && !slices.Contains(requestSteps[from], to):
		return "it was " + was.State
	case from.Final() && (was.Answer != c.Answer || was.By != c.By):
		return "it had another answer, by " + was.By
	case was.Delivery != c.Delivery && !slices.Contains(deliverySteps[pending.Delivery(was.Delivery)], pending.Delivery(c.Delivery)):
		return "its delivery was " + was.Delivery
	case decided != (c.Delivery != ""):
		return "what was decided is delivered, and nothing else"
	case to.Final() && c.Held != "":
		return "an answer to it is still held"
	case was.Held != "" && c.Held != "" && was.Held != c.Held && to == from && was.Undone == c.Undone:
		return "" // a denial replaces an approval
	case !strings.HasPrefix(c.Undone, was.Undone):
		return "what was undone is forgotten"
	case c.Held != "" && strings.Contains(c.Undone, " "+c.Held+" "):
		return "what is held was undone"
	}
	// Only the server that drives the runner may make changes other than those of people.
	if was.Delivery != "" && was.Delivery != c.Delivery || from != to && !decided {
		return s.mayWrite(c)
	}
	return ""
}

// mayWrite returns why the server may not write about a process of the runner, "" if it may.
func (s stored) mayWrite(c change) (why string) {
	switch lease := s.leases[c.RunnerID]; {
	case lease.State == "":
		return "no server drives its runner"
	case lease.Server != c.Server:
		return fmt.Sprintf("%s has driven its runner since note %d, with epoch %d", lease.Server, lease.N, lease.Number)
	}
	return ""
}

// journal is what the shim of a CLI has recorded.
type journal struct {
	SessionID string
	RunnerID  string
	CLI       int      // its process
	Printed   []string // what it asked, withdrew and said, in order
	Lines     int      // that the shim has written to it
	Epoch     uint64   // of the server that attached last
	Err       error    // why it cannot be read
}

// readJournals returns the journals of all sessions on other hosts.
func (h *harness) readJournals(ctx context.Context) (all []journal, err error) {
	for _, r := range h.hosts {
		bundles, err := shim.List(filepath.Join(r.options.StateDir(), "shims"))
		if err != nil {
			return nil, err
		}
		for _, b := range bundles {
			j, err := readJournal(ctx, b)
			j.RunnerID, j.Err = r.id, err
			all = append(all, j)
		}
	}
	return all, nil
}

func readJournal(ctx context.Context, b shim.Bundle) (j journal, err error) {
	j = journal{SessionID: b.Meta.SessionID, CLI: b.Meta.CLI}
	state, err := shim.ReadStat(ctx, b.Dir)
	if err != nil {
		return j, err
	}
	j.Epoch = state.Epoch
	const keySize = 16
	keys, err := os.Stat(filepath.Join(b.Dir, "keys"))
	if err != nil {
		return j, err
	}
	j.Lines = int(keys.Size() / keySize)
	if state.First > 0 {
		return j, errors.New("its beginning was deleted; a run this long cannot be checked")
	}
	err = shim.ReadJournal(b.Dir, 0, func(_ int64, line []byte, mark shim.Mark) error {
		if mark.Lost > 0 {
			return fmt.Errorf("%d bytes are unreadable", mark.Lost)
		}
		var m output
		var other *json.UnmarshalTypeError // a message of which nothing is recorded
		if err := json.Unmarshal(line, &m); err != nil && !errors.As(err, &other) {
			return fmt.Errorf("%w in %q", err, line)
		}
		for _, e := range m.entries() {
			j.Printed = append(j.Printed, e.printed())
		}
		return nil
	})
	return j, err
}

// replayJournals compares the journals of the shims with what the CLIs did and, if there is one, with the
// trail: each line of a CLI is recorded once, each line that it read was written once by its shim, and
// no answer was sent before it was stored. It returns how many lines were checked.
func replayJournals(l ledgers) (lines int, faults []fault) {
	add := func(id, format string, args ...any) {
		faults = append(faults, fault{againstModel, id, fmt.Sprintf(format, args...)})
	}
	decided, leases := map[string]change{}, map[string]change{}
	ended := slices.ContainsFunc(l.CLIs, func(c *cliLedger) bool { return c.EOF || c.Exit })
	for _, c := range l.Trail {
		switch {
		case c.State == string(pending.Orphaned) && !ended:
			add(c.ID, "%s: every CLI lives", c)
		case c.What == "lease":
			leases[c.RunnerID] = c
		case c.What == "request" && c.Delivery != "":
			if _, known := decided[c.Asked]; !known {
				decided[c.Asked] = c
			}
		}
	}
	journals := map[int]journal{}
	for _, j := range l.Journals {
		journals[j.CLI] = j
		if lease := leases[j.RunnerID]; len(l.Trail) > 0 && j.Epoch > uint64(lease.Number) {
			add(j.SessionID, "its shim had a server with epoch %d, but no lease has one above %d", j.Epoch, lease.Number)
		}
	}
	for _, cli := range l.CLIs {
		j, known := journals[cli.PID]
		if !known || j.Err != nil {
			add(cli.SessionID, "the journal of process %d cannot be read: %v", cli.PID, j.Err)
			continue
		}
		lines += len(cli.Printed) + cli.Lines
		if !slices.Equal(cli.Printed, j.Printed) {
			n := 0
			for n < min(len(cli.Printed), len(j.Printed)) && cli.Printed[n] == j.Printed[n] {
				n++
			}
			add(cli.SessionID, "its journal differs from what the CLI printed at entry %d: %d and %d entries", n, len(j.Printed), len(cli.Printed))
		}
		if cli.Lines != j.Lines {
			add(cli.SessionID, "the CLI read %d lines, but its shim wrote %d", cli.Lines, j.Lines)
		}
		if len(l.Trail) == 0 {
			continue
		}
		byID := map[string]string{}
		for _, a := range cli.Asked {
			byID[a.RequestID] = a.ToolUseID
		}
		for _, r := range cli.Received {
			c, ok := decided[byID[r.RequestID]]
			if !ok || c.At.After(r.At.Add(clockNoise)) { // never, if its time is unknown
				add(byID[r.RequestID], "the CLI received an answer at %s, before it was stored: %s at %s", r.At, c, c.At)
			}
		}
	}
	return lines, faults
}

// clockNoise is less than an answer takes from the database to a CLI, and more than two readings of one
// clock can differ.
const clockNoise = time.Microsecond
