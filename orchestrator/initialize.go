package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

var (
	errGone     = errors.New("the process ended")
	errNoAnswer = errors.New("no answer to initialize")
	errRubbish  = errors.New("its output is not Claude's protocol")
	errNobody   = errors.New("nobody is signed in")
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
				p.mu.Lock()
				noise := p.unreadable
				p.mu.Unlock()
				if noise >= enoughNoise {
					cancelRubbish(errRubbish)
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
		return errNobody
	}
	if err := p.restrictSkills(ctx); err != nil {
		return err
	}
	p.learnCost(ctx, client)
	if p.leftover != nil {
		p.reconcile(ctx, hello, asked)
		p.restoreRevoked(ctx)
	}
	return nil
}
