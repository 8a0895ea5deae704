package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

// The longest duration of faults between servers and runners.
const (
	maxStop  = 5 * time.Second // a connection is given up after 3 s
	maxCut   = 4 * time.Second
	maxSlow  = 3 * time.Second
	maxQuiet = 6 * time.Second
	slowest  = 200 * time.Millisecond  // delay of each part of what is sent
	maxBreak = 1500 * time.Millisecond // between two faults

	// A runner dials at least every 5 s, and gives up a connection after 3 s.
	reconnectLimit = 10 * time.Second
)

// Names of faults that may come together with another one.
const (
	serverKilled  = "server killed"
	serverStopped = "server stopped and continued"
)

// distantFaults returns the faults of a run with runners on other hosts.
func (c *crash) distantFaults() []outage {
	signals := func(pid func() int) func(context.Context, *rand.Rand) error {
		return func(ctx context.Context, random *rand.Rand) error {
			stopped := pid()
			if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
				return err
			}
			err := pause(ctx, randomWait(random, maxStop))
			return errors.Join(err, syscall.Kill(stopped, syscall.SIGCONT))
		}
	}
	ways := []outage{
		{serverKilled, func(ctx context.Context, random *rand.Rand) error {
			if err := c.server.Kill(); err != nil {
				return err
			}
			if err := pause(ctx, randomWait(random, maxCut)); err != nil {
				return err
			}
			return c.restart(ctx)
		}},
		{serverStopped, signals(c.serverPID)},
	}
	for _, w := range c.twins {
		ways = append(ways,
			outage{serverKilled, func(ctx context.Context, random *rand.Rand) error {
				if err := w.server.Kill(); err != nil {
					return err
				}
				if err := pause(ctx, randomWait(random, maxCut)); err != nil {
					return err
				}
				return w.start(ctx)
			}},
			outage{serverStopped, signals(func() int { return w.server.PID() })})
	}
	ways = append(ways, ways...) // there are more faults of runners below
	for _, r := range c.hosts {
		fails := func(longest time.Duration, how failure) func(context.Context, *rand.Rand) error {
			return func(ctx context.Context, random *rand.Rand) error {
				l := r.lines[random.IntN(len(r.lines))]
				l.set(how)
				err := pause(ctx, randomWait(random, longest))
				l.set(failure{})
				return err
			}
		}
		ways = append(ways,
			outage{"runner killed", func(ctx context.Context, random *rand.Rand) error {
				if err := r.kill(); err != nil {
					return err
				}
				if err := pause(ctx, randomWait(random, maxCut)); err != nil {
					return err
				}
				return r.start()
			}},
			outage{"runner stopped and continued", signals(func() int { return r.cmd.Process.Pid })},
			outage{"connection cut", fails(maxCut, failure{cut: true})},
			outage{"connection half open", fails(maxStop, failure{forth: true, back: true})},
			outage{"replies of the runner lost", fails(maxStop, failure{forth: true})},
			outage{"connection slow", fails(maxSlow, failure{delayEach: slowest})},
		)
	}
	if c.postgres != nil {
		ways = append(ways, c.outages()...)
		lost := outage{"notifications lost", func(ctx context.Context, random *rand.Rand) error {
			c.quiet.quiet.Store(true)
			defer c.quiet.quiet.Store(false)
			return pause(ctx, randomWait(random, maxQuiet))
		}}
		ways = append(ways, lost, lost, lost)
	}
	return ways
}

