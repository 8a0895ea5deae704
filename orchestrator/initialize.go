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

// goneGrace is how long it may take to see the end of a CLI that takes no line.
const goneGrace = 2 * time.Second

// initialize initialises the CLI. Until it has answered, nothing is sent.
func (p *process) initialize(lasting context.Context, client *claude.Client, over <-chan struct{}) error {
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
		// A program that prints a lot and says nothing is not Claude.
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
			case <-over:
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
			case <-over:
				return errGone
			case <-time.After(goneGrace): // it lives, and did not take the line
			}
		}
		return fmt.Errorf("initialize: %w", err)
	}
	if !launch.HasAccount(hello.Account) {
		return errNoAccount
	}
	// A database that is away does not end a process: it waits, for longer than the CLI may take.
	err = retryStore(alive, p.log, "what the project demands of a session", func() error { return p.toolRules.restrictSkills(alive) })
	if err != nil {
		return cmp.Or(context.Cause(alive), err)
	}
	ctx, cancel = context.WithTimeoutCause(alive, p.o.rules().Limits.Start, errNoAnswer)
	defer cancel()
	p.learnCost(ctx, client)
	if p.leftover != nil {
		p.reconcile(ctx, hello.PendingPermissionRequests, asked, statement.New("withdrawn_away"))
		p.revoked.restore(ctx, p.snapshot().row.StartedAt, p.grantee())
	}
	return nil
}

// reconcile settles what a process asked while the server or the database was away.
func (p *process) reconcile(ctx context.Context, waiting []claude.ToolRequest, asked time.Time, withdrawn string) {
	err := failpoint.Hit("reconcile.before")
	if err == nil {
		err = p.requests.reconcile(ctx, waiting, asked, withdrawn)
	}
	if err != nil {
		p.log.ErrorContext(ctx, "cannot reconcile a process with what is stored of it", "error", err)
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
		p.log.ErrorContext(ctx, "cannot reconcile a process with what is stored of it", "error", err)
	}
}

// recover makes up for the time in which the store was out of order. The CLI is asked
// what it waits for, as by a server that adopts it.
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
		p.log.WarnContext(ctx, "Claude does not say what it waits for", "error", err)
		return
	}
	p.reconcile(ctx, hello.PendingPermissionRequests, asked, statement.New("withdrawn_database_away"))
}

// learnCost asks a CLI that was resumed what it counts already. One that cannot say
// counts from nothing.
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
			p.log.DebugContext(ctx, "Claude does not say what it has cost so far", "error", err)
		}
		begun = transcript.Micros(usd)
	}
	p.mu.Lock()
	if p.transcript.Cost == nil {
		p.transcript.Cost = &begun
	}
	p.mu.Unlock()
}
