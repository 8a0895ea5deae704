package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// The maximum durations of faults between servers and runners.
const (
	maxStop  = 5 * time.Second // a connection is given up after 3 s
	maxCut   = 4 * time.Second
	maxSlow  = 3 * time.Second
	maxQuiet = 6 * time.Second
	maxJump  = 5 * time.Second
	slowest  = 200 * time.Millisecond  // delay of each part that is sent
	maxBreak = 1500 * time.Millisecond // between two faults

	// A runner dials at least every 5 s, and gives up a connection after 3 s.
	reconnectLimit = 10 * time.Second

	// leaseMatters is the shortest run with faults that are longer than a lease.
	leaseMatters = time.Minute

	clockJump = time.Hour
	// maxUnseen bounds how far the time of a server may be from the one that was set.
	maxUnseen = time.Minute

	// restartEach determines how often PostgreSQL must be restarted: twenty times in ten minutes.
	restartEach = 30 * time.Second
)

// Names of faults that may be combined with another one, or must happen often enough.
const (
	serverKilled  = "server killed"
	serverStopped = "server stopped and continued"
	restarted     = "PostgreSQL stopped at once and started"
)

// distantFaults returns the faults of a run with runners on other hosts. A fault that is listed several
// times happens more often.
func (c *crash) distantFaults() []outage {
	ways := c.serverFaults(c.serverPID, c.restart, func() error { return c.server.Kill() }, c.admin.URL)
	for _, w := range c.twins {
		ways = append(ways, c.serverFaults(func() int { return w.server.PID() }, w.start, func() error { return w.server.Kill() }, w.client.URL)...)
	}
	for _, r := range c.hosts {
		ways = append(ways, c.runnerFaults(r)...)
	}
	for _, l := range c.toDatabase {
		ways = append(ways, lineFault("server cut off from PostgreSQL", l, maxCut, failure{cut: true}),
			lineFault("server cut off from PostgreSQL, without notice", l, maxStop, failure{forth: true, back: true}))
		if c.faultsFor >= leaseMatters {
			ways = append(ways, longLineFault("server cut off from PostgreSQL until its leases ran out", l, session.LeaseTTL, maxCut, failure{forth: true, back: true}))
		}
	}
	if len(c.toServers) > 1 {
		ways = append(ways, outage{"servers cut off from each other", func(ctx context.Context, random *rand.Rand) error {
			for _, l := range c.toServers {
				l.set(failure{cut: true})
			}
			err := pause(ctx, randomWait(random, maxCut))
			for _, l := range c.toServers {
				l.set(failure{})
			}
			return err
		}})
	}
	if c.postgres != nil {
		for _, way := range c.outages() {
			way.name = "PostgreSQL " + way.name
			ways = append(ways, way)
			if way.name == restarted {
				ways = append(ways, way, way, way)
			}
		}
		lost := outage{"notifications lost", func(ctx context.Context, random *rand.Rand) error {
			c.quiet.quiet.Store(true)
			defer c.quiet.quiet.Store(false)
			return pause(ctx, randomWait(random, maxQuiet))
		}}
		ways = append(ways, lost, lost)
	}
	return ways
}

// serverFaults returns the faults of one server.
func (c *crash) serverFaults(pid func() int, start func(context.Context) error, kill func() error, url string) []outage {
	return []outage{
		{serverKilled, func(ctx context.Context, random *rand.Rand) error {
			if err := kill(); err != nil {
				return err
			}
			if err := pause(ctx, randomWait(random, maxCut)); err != nil {
				return err
			}
			return start(ctx)
		}},
		{serverStopped, stopFault(pid)},
		c.clockFault("clock of a server jumped an hour", pid, url),
	}
}

// runnerFaults returns the faults of one runner and of its lines.
func (c *crash) runnerFaults(r *host) []outage {
	ways := []outage{
		{"runner killed", func(ctx context.Context, random *rand.Rand) error {
			if err := r.kill(); err != nil {
				return err
			}
			if err := pause(ctx, randomWait(random, maxCut)); err != nil {
				return err
			}
			return r.start()
		}},
		{"runner stopped and continued", stopFault(r.pid)},
		c.clockFault("clock of a runner jumped an hour", r.pid, ""),
	}
	for _, f := range []struct {
		name    string
		longest time.Duration
		how     failure
	}{
		{"connection cut", maxCut, failure{cut: true}},
		{"connection half open", maxStop, failure{forth: true, back: true}},
		{"replies of the runner lost", maxStop, failure{forth: true}},
		{"connection slow", maxSlow, failure{delayEach: slowest}},
	} {
		ways = append(ways, outage{f.name, func(ctx context.Context, random *rand.Rand) error {
			return lineFault(f.name, r.lines[random.IntN(len(r.lines))], f.longest, f.how).do(ctx, random)
		}})
	}
	return ways
}

// stopFault stops a process for a while.
func stopFault(pid func() int) func(context.Context, *rand.Rand) error {
	return func(ctx context.Context, random *rand.Rand) error {
		stopped := pid()
		if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
			return err
		}
		err := pause(ctx, randomWait(random, maxStop))
		return errors.Join(err, syscall.Kill(stopped, syscall.SIGCONT))
	}
}

