// Package job runs the work that one server does for all servers of a database, such as sending
// alerts and deleting outdated data.
//
// The servers elect a leader by a lease in the database. The leader runs all jobs. When it dies,
// another server takes the lease at most [leaseTTL] plus [interval] later. A leader that was paused
// for longer may still run jobs for a moment. Jobs whose effect must not happen twice therefore write
// with the term of their lease, which the store refuses once there is a newer one.
package job

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
)

// Times of a lease.
const (
	leaseTTL = 6 * time.Second
	// interval is how often a leader renews its lease and the others try to take it. A leader may
	// miss one renewal. Another server leads at most leaseTTL + interval after the leader has died.
	interval = 2 * time.Second
)

// Lease is the right of a server to lead.
type Lease struct {
	Term int64         // increases with each new leader; 0 if another server leads
	For  time.Duration // how long the lease lasts from the call
}

// Store stores the lease. It uses the clock of the database.
type Store interface {
	// HoldLease takes or renews the lease for a server, if no other holds it.
	HoldLease(ctx context.Context, serverID string, ttl time.Duration) (Lease, error)
	// EndLease ends the lease of a server, so that another can take it at once.
	EndLease(ctx context.Context, serverID string) error
}

// A Job works until ctx ends, which happens when the server no longer leads. It must then return
// soon, because another server may already do the same work. If it returns an error, [Leader.Run]
// fails, and with it the server.
type Job func(ctx context.Context, term int64) error

// A Leader runs jobs while its server leads.
type Leader struct {
	store    Store
	serverID string
	log      *slog.Logger
	jobs     []namedJob
}

type namedJob struct {
	name string
	run  Job
}

// NewLeader returns a leader without jobs. serverID must be new for each start of a server.
func NewLeader(store Store, serverID string, log *slog.Logger) *Leader {
	return &Leader{store: store, serverID: serverID, log: log}
}

// Add adds a job. Call it before Run.
func (l *Leader) Add(name string, run Job) { l.jobs = append(l.jobs, namedJob{name, run}) }

// Run takes part in the election, and runs all jobs while this server leads, until ctx ends or a
// job fails. Then it ends the lease, so that another server can lead at once.
func (l *Leader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		asked := time.Now()
		lease, err := l.store.HoldLease(ctx, l.serverID, leaseTTL)
		if err != nil && ctx.Err() == nil {
			l.log.DebugContext(ctx, "cannot ask who leads; trying again", "error", err)
		}
		if err == nil && lease.Term > 0 {
			if err := l.lead(ctx, lease, asked); err != nil {
				return err
			}
			continue
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
	}
	return nil
}

// lead runs the jobs until the lease is lost, ctx ends or a job fails. After the jobs have returned,
// it ends the lease if this server still holds it.
func (l *Leader) lead(ctx context.Context, lease Lease, asked time.Time) error {
	leading, resign := context.WithCancel(ctx)
	defer resign()
	jobs, failed := errgroup.WithContext(leading)
	for _, j := range l.jobs {
		jobs.Go(func() error {
			if err := j.run(failed, lease.Term); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			return nil
		})
	}
	l.renew(failed, lease, asked)
	resign()
	err := jobs.Wait()
	// Only after the jobs have ended, so that they do not run on two healthy servers at once.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), interval)
	defer cancel()
	if err := l.store.EndLease(ending, l.serverID); err != nil {
		l.log.DebugContext(ctx, "cannot let another server lead; one will after some seconds", "error", err)
	}
	return err
}

// renew renews the lease until ctx ends or the lease is lost. It measures the lease from before each
// call, so it returns before the lease ends.
func (l *Leader) renew(ctx context.Context, lease Lease, asked time.Time) {
	end := asked.Add(lease.For)
	wait := lease.For / 3
	for {
		select {
		case <-time.After(min(wait, time.Until(end))):
		case <-ctx.Done():
			return
		}
		now := time.Now()
		if !now.Before(end) {
			l.log.WarnContext(ctx, "the lease on jobs of all servers was lost, because the database did not answer")
			return
		}
		asking, cancel := context.WithDeadline(ctx, end)
		next, err := l.store.HoldLease(asking, l.serverID, leaseTTL)
		cancel()
		switch {
		case err != nil:
			// Often enough to keep the lease if an outage ends before the lease does.
			wait = lease.For / 12
		case next.Term != lease.Term:
			l.log.WarnContext(ctx, "another server has taken the lease on jobs of all servers")
			return
		default:
			end, wait = now.Add(next.For), lease.For/3
		}
	}
}
