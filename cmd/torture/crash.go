package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	lookahead     = 60                    // requests that the CLIs may ask before they are due
	maxPerMessage = 10                    // requests of one message
	window        = 20                    // kills between two checks of the progress
	maxPause      = 2 * time.Second       // upper limit of pause
	pollInterval  = 50 * time.Millisecond // of the drain
)

// crash is one run with faults, then a drain without: kills of the server (R1), outages of its
// database, or faults between servers and runners.
type crash struct {
	*harness
	tabs     []*tab
	sessions []string // ids
	messages map[string][]string
	writer   writer

	mu       sync.Mutex // protects following
	restores []time.Duration
	maxOpen  int
	deaths   map[string]fault // by session: dead in a tab
	due      int              // requests that may have been asked so far
	allSent  bool             // all messages are sent

	kills       int             // done
	failed      map[string]int  // finished outages, by name
	agreed      []time.Duration // from each return of the database until the tabs agreed
	reconnected []time.Duration // from the end of a fault until all runners were connected
	shown       []int           // forms in all tabs at each return
	refused     []fault         // failed starts and late returns
	pause       time.Duration
	took        time.Duration // kills alone
	drains      time.Duration
	sum         tally
	// What was checked: histories of requests, changes of the database, and lines of CLIs.
	linearizable, steps, lines int
	jumpsSeen                  int // of clocks of servers
}

// runCrash proves R1, or the same with outages or runners. It prints a report and returns the faults.
func runCrash(ctx context.Context, s settings) ([]fault, error) {
	h, err := openHarness(ctx, s, false)
	if err != nil {
		return nil, err
	}
	c := &crash{harness: h, messages: map[string][]string{}, deaths: map[string]fault{}, failed: map[string]int{}, writer: writer{random: s.random(1), left: s.requests}}
	faults, err := c.run(ctx)
	if err != nil {
		faults = append(faults, fault{otherFaults, "run", err.Error()})
	}
	faults = h.close(ctx, c.sessions, faults)
	c.report(faults)
	return faults, nil
}

func (c *crash) run(ctx context.Context) ([]fault, error) {
	think := 10 * time.Millisecond
	if c.settings.outages > 0 || c.runners > 0 {
		think = 500 * time.Millisecond // so that forms are open when the database fails
	}
	if err := errors.Join(c.openTwins(ctx), c.openHosts(ctx)); err != nil {
		return nil, err
	}
	for i := range c.settings.tabs {
		t, err := c.tab(ctx, i, tabOptions{
			answers: true, holds: c.holds, maxDelay: think, first: 4 * time.Millisecond, longest: 15 * time.Millisecond,
			started: c.startedAt, snapshot: c.recordRestore, died: c.recordDeath,
		})
		if err != nil {
			return nil, err
		}
		c.tabs = append(c.tabs, t)
	}
	for i := range c.settings.sessions {
		m := c.writer.next(i, 1, 4)
		var on *host
		if len(c.hosts) > 0 {
			on = c.hosts[i%len(c.hosts)]
		}
		id, err := c.sessionOn(ctx, on, m)
		if err != nil {
			return nil, err
		}
		c.sessions = append(c.sessions, id)
		c.messages[id] = []string{m.Title}
	}
	if err := c.awaitCLIs(ctx); err != nil {
		return nil, err
	}

	playing, stop := context.WithCancel(ctx)
	defer stop()
	var players sync.WaitGroup
	for _, t := range c.tabs {
		players.Go(func() { t.run(playing) })
	}
	feeding := make(chan error, 1)
	go func() { feeding <- c.sendMessages(playing) }()
	began := time.Now()
	act := c.killAll
	switch {
	case c.runners > 0:
		act = c.failApart
	case c.settings.outages > 0:
		act = c.failAll
	}
	err := act(ctx)
	c.took = time.Since(began)
	if err == nil {
		began = time.Now()
		err = c.drain(ctx)
		c.drains = time.Since(began)
	}
	stop()
	players.Wait()
	if failed := <-feeding; failed != nil && !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("a message was refused: %w", failed))
	}
	faults := slices.AppendSeq(c.refused, maps.Values(c.deaths))
	if err != nil {
		return faults, err
	}
	accounts, err := c.collect(ctx)
	if err != nil {
		return faults, err
	}
	found, sum := compare(accounts)
	c.sum = sum
	faults = append(faults, found...)
	if c.runners > 0 {
		var orders, changes, journals []fault
		c.linearizable, orders = history(accounts)
		c.steps, changes = replay(accounts.Trail)
		c.lines, journals = replayJournals(accounts)
		faults = slices.Concat(faults, orders, changes, journals)
	}
	return faults, nil
}

