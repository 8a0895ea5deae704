package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
)

var (
	errGone        = errors.New("the process ended")
	errNoAnswer    = errors.New("no answer to initialize")
	errNotProtocol = errors.New("its output is not Claude's protocol")
	errNoAccount   = errors.New("nobody is signed in")
)

// exitGracePeriod is how long initialize waits for the exit of a CLI that accepted no line.
const exitGracePeriod = 2 * time.Second

// initialize initializes the CLI. Nothing else is sent before the CLI has answered. The error is
// errGone, errNoAnswer, errNotProtocol, errNoAccount, or what went wrong.
func (p *process) initialize(lasting context.Context, client *claude.Client, finished <-chan struct{}) error {
	alive, end := context.WithCancelCause(lasting)
	defer end(nil)
	ctx, cancel := context.WithTimeoutCause(alive, p.o.rules().Limits.Start, errNoAnswer)
	defer cancel()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(stop)
	answered, cancelRubbish := context.WithCancelCause(ctx)
	defer cancelRubbish(nil)
	watching.Go(func() {
		// A program that prints a lot without answering is not Claude.
		const enoughNoise = 20
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if lines, _ := p.noise.seen(); lines >= enoughNoise {
					cancelRubbish(errNotProtocol)
					return
				}
			case <-finished:
				end(errGone)
				return
			case <-stop:
				return
			}
		}
	})
	asked := time.Now()
	hello, err := client.Initialize(answered, initialization())
	if err != nil {
		if cause := context.Cause(answered); cause != nil {
			return cause
		}
		if errors.Is(err, claude.ErrClosed) {
			select {
			case <-finished:
				return errGone
			case <-time.After(exitGracePeriod): // the CLI runs and did not accept the line
			}
		}
		return fmt.Errorf("initialize: %w", err)
	}
	if !launch.HasAccount(hello.Account) {
		return errNoAccount
	}
	// While the database is unavailable, the process waits, also longer than Limits.Start.
	err = retryStore(alive, p.log, "the project rules of a session", func() error { return p.toolRules.restrictSkills(alive) })
	if err != nil {
		return cmp.Or(context.Cause(alive), err)
	}
	ctx, cancel = context.WithTimeoutCause(alive, p.o.rules().Limits.Start, errNoAnswer)
	defer cancel()
	p.learnCost(ctx, client)
	if p.leftover != nil {
		p.reconcile(ctx, hello.PendingPermissionRequests, asked, statement.New("withdrawn_away"))
		p.revoked.restore(ctx, p.snapshot().row.StartedAt, p.grantProcess())
	}
	return nil
}

// reconcile settles what a process asked while the server or the database was down. waiting is
// the CLI's list of open requests, asked the time of that list, and withdrawn the reason shown for
// requests that the CLI withdrew meanwhile.
func (p *process) reconcile(ctx context.Context, waiting []claude.ToolRequest, asked time.Time, withdrawn string) {
	err := failpoint.Hit("reconcile.before")
	if err == nil {
		err = p.requests.reconcile(ctx, waiting, asked, withdrawn)
	}
	if err != nil {
		p.log.ErrorContext(ctx, "cannot reconcile a process with the database", "error", err)
		return
	}
	running := map[string]bool{}
	p.mu.Lock()
	for id := range p.transcript.RunningCalls() {
		running[id] = true
	}
	p.mu.Unlock()
	p.mcpCalls.settle(ctx, running, asked)
	p.requests.recordMissing(ctx)
	if err := failpoint.Hit("reconcile.after"); err != nil {
		p.log.ErrorContext(ctx, "cannot reconcile a process with the database", "error", err)
	}
}

// recover catches up after the store has failed. Like an adopting server, it asks the CLI for
// its open requests.
func (p *process) recover(ctx context.Context) {
	p.requests.storeDeliveries(ctx)
	s, client := p.snapshot(), p.clientNow()
	if client == nil || !s.initialized || s.detached || s.stopReason != "" || s.ended {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	asked := time.Now()
	hello, err := client.Initialize(ctx, initialization())
	if err != nil {
		p.log.WarnContext(ctx, "Claude does not report its open requests", "error", err)
		return
	}
	p.reconcile(ctx, hello.PendingPermissionRequests, asked, statement.New("withdrawn_database_away"))
}

// learnCost asks a resumed CLI for the cost so far. If the CLI does not answer, counting starts
// at 0.
func (p *process) learnCost(ctx context.Context, client *claude.Client) {
	p.mu.Lock()
	known := p.transcript.Cost != nil
	p.mu.Unlock()
	if known {
		return
	}
	var begun int64
	if p.leftover != nil || p.plan.Resume != "" {
		ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
		defer cancel()
		usd, err := client.SessionCost(ctx)
		if err != nil {
			p.log.DebugContext(ctx, "Claude does not report its cost so far", "error", err)
		}
		begun = transcript.Micros(usd)
	}
	p.mu.Lock()
	if p.transcript.Cost == nil {
		p.transcript.Cost = &begun
	}
	p.mu.Unlock()
}
