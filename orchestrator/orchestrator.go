// Package orchestrator drives Claude processes: it starts, feeds, interrupts, ends and
// resumes them, and turns their output into the state and transcript of their session. A
// process is a claude.Client over a transport; its permission callback calls
// pending.Registry.Ask.
package orchestrator

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Orchestrator drives the Claude processes of this node.
type Orchestrator struct {
	*node
	launches chan *process // to Run, which owns every process
	adopted  chan struct{} // closed by Run once it knows the processes of an earlier server
	settled  chan struct{} // closed by Run once the processes of an earlier server are settled
	closing  chan struct{} // closed by Run when it begins to stop

	createdAt time.Time // before Run

	unsettled atomic.Bool // the store has not yet recorded what died with an earlier server

	serverOrchestrators func() []*Orchestrator // of all runners of this server; set before Run
	// orchestratorsElsewhere returns Orchestrators for the folders and files of the runners that other servers
	// drive, and the runners that cannot be reached. It is set before Run.
	orchestratorsElsewhere func(context.Context) ([]*Orchestrator, []session.Runner)
	// revokeThere revokes a grant through the server that drives the runner; nil if this one does.
	revokeThere func(context.Context, pending.Grant) (Revocation, error)

	disk launch.Disk // of the machine on which its sessions run

	answered chan struct{} // changedSessions is not empty; capacity 1, never closed
	revoked  chan struct{} // grants were revoked elsewhere; capacity 1, never closed

	mu              sync.Mutex          // protects following
	processes       map[string]*process // running, by session id
	changedSessions map[string]bool     // dead sessions that changed; true if they died in an outage
	revokedHere     map[string]bool     // ids of the grants that this Orchestrator has revoked
}

// New returns an Orchestrator, which does nothing until Run is called. The error names a missing
// option, or is that of [launch.NewRunner].
func New(o Options) (*Orchestrator, error) {
	if err := options.Check("orchestrator", o); err != nil {
		return nil, err
	}
	runner := o.Runner
	if runner == nil {
		var err error
		if runner, err = launch.NewRunner(o.CLI, nil); err != nil {
			return nil, err
		}
	}
	made := &Orchestrator{
		createdAt:       time.Now(),
		node:            &node{o: o, runner: runner, fenced: make(chan struct{}, 1)},
		launches:        make(chan *process),
		adopted:         make(chan struct{}),
		settled:         make(chan struct{}),
		closing:         make(chan struct{}),
		answered:        make(chan struct{}, 1),
		revoked:         make(chan struct{}, 1),
		processes:       make(map[string]*process),
		changedSessions: make(map[string]bool),
		revokedHere:     make(map[string]bool),
	}
	made.disk = runner
	if o.Runner != nil {
		made.disk = launch.RemoteDisk(runner)
	}
	made.serverOrchestrators = func() []*Orchestrator { return []*Orchestrator{made} }
	made.orchestratorsElsewhere = func(context.Context) ([]*Orchestrator, []session.Runner) { return nil, nil }
	made.admission = admission.New(admission.Options{
		Store: o.Store, EachPerson: func() project.Limits { return made.rules().EachPerson }, Running: made.usage, Servers: o.Servers,
	})
	made.SetRules(o.Rules)
	return made, nil
}

// SetRules changes the rules for all later decisions.
func (o *Orchestrator) SetRules(r Rules) {
	o.changed.Store(&r)
	o.LimitsChanged()
}

// Rules returns the current rules.
func (o *Orchestrator) Rules() *Rules { return o.rules() }

// ownSession returns a session in which this server may run Claude. It returns a [problem.Error]
// for a session of an external agent, or of a runner that this server does not drive.
func (o *Orchestrator) ownSession(ctx context.Context, sessionID string) (session.Session, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err == nil && s.Kind != session.Ours {
		err = problem.For("session_id", "session_external")
	}
	if err == nil {
		err = o.checkRunner(ctx, s)
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

// find returns the running process of a session, or nil.
func (o *Orchestrator) find(sessionID string) *process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.processes[sessionID]
}

// running returns the running process of a session, ErrNotRunning, or session.ErrNotFound.
func (o *Orchestrator) running(ctx context.Context, sessionID string) (*process, error) {
	if p := o.find(sessionID); p != nil {
		return p, nil
	}
	s, err := o.o.Store.Session(ctx, sessionID)
	if err == nil {
		err = o.checkRunner(ctx, s)
	}
	return nil, cmp.Or(err, ErrNotRunning)
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

// usage returns what the running processes of all runners of this server use, by session id.
func (o *Orchestrator) usage() map[string]project.SessionUse {
	use := map[string]project.SessionUse{}
	for _, p := range o.processesOfAll() {
		use[p.session.SessionID] = project.SessionUse{Folder: p.session.CWD, OwnerID: p.session.OwnerID, Memory: p.snapshot().row.Memory}
	}
	return use
}

func (o *Orchestrator) processesOfAll() (all []*process) {
	for _, each := range o.serverOrchestrators() {
		all = append(all, each.all()...)
	}
	return all
}

// LimitsChanged retries everything that waits for capacity.
func (o *Orchestrator) LimitsChanged() {
	for _, p := range o.all() {
		wake(p.feed)
	}
	o.admission.CapacityFreed()
}
