package orchestrator

import (
	"context"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Limits of each step of a graceful end.
const (
	interruptGrace = 2 * time.Second
	closeTimeout   = 3 * time.Second // to write the end of the transcript
	terminateGrace = 3 * time.Second
	forceTimeout   = 300 * time.Millisecond // to deny the open requests before a forced kill
)

// awaitEnd waits for a reason to end the CLI, and then ends it. It returns once the CLI is gone,
// whoever ended it, or this server has detached from it.
func (p *process) awaitEnd(ctx context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
	case k := <-p.kills:
		p.end(ctx, k, finished)
	case <-ctx.Done():
		if p.detach() {
			return
		}
		p.handle(ctx, serverStopping{})
		p.end(ctx, killRequest{}, finished)
	}
}

// end ends the CLI step by step, and returns once the CLI is gone. Further kill requests shorten
// this.
func (p *process) end(ctx context.Context, k killRequest, finished <-chan struct{}) {
	p.mu.Lock()
	reason := p.state.stopReason
	conn, client := p.conn, p.client
	p.mu.Unlock()
	p.log.Info("ending Claude", "reason", reason, "force", k.force)

	grace := interruptGrace
	if k.force {
		grace = forceTimeout
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// The open requests are denied first, so that Claude's transcript has a result for every
	// tool call. Claude cannot resume a transcript without them.
	asked := p.questions.list()
	if _, err := p.o.o.Registry.WithdrawAll(lasting, p.session.SessionID, reason); err != nil {
		p.log.Error("cannot withdraw the open requests", "error", err)
	}
	for _, q := range asked {
		select {
		case <-q.done:
		case k = <-p.kills:
			if k.force {
				cancel() // also ends the loop
			}
		case <-lasting.Done():
		case <-finished:
		}
	}
	gone := func(grace time.Duration) bool {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		for {
			select {
			case <-finished:
				return true
			case <-timer.C:
				return false
			case k = <-p.kills:
				if k.force {
					return false
				}
			}
		}
	}
	// Each step is bounded even if the shim does not answer. Goroutines that wait for the shim
	// end with the connection.
	var steps sync.WaitGroup
	defer steps.Wait()
	step := func(name string, do func() error, grace time.Duration) bool {
		if k.force {
			return false
		}
		steps.Go(func() {
			if err := do(); err != nil {
				p.log.Warn("a step of ending Claude failed", "step", name, "error", err)
			}
		})
		return gone(grace)
	}
	working := len(asked) > 0 || p.is(state.working)
	if working && !k.force {
		interrupted := make(chan struct{})
		steps.Go(func() {
			defer close(interrupted)
			if err := client.Interrupt(lasting); err != nil {
				p.log.Warn("a step of ending Claude failed", "step", "interrupt", "error", err)
			}
		})
		select {
		case <-interrupted:
		case <-lasting.Done():
		case k = <-p.kills:
		case <-finished:
			return
		}
	}
	if step("close input", conn.CloseInput, closeTimeout) ||
		step("terminate", conn.Terminate, terminateGrace) {
		return
	}
	if err := conn.Kill(); err != nil {
		p.log.Error("cannot kill Claude", "error", err)
	}
	<-finished
}

// detach disconnects from the process if it can outlive this server, and reports whether it can.
func (p *process) detach() bool {
	p.mu.Lock()
	kept, ok := p.conn.(launch.JournaledConn)
	p.transition(detachSet{ok})
	p.mu.Unlock()
	if !ok {
		return false
	}
	detach(kept, p.log)
	return true
}