// awaitCLIs waits until the CLI of each session has received its first message, because this
// run does not test kills during the start of a session.
func (c *crash) awaitCLIs(ctx context.Context) error {
	for began := time.Now(); ; {
		clis, err := readRecords(c.records)
		if err != nil {
			return err
		}
		ready := map[string]bool{}
		for _, cli := range clis {
			if len(cli.Users) > 0 {
				ready[cli.SessionID] = true
			}
		}
		if len(ready) == len(c.sessions) {
			return nil
		}
		if time.Since(began) > time.Minute {
			for _, id := range c.sessions {
				if !ready[id] {
					state, err := c.state(ctx, id)
					return errors.Join(fmt.Errorf("%d of %d sessions got their first message within a minute; %s is in %s", len(ready), len(c.sessions), id, state), err)
				}
			}
		}
		if err := c.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// sleep waits. It fails if the server exits by itself.
func (c *crash) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.server.Exited():
		return fmt.Errorf("the server exited by itself; its log ends with:\n%s", c.server.LogTail())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendMessages sends messages when their requests become due, and all others after the kills.
func (c *crash) sendMessages(ctx context.Context) error {
	random := c.random(2)
	out := c.requests - c.writer.left
	numbers := map[string]int{}
	for c.writer.left > 0 {
		c.mu.Lock()
		due := c.due
		c.mu.Unlock()
		if out > due {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2 * time.Millisecond):
			}
			continue
		}
		i := random.IntN(len(c.sessions))
		id := c.sessions[i]
		numbers[id]++
		m := c.writer.next(i, numbers[id]+1, maxPerMessage)
		if err := c.persist(ctx, "/api/sessions/"+id+"/messages", map[string]any{"text": m.Text}, nil); err != nil {
			return err
		}
		out += m.Requests
		c.mu.Lock()
		c.messages[id] = append(c.messages[id], m.Title)
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.allSent = true
	c.mu.Unlock()
	return nil
}

// releaseRequests makes requests due in proportion to the finished part of the run. It reports
// whether no session has died.
func (c *crash) releaseRequests(done, of int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = lookahead + c.requests*done/of
	return len(c.deaths) == 0
}

// killAll kills the server repeatedly, each time shortly after it responds. If too few answers
// get through, the time between kills grows: a run without answers could not show that none is
// lost.
func (c *crash) killAll(ctx context.Context) error {
	random := c.random(3)
	settled := 0
	for c.kills = 0; c.kills < c.settings.kills; {
		if !c.releaseRequests(c.kills, c.settings.kills) {
			break // the rest of the run would prove nothing
		}
		if err := c.sleep(ctx, c.uptime(random)); err != nil {
			return err
		}
		if err := c.server.Kill(); err != nil {
			return err
		}
		c.kills++
		if c.kills%window == 0 {
			now, open := 0, 0
			for _, t := range c.tabs {
				now += t.settled()
				open += t.showing()
			}
			// Progress is too slow below a quarter of the average, if there is something to
			// answer.
			if open > 0 && now-settled < max(1, len(c.tabs)*c.requests*window/c.settings.kills/4) {
				c.pause = min(maxPause, c.pause*3/2+5*time.Millisecond)
			}
			settled = now
		}
		if err := c.restart(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.due = c.requests
	c.mu.Unlock()
	return nil
}

// restart starts the server after a kill. A failed start is a fault, and is tried again.
func (c *crash) restart(ctx context.Context) error {
	const tries = 10 // in the whole run
	for {
		err := c.start(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.refused = append(c.refused, fault{failedStarts, fmt.Sprintf("kill %d", c.kills), err.Error()})
		if len(c.refused) == tries {
			return errors.New("the server does not come up any more")
		}
	}
}

func (c *crash) uptime(random *rand.Rand) time.Duration {
	return c.minUptime + time.Duration(random.Float64()*float64(c.maxUptime-c.minUptime)) + c.pause
}

// drain waits until every request is asked and settled. It returns no error if progress stops
// before that, because the ledgers show what is missing.
func (c *crash) drain(ctx context.Context) error {
	progress, last := time.Now(), -1
	for {
		clis, err := readRecords(c.records)
		if err != nil {
			return err
		}
		asked, settled := 0, 0
		for _, cli := range clis {
			asked += len(cli.Asked)
			settled += len(cli.Received)
			for _, a := range cli.Asked {
				if a.Withdrawn {
					settled++
				}
			}
		}
		idle := true
		for _, t := range c.tabs {
			idle = idle && t.idle()
		}
		c.mu.Lock()
		fed, dead := c.allSent, len(c.deaths)
		c.mu.Unlock()
		if dead > 0 {
			return nil
		}
		if fed && idle && asked >= c.requests && settled >= asked && c.allFinished(clis) {
			return nil
		}
		if asked+settled != last {
			progress, last = time.Now(), asked+settled
		} else if time.Since(progress) > c.settle {
			return nil
		}
		if err := c.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// allFinished reports whether every session has printed the last line of its last turn.
func (c *crash) allFinished(clis []*cliLedger) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cli := range clis {
		titles := c.messages[cli.SessionID]
		if len(titles) == 0 || len(cli.Said) == 0 || cli.Said[len(cli.Said)-1] != titles[len(titles)-1]+" done" {
			return false
		}
	}
	return true
}

// collect reads the three ledgers after the tabs have stopped.
func (c *crash) collect(ctx context.Context) (ledgers, error) {
	// The last lines of the CLIs must reach the transcript.
	if err := c.sleep(ctx, time.Second); err != nil {
		return ledgers{}, err
	}
	l := ledgers{Items: map[string][]row{}, Rows: map[string]row{}, Texts: map[string][]string{}, States: map[string]string{}}
	var err error
	if l.Pending, err = c.pending(ctx); err != nil {
		return ledgers{}, err
	}
	for _, id := range c.sessions {
		if l.Texts[id], err = c.transcript(ctx, id, l.Items); err != nil {
			return ledgers{}, err
		}
		if l.States[id], err = c.state(ctx, id); err != nil {
			return ledgers{}, err
		}
	}
	for _, t := range c.tabs {
		l.Tabs = append(l.Tabs, &t.ledger)
		for id := range t.ledger.Shown {
			if _, done := l.Rows[id]; done || l.Pending[id] {
				continue
			}
			if l.Rows[id], err = c.verdict(ctx, id); err != nil {
				return ledgers{}, err
			}
		}
	}
	if l.CLIs, err = readRecords(c.records); err != nil {
		return ledgers{}, err
	}
	l.Messages = c.messages
	if l.Journals, err = c.readJournals(ctx); err != nil {
		return ledgers{}, err
	}
	if c.runners > 0 {
		if l.Trail, err = c.readTrail(ctx); err != nil {
			return ledgers{}, err
		}
	}
	return l, nil
}

// recordRestore records how long after its start the server sent a tab all sessions.
func (c *crash) recordRestore(f frame, took time.Duration) {
	running, open := map[string]bool{}, 0
	for _, p := range f.Processes {
		running[p.SessionID] = p.State != "dead"
		open += len(p.PendingRequests)
	}
	for _, id := range c.sessions {
		if !running[id] {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restores = append(c.restores, took)
	c.maxOpen = max(c.maxOpen, open)
}

func (c *crash) recordDeath(sessionID, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths[sessionID] = fault{endedSessions, sessionID, "the session is dead in a tab: " + why}
}

func (c *crash) report(faults []fault) {
	sum := c.sum
	switch {
	case c.runners > 0:
		c.reportDistant()
	case c.settings.outages > 0:
		c.reportOutages()
	default:
		fmt.Fprintf(c.out, "\n## The server killed %d times, seed %d\n\n", c.kills, c.seed)
		c.header("what", "")
		fmt.Fprintf(c.out, "| kills, %s to %s after it answered%s | %d in %.0f s, then %.1f s of drain |\n", c.minUptime, c.maxUptime, c.paused(), c.kills, c.took.Seconds(), c.drains.Seconds())
	}
	fmt.Fprintf(c.out, "| sessions | %d |\n| requests asked | %d |\n| answered by both tabs | %d |\n", len(c.sessions), sum.Asked, sum.Raced)
	for _, t := range c.tabs {
		fmt.Fprintf(c.out, "| won by %s | %d |\n", t.ledger.Name, sum.Wins[t.ledger.Name])
	}
	fmt.Fprintf(c.out, "| withdrawn by the CLI, of these after an answer was applied | %d, %d |\n", sum.Withdrawn, sum.WithdrawnLate)
	if h := sum.Holds; c.holds {
		fmt.Fprintf(c.out, "| answers to be held, of these acked as held | %d, %d |\n", h.Asked, h.Acked)
		fmt.Fprintf(c.out, "| of these counted, undone, withdrawn by the CLI, later than another answer | %d, %d, %d, %d |\n", h.Counted, h.Undone, h.Withdrawn, h.Late)
		fmt.Fprintf(c.out, "| undos, of these without effect | %d, %d |\n| answers refused while another one was held | %d |\n", h.Undos, h.FailedUndos, h.Refused)
	}
	fmt.Fprintf(c.out, "| lines of the CLIs | %d |\n", sum.Texts)
	fmt.Fprintf(c.out, "| server started → tab has all sessions (%d times), ms | %s |\n| open in one of these, at most | %d |\n", len(c.restores), summary(c.restores), c.maxOpen)
	printFaults(c.out, faults)
}

func (c *crash) paused() string {
	if c.pause == 0 {
		return ""
	}
	return fmt.Sprintf(" and in the end %s more", c.pause.Round(time.Millisecond))
}