// lineFault lets a line fail for a while.
func lineFault(name string, l *line, longest time.Duration, how failure) outage {
	return longLineFault(name, l, 0, longest, how)
}

// longLineFault lets a line fail for least, and for a random time of up to more.
func longLineFault(name string, l *line, least, more time.Duration, how failure) outage {
	return outage{name, func(ctx context.Context, random *rand.Rand) error {
		l.set(how)
		err := pause(ctx, least+randomWait(random, more))
		l.set(failure{})
		return err
	}}
}

// clockFault sets the clock of a process an hour forward or back. Half of the time, the clock then jumps
// to the right time; otherwise it stays wrong until its next jump or the end of the process. With the
// url of a server, the fault checks that the server has the new time.
func (c *crash) clockFault(name string, pid func() int, url string) outage {
	return outage{name, func(ctx context.Context, random *rand.Rand) error {
		by := clockJump
		if random.IntN(2) == 0 {
			by = -by
		}
		wait, stays := randomWait(random, maxJump), random.IntN(2) == 0
		err := c.jump(ctx, pid(), by, url)
		if err == nil {
			err = pause(ctx, wait)
		}
		if err == nil && !stays {
			err = c.jump(ctx, pid(), 0, url)
		}
		return err
	}}
}

// jump sets how far the clock of a process is from the right time. With the url of a server, it checks
// this by the Date of a response.
func (c *crash) jump(ctx context.Context, pid int, by time.Duration, url string) error {
	if err := setClock(pid, by); err != nil || url == "" {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(asking, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return ctx.Err() // the server is busy
	}
	answer.Body.Close()
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return fmt.Errorf("the date of the server: %w", err)
	}
	if off := time.Until(at) - by; off.Abs() > maxUnseen {
		return fmt.Errorf("the clock was set %s off, but the server is %s further", by, off)
	}
	c.jumpsSeen++
	return nil
}

// failApart makes servers, runners and the connections between them fail for a while, sometimes two at
// once. Every listed fault happens before any happens again, in an order that depends only on the seed.
func (c *crash) failApart(ctx context.Context) error {
	random, ways := c.random(3), c.distantFaults()
	if !clocksCanJump {
		ways = slices.DeleteFunc(ways, func(o outage) bool { return strings.HasPrefix(o.name, "clock ") })
	}
	restarts := 0
	if c.postgres != nil {
		restarts = int(c.faultsFor / restartEach)
	}
	var deck []outage
	for began, n := time.Now(), 1; time.Since(began) < c.faultsFor || c.failed[restarted] < restarts; n++ {
		if !c.releaseRequests(int(min(time.Since(began), c.faultsFor)/time.Millisecond), int(c.faultsFor/time.Millisecond)) {
			break // the rest of the run would prove nothing
		}
		if err := c.sleep(ctx, time.Duration(random.Float64()*float64(maxBreak))); err != nil {
			return err
		}
		if len(deck) == 0 {
			deck = slices.Clone(ways)
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		way := deck[0]
		deck = deck[1:]
		what := fmt.Sprintf("fault %d, %s", n, way.name)
		also := func() error { return nil }
		if r := c.hosts[random.IntN(len(c.hosts))]; random.IntN(3) == 0 && (way.name == serverKilled || way.name == serverStopped) {
			what += " while a connection was cut"
			ended := make(chan error, 1)
			cut, its := lineFault("", r.lines[random.IntN(len(r.lines))], maxCut, failure{cut: true}), rand.New(rand.NewPCG(random.Uint64(), 0))
			go func() { ended <- cut.do(ctx, its) }()
			also = func() error { return <-ended }
		}
		if err := errors.Join(way.do(ctx, random), also()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		c.failed[way.name]++
		if err := c.awaitRecovery(ctx, what); err != nil {
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
	if !clocksCanJump {
		fmt.Fprintln(c.out, "| clocks, which cannot be changed for one process here | 0 |")
	}
	fmt.Fprintf(c.out, "| clocks of servers whose new time was seen | %d |\n", c.jumpsSeen)
	if c.quiet != nil {
		fmt.Fprintf(c.out, "| notifications that servers did not get | %d |\n", c.quiet.lost.Load())
	}
	fmt.Fprintf(c.out, "| in all | %.0f s, then %.1f s of drain |\n", c.took.Seconds(), c.drains.Seconds())
	fmt.Fprintf(c.out, "| the fault is over → every tab shows what is stored, ms | %s |\n", summary(c.agreed))
	fmt.Fprintf(c.out, "| the fault is over → every runner is connected, ms | %s |\n", summary(c.reconnected))
	fmt.Fprintf(c.out, "| histories of requests that are linearizable | %d |\n", c.linearizable)
	fmt.Fprintf(c.out, "| lines of CLIs that are in their journals once | %d |\n", c.lines)
	fmt.Fprintf(c.out, "| changes of the database that are steps of the model | %d |\n", c.steps)
}
