// Package orchestrator drives Claude processes: it starts, feeds, interrupts,
// ends and resumes them, and turns what they say into the state and transcript
// of their session. A process is a claude.Client over a transport; its
// permission callback is pending.Registry.Ask.
package orchestrator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// Orchestrator drives the Claude processes of this node.
type Orchestrator struct {
	*node
	launches chan *process // to Run, which owns every process
	settled  chan struct{} // closed by Run once what a former server left is settled
	closing  chan struct{} // closed by Run when it begins to end

	answered chan struct{} // sessions are in touched; capacity 1, never closed

	mu              sync.Mutex          // protects following
	processes       map[string]*process // running, by session id
	changedSessions map[string]bool     // dead sessions that changed
}

// New returns an orchestrator that does nothing until Run. The error names an option that
// is missing.
func New(o Options) (*Orchestrator, error) {
	if err := options.Check("orchestrator", o); err != nil {
		return nil, err
	}
	made := &Orchestrator{
		node:            &node{o: o, starter: &launch.Starter{CLI: o.CLI, Launcher: o.Launcher, Sandbox: o.Sandbox, MCP: o.MCP}},
		launches:        make(chan *process),
		settled:         make(chan struct{}),
		closing:         make(chan struct{}),
		answered:        make(chan struct{}, 1),
		processes:       make(map[string]*process),
		changedSessions: make(map[string]bool),
	}
	made.admission = admission.New(admission.Options{
		Store: o.Store, EachPerson: func() project.Limits { return made.rules().EachPerson }, Running: made.usage,
	})
	made.SetRules(o.Rules)
	return made, nil
}

// SetRules changes the rules for all that is decided from now on.
func (o *Orchestrator) SetRules(r Rules) {
	o.changed.Store(&r)
	o.LimitsChanged()
}

// Run settles what a former server left behind, then drives processes until ctx
// ends, and returns once the last of them is gone.
func (o *Orchestrator) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer close(o.closing)
	o.grantsChanged(ctx)
	adopted, strays, err := o.adopt(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("orchestrator: adopt what a former server left: %w", err)
	}
	drive := func(p *process) {
		running.Go(func() {
			p.run(ctx)
			o.remove(p)
			o.continueSession(ctx, p)
		})
	}
	for _, p := range adopted {
		drive(p)
	}
	o.restoreWaiting(ctx)
	// What is in the way of a new process of its session goes first; none of it
	// holds up what was adopted.
	running.Go(func() {
		o.removeStrays(ctx, strays)
		close(o.settled)
	})
	ticker := time.NewTicker(o.rules().Limits.Sample)
	defer ticker.Stop()
	retry := time.NewTicker(capacityInterval)
	defer retry.Stop()
	running.Go(func() { o.watchRights(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-o.launches:
			drive(p)
		case <-o.answered:
			running.Go(func() { o.resumeAnswered(ctx) })
		case <-o.admission.Freed():
			running.Go(func() { o.resumeWaiting(ctx) })
		case <-retry.C:
			running.Go(func() { o.resumeWaiting(ctx) })
		case now := <-ticker.C:
			o.sample(ctx, now)
		}
	}
}

// ownSession returns a session in which this server may run Claude. The error is an
// [problem.Error] for one that holds only what an outsider asks.
func (o *Orchestrator) ownSession(ctx context.Context, sessionID string) (session.Session, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err == nil && s.Kind != session.Ours {
		err = problem.For("session_id", "session_external")
	}
	return s, err
}

func (o *Orchestrator) remove(p *process) {
	o.mu.Lock()
	delete(o.processes, p.session.SessionID)
	o.mu.Unlock()
	close(p.gone)
	o.admission.CapacityFreed()
}

// find returns the running process of a session, nil when it has none.
func (o *Orchestrator) find(sessionID string) *process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.processes[sessionID]
}

// running finds the process of a session: ErrNotRunning when it has none,
// session.ErrNotFound when there is no such session.
func (o *Orchestrator) running(ctx context.Context, sessionID string) (*process, error) {
	if p := o.find(sessionID); p != nil {
		return p, nil
	}
	if _, err := o.o.Store.Session(ctx, sessionID); err != nil {
		return nil, err
	}
	return nil, ErrNotRunning
}

// all lists the running processes.
func (o *Orchestrator) all() []*process {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*process, 0, len(o.processes))
	for _, p := range o.processes {
		list = append(list, p)
	}
	return list
}