// failApart lets servers, runners and what is between them fail for a while, sometimes two at once.
func (c *crash) failApart(ctx context.Context) error {
	random, ways := c.random(3), c.distantFaults()
	for began, n := time.Now(), 1; time.Since(began) < c.faultsFor; n++ {
		if !c.releaseRequests(int(time.Since(began)/time.Millisecond), int(c.faultsFor/time.Millisecond)) {
			break // the rest of the run would prove nothing
		}
		if err := c.sleep(ctx, time.Duration(random.Float64()*float64(maxBreak))); err != nil {
			return err
		}
		way := ways[random.IntN(len(ways))]
		what := fmt.Sprintf("fault %d, %s", n, way.name)
		also := func() error { return nil }
		if r := c.hosts[random.IntN(len(c.hosts))]; random.IntN(3) == 0 && (way.name == serverKilled || way.name == serverStopped) {
			what += " while a connection was cut"
			ended := make(chan error, 1)
			wait, l := randomWait(random, maxCut), r.lines[random.IntN(len(r.lines))]
			go func() {
				l.set(failure{cut: true})
				err := pause(ctx, wait)
				l.set(failure{})
				ended <- err
			}()
			also = func() error { return <-ended }
		}
		if err := errors.Join(way.do(ctx, random), also()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		c.failed[way.name]++
		if err := c.returns(ctx, what); err != nil {
			return err
		}
		if random.IntN(2) == 0 { // else the next fault may meet a runner that is dialing
			if err := c.reconnect(ctx, what); err != nil {
				return err
			}
		}
	}
	c.mu.Lock()
	c.due = c.requests
	c.mu.Unlock()
	return nil
}

// reconnect waits until the server can use all runners again.
func (c *crash) reconnect(ctx context.Context, what string) error {
	for began := time.Now(); ; {
		took := time.Since(began)
		n, err := c.connected(ctx)
		if err == nil && n == len(c.hosts) {
			c.reconnected = append(c.reconnected, took)
			return nil
		}
		if took > reconnectLimit*c.slack {
			c.refused = append(c.refused, fault{missedLimits, what, fmt.Sprintf("%d of %d runners are connected after %s: %v", n, len(c.hosts), took.Round(time.Second), err)})
			return nil
		}
		if err := c.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// reportDistant prints the head of the table of a run with runners.
func (c *crash) reportDistant() {
	fmt.Fprintf(c.out, "\n## %d servers, %d runners on other hosts, %d faults, seed %d\n\n", 1+len(c.twins), len(c.hosts), len(c.agreed), c.seed)
	c.header("what", "")
	for _, name := range slices.Sorted(maps.Keys(c.failed)) {
		fmt.Fprintf(c.out, "| %s | %d |\n", name, c.failed[name])
	}
	if c.quiet != nil {
		fmt.Fprintf(c.out, "| notifications that servers did not get | %d |\n", c.quiet.lost.Load())
	}
	fmt.Fprintf(c.out, "| in all | %.0f s, then %.1f s of drain |\n", c.took.Seconds(), c.drains.Seconds())
	fmt.Fprintf(c.out, "| the fault is over → every tab shows what is stored, ms | %s |\n", summary(c.agreed))
	fmt.Fprintf(c.out, "| the fault is over → every runner is connected, ms | %s |\n", summary(c.reconnected))
	fmt.Fprintf(c.out, "| histories of requests that are linearizable | %d |\n", c.linearizable)
}

// step is an operation on a request: an answer of a tab, a withdrawal, or what the CLI received.
type step struct {
	kind   string // answer, withdraw or received
	by     string // who answers
	winner string // who has answered, according to the ack; "" if there was none
}

// withdrawal is the winner of a request that its CLI withdrew.
const withdrawal = "its CLI"

// answeredOnce is a request: the first answer or withdrawal counts, and everybody is told of it.
var answeredOnce = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		winner, s := state.(string), input.(step)
		was := output.(string)
		switch {
		case s.kind == "received":
			return winner == was, winner
		case winner == "":
			winner = s.by
		}
		// Without an ack, the answer may have counted or not.
		return was == "" || was == winner, winner
	},
}

// history checks that what tabs and CLIs saw of each request is what they would have seen if the
// answers had come one after the other. It leaves out requests with answers that were held, and those
// whose winner cannot be told from an ack.
func history(l ledgers) (checked int, faults []fault) {
	requests, held := map[string][]porcupine.Operation{}, map[string]bool{}
	winners := map[string]string{} // by expected answer and tool use
	for client, t := range l.Tabs {
		for _, g := range t.Sent {
			held[g.ToolUseID] = held[g.ToolUseID] || g.Hold > 0 || g.Undos > 0
			winners[g.ToolUseID+" "+g.Expected] = t.Name
			op := porcupine.Operation{ClientId: client, Input: step{kind: "answer", by: t.Name}, Output: "", Call: g.SentAt.UnixNano(), Return: math.MaxInt64}
			if len(g.Acks) > 0 {
				op.Return = g.AckedAt.UnixNano()
				switch a := g.Acks[0]; {
				case a.Result == "applied":
					op.Output = t.Name
				case a.Resolved != nil && a.Resolved.By != "":
					op.Output = a.Resolved.By
				case a.Resolved != nil && a.Resolved.Outcome == "withdrawn":
					op.Output = withdrawal
				}
			}
			requests[g.ToolUseID] = append(requests[g.ToolUseID], op)
		}
	}
	for _, cli := range l.CLIs {
		byID := map[string]string{}
		for _, a := range cli.Asked {
			byID[a.RequestID] = a.ToolUseID
			if a.Withdrawn {
				requests[a.ToolUseID] = append(requests[a.ToolUseID], porcupine.Operation{ClientId: len(l.Tabs),
					Input: step{kind: "withdraw", by: withdrawal}, Output: "", Call: 0, Return: math.MaxInt64})
			}
		}
		for _, r := range cli.Received {
			if winner, ok := winners[byID[r.RequestID]+" "+r.Answer]; ok {
				id := byID[r.RequestID]
				requests[id] = append(requests[id], porcupine.Operation{ClientId: len(l.Tabs) + 1,
					Input: step{kind: "received"}, Output: winner, Call: r.At.UnixNano(), Return: r.At.UnixNano()})
			}
		}
	}
	for id, operations := range requests {
		if held[id] || id == "" {
			continue
		}
		checked++
		if !porcupine.CheckOperations(answeredOnce, operations) {
			faults = append(faults, fault{otherFaults, id, fmt.Sprintf("no order of its answers explains what was seen: %+v", operations)})
		}
	}
	return checked, faults
}
