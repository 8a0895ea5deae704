package orchestrator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Run settles what an earlier server left, then drives processes until ctx ends. It returns once
// every process has ended or is detached. If a shim reports a newer lease, Run leaves the CLIs
// alone and returns [session.ErrLeaseLost].
func (o *Orchestrator) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, letGo := context.WithCancel(ctx)
	defer letGo()
	defer close(o.closing)
	o.grantsChanged(ctx)
	var adopted []*process
	var strays []launch.Leftover
	err := retryStore(ctx, o.o.Log, "the processes of the previous server", func() (err error) {
		adopted, strays, err = o.adopt(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("orchestrator: adopt the processes of the previous server: %w", err)
	}
	close(o.adopted)
	drive := func(p *process) {
		running.Go(func() {
			p.run(ctx)
			o.remove(p)
			if !p.is(state.isDetached) {
				o.continueSession(ctx, p)
			}
		})
	}
	settle := func() error { return o.settleDead(ctx) }
	if err = settle(); err != nil && !pending.IsTemporary(err) && ctx.Err() == nil {
		return fmt.Errorf("orchestrator: record the end of processes of the previous server: %w", err)
	}
	for _, p := range adopted {
		drive(p)
	}
	running.Go(func() { o.restoreWaiting(ctx) })
	running.Go(func() { o.restoreAnswered(ctx) })
	// Settling dead processes comes first, because they block new processes of their sessions.
	// Neither step delays adopted processes.
	o.unsettled.Store(err != nil)
	running.Go(func() {
		if err != nil {
			if err := retryStore(ctx, o.o.Log, "the end of processes of the previous server", settle); err != nil && ctx.Err() == nil {
				o.o.Log.ErrorContext(ctx, "cannot record the end of processes of the previous server", "error", err)
			}
			o.unsettled.Store(false)
		}
		o.removeStrays(ctx, strays)
		close(o.settled)
	})
	ticker := time.NewTicker(o.rules().Limits.Sample)
	defer ticker.Stop()
	journals := time.NewTicker(journalInterval)
	defer journals.Stop()
	retry := time.NewTicker(capacityInterval)
	defer retry.Stop()
	running.Go(func() { o.watchRights(ctx) })
	running.Go(func() { o.watchRevocations(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.fenced:
			return fmt.Errorf("orchestrator: %w", session.ErrLeaseLost)
		case p := <-o.launches:
			drive(p)
		case <-o.answered:
			running.Go(func() { o.resumeAnswered(ctx) })
		case <-o.admission.Freed():
			running.Go(func() { o.resumeWaiting(ctx) })
		case <-retry.C:
			running.Go(func() { o.resumeWaiting(ctx) })
		case <-journals.C:
			o.checkJournals(ctx)
		case now := <-ticker.C:
			o.sample(ctx, now)
		}
	}
}

// Recover catches up after the store has failed, in all processes concurrently.
func (o *Orchestrator) Recover(ctx context.Context) {
	var recovering sync.WaitGroup
	defer recovering.Wait()
	for _, p := range o.all() {
		recovering.Go(func() { p.recover(ctx) })
	}
}
