package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
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
func (p *process) initialize(ctx context.Context, client *claude.Client, over <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Start, errNoAnswer)
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
				cancelRubbish(errGone)
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
	if err := p.toolRules.restrictSkills(ctx); err != nil {
		return err
	}
	p.learnCost(ctx, client)
	if p.leftover != nil {
		p.reconcile(ctx, hello.PendingPermissionRequests, asked)
		p.revoked.restore(ctx, p.snapshot().row.StartedAt, p.grantee())
	}
	return nil
}

// reconcile settles what an adopted process asked while no server listened.
func (p *process) reconcile(ctx context.Context, waiting []claude.ToolRequest, asked time.Time) {
	err := failpoint.Hit("reconcile.before")
	if err == nil {
		err = p.requests.reconcile(ctx, waiting, asked)
	}
	if err != nil {
		p.log.ErrorContext(ctx, "cannot reconcile an adopted process", "error", err)
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
		p.log.ErrorContext(ctx, "cannot reconcile an adopted process", "error", err)
	}
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
