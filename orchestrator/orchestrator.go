// Package orchestrator drives Claude processes: it starts, feeds, interrupts,
// ends and resumes them, and turns what they say into the state and transcript
// of their session. A process is a claude.Client over a transport; its
// permission callback is pending.Registry.Ask.
package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Store stores sessions, requests, grants and trust.
type Store interface {
	session.Store
	pending.GrantStore
	workspace.Trusts
	project.BoundsStore
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error)
	// AddIncident puts an entry at the end of the audit trail.
	AddIncident(ctx context.Context, body []byte) error
}

// Options configures an [Orchestrator]. All but Demo, MCP, Sandbox and Attachments are
// required.
type Options struct {
	Store    Store
	Registry *pending.Registry
	Bell     session.Bell
	Launcher launch.Launcher
	CLI      *launch.CLI
	Rules    Rules // at the start, see SetRules
	NodeID   string
	Demo     *Demo           // nil when there is no scripted model to run against
	MCP      *launch.MCP     // nil when sessions do not ask over MCP
	Sandbox  *launch.Sandbox // nil when CLIs run as this server does
	// Attachments may be nil when no message names one by its id.
	Attachments Attachments
	Log         *slog.Logger
}

// Demo is the scripted model that demo sessions talk to.
type Demo struct {
	Environ map[string]string // on top of the CLI's environment
	Folder  string            // where demo sessions work, made when missing
	Prompt  string            // what is asked when the person asks nothing
}

// Orchestrator drives the Claude processes of this node.
type Orchestrator struct {
	o       Options
	changed atomic.Pointer[Rules]           // that hold now; Options has those of the start
	inForce atomic.Pointer[[]pending.Grant] // grants; nil before they were read

	launches chan *process // to Run, which owns every process
	settled  chan struct{} // closed by Run once what a former server left is settled
	closing  chan struct{} // closed by Run when it begins to end

	answered  chan struct{} // sessions are in touched; capacity 1, never closed
	admission *admission.Control
	starter   *launch.Starter

	mu        sync.Mutex          // protects following
	processes map[string]*process // running, by session id
	touched   map[string]bool     // dead sessions that changed
}

// New returns an orchestrator that does nothing until Run.
func New(o Options) *Orchestrator {
	made := &Orchestrator{
		o:         o,
		launches:  make(chan *process),
		settled:   make(chan struct{}),
		closing:   make(chan struct{}),
		answered:  make(chan struct{}, 1),
		processes: make(map[string]*process),
		touched:   make(map[string]bool),
	}
	made.starter = &launch.Starter{CLI: o.CLI, Launcher: o.Launcher, Sandbox: o.Sandbox, MCP: o.MCP}
	made.admission = admission.New(admission.Options{
		Store: o.Store, EachPerson: func() project.Limits { return made.rules().EachPerson }, Running: made.usage,
	})
	made.SetRules(o.Rules)
	return made
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
// [InvalidError] for one that holds only what an outsider asks.
func (o *Orchestrator) ownSession(ctx context.Context, sessionID string) (session.Session, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err == nil && s.Kind != session.Ours {
		err = &InvalidError{Field: "session_id", Sentence: "Claude does not run here for this session: it holds what an agent elsewhere asks. Its questions can be answered."}
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

func (o *Orchestrator) process(sessionID string) *process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.processes[sessionID]
}

// running finds the process of a session: ErrNotRunning when it has none,
// session.ErrNotFound when there is no such session.
func (o *Orchestrator) running(ctx context.Context, sessionID string) (*process, error) {
	if p := o.process(sessionID); p != nil {
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
