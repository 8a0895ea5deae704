package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// The limits of outages.
const (
	agreeLimit  = 3 * time.Second // from the return of the database until the tabs agree
	maxHang     = 7 * time.Second // longer than the server's limit for a call
	longestFull = 2 * time.Second
	answerLimit = 30 * time.Second // from the return until an answer gets through
)

// An outage is a way in which the database, or in a run with runners another part, fails. do returns
// once it works again.
type outage struct {
	name string
	do   func(context.Context, *rand.Rand) error
}

// outages returns the outages of the run's database.
func (h *harness) outages() []outage {
	if p := h.postgres; p != nil {
		return []outage{
			{"stopped at once and started", func(context.Context, *rand.Rand) error { return errors.Join(p.Stop(), p.Start()) }},
			{"a backend killed", func(context.Context, *rand.Rand) error { return errors.Join(p.KillBackend(), p.Await()) }},
			{"hung", func(ctx context.Context, random *rand.Rand) error {
				resume, err := p.Hang()
				if resume != nil {
					defer resume()
				}
				if err == nil {
					err = pause(ctx, randomWait(random, maxHang))
				}
				return err
			}},
		}
	}
	return []outage{
		{"disk full", func(ctx context.Context, random *rand.Rand) error {
			if err := limitFiles(h.serverPID(), 1); err != nil {
				return err
			}
			err := pause(ctx, randomWait(random, longestFull))
			return errors.Join(err, limitFiles(h.serverPID(), ^uint64(0)))
		}},
		{"locked by another program", func(ctx context.Context, random *rand.Rand) (err error) {
			db, err := sql.Open("sqlite", filepath.Join(h.options.StateDir(), "sayso.db")+"?_pragma=busy_timeout(10000)")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			db.SetMaxOpenConns(1)
			if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
				return err
			}
			err = pause(ctx, randomWait(random, maxHang))
			_, ended := db.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, ended)
		}},
	}
}

// randomWait returns a random time, mostly a short one.
func randomWait(random *rand.Rand, maxWait time.Duration) time.Duration {
	f := random.Float64()
	return time.Duration(f * f * float64(maxWait))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failAll makes the database fail repeatedly. After each outage it checks that the tabs soon
// agree with the database and that answers get through.
func (c *crash) failAll(ctx context.Context) error {
	random, ways := c.random(3), c.outages()
	for n := range c.settings.outages {
		if !c.releaseRequests(n, c.settings.outages) {
			break // the rest of the run would prove nothing
		}
		if err := c.sleep(ctx, c.uptime(random)); err != nil {
			return err
		}
		way := ways[random.IntN(len(ways))]
		if err := way.do(ctx, random); err != nil {
			return fmt.Errorf("outage %d, %s: %w", n+1, way.name, err)
		}
		c.failed[way.name]++
		if err := c.awaitRecovery(ctx, fmt.Sprintf("outage %d, %s", n+1, way.name)); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.due = c.requests
	c.mu.Unlock()
	return nil
}

// awaitRecovery watches the tabs after a fault, until they agree with the database and an answer
// got through. It records a fault if either takes too long.
func (c *crash) awaitRecovery(ctx context.Context, what string) error {
	began, settled, shown := time.Now(), 0, 0
	for _, t := range c.tabs {
		settled += t.settled()
		shown += t.showing()
	}
	c.shown = append(c.shown, shown)
	agreed := false
	for {
		took := time.Since(began)
		why := ""
		if !agreed {
			if why = c.disagreement(ctx); why == "" {
				agreed = true
				c.agreed = append(c.agreed, took)
				if took > agreeLimit*c.slack {
					c.refused = append(c.refused, fault{missedLimits, what, fmt.Sprintf("the tabs show what is stored after %s", took.Round(time.Millisecond))})
				}
			}
		}
		now, open := 0, 0
		for _, t := range c.tabs {
			now += t.settled()
			open += t.showing()
		}
		goesOn := now > settled || open == 0
		if agreed && goesOn {
			return nil
		}
		if took > answerLimit*c.slack {
			c.refused = append(c.refused, fault{missedLimits, what, fmt.Sprintf("after %s the tabs agree with the store: %t %s; an answer got through: %t", took.Round(time.Second), agreed, why, goesOn)})
			return nil
		}
		if err := c.sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// disagreement describes how a tab differs from the database, "" if it does not. Requests that
// are asked or settled meanwhile may be in only one of them.
func (c *crash) disagreement(ctx context.Context) string {
	var before, after []map[string]bool
	for _, t := range c.tabs {
		before = append(before, t.forms())
	}
	stored, err := c.pending(ctx)
	if err != nil {
		return err.Error()
	}
	for _, t := range c.tabs {
		after = append(after, t.forms())
	}
	for i, t := range c.tabs {
		for id := range stored {
			if !before[i][id] && !after[i][id] {
				return fmt.Sprintf("%s does not show %s", t.ledger.Name, id)
			}
		}
		for id := range before[i] {
			if after[i][id] && !stored[id] {
				return fmt.Sprintf("%s shows %s, which is not open", t.ledger.Name, id)
			}
		}
	}
	return ""
}

// reportOutages prints the head of the table of a run with outages.
func (c *crash) reportOutages() {
	fmt.Fprintf(c.out, "\n## The database failed %d times, seed %d\n\n", len(c.agreed), c.seed)
	c.header("what", "")
	for _, name := range slices.Sorted(maps.Keys(c.failed)) {
		fmt.Fprintf(c.out, "| %s | %d |\n", name, c.failed[name])
	}
	fmt.Fprintf(c.out, "| in all | %.0f s, then %.1f s of drain |\n", c.took.Seconds(), c.drains.Seconds())
	fmt.Fprintf(c.out, "| the database is back → every tab shows what is stored, ms | %s |\n", summary(c.agreed))
	shown := slices.Sorted(slices.Values(c.shown))
	if n := len(shown); n > 0 {
		fmt.Fprintf(c.out, "| forms in all tabs at that time | min %d, p50 %d, max %d |\n", shown[0], shown[n/2], shown[n-1])
	}
}
