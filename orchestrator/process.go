package orchestrator

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// process is one process of a session's CLI. Only transition changes its state; the writer
// stores the state and notifies tabs.
type process struct {
	o         *node
	session   session.Session
	plan      launchPlan
	leftover  launch.Leftover // the adopted process; nil for one to be started
	processID string
	log       *slog.Logger

	exitedAt time.Time // set by run, read after it

	slowFolder bool // see snapshotFolder; only the sender uses it

	feed         chan struct{}    // wakes sendMessages; capacity 1, never closed
	kills        chan killRequest // capacity 1, never closed
	dirty        chan struct{}    // wakes the writer; capacity 1, never closed
	gone         chan struct{}    // closed by the orchestrator when the process is removed
	endingBypass atomic.Bool      // endBypass is running

	catalog atomic.Pointer[Catalog] // what the CLI offers; nil before the CLI has reported it

	requests     *requests
	questions    questions
	elicitations elicitations
	mcpCalls     *mcpCalls
	toolRules    *toolRules
	revoked      *revocations
	uses         grantUses
	noise        noise

	// saving serializes flushes: a flush stores a position in the journal that includes the items
	// of the previous flush, which may fail. It is never acquired with mu held.
	saving sync.Mutex
	unsure unsureCost // guarded by saving

	mu         sync.Mutex // protects following
	state      state      // changed only by transition
	transcript *transcript.Builder
	written    *sync.Cond     // on mu; signalled after each attempt to save
	items      []session.Item // to be written, in order
	itemBytes  int
	conn       launch.Conn
	client     *claude.Client
}

type killRequest struct {
	force  bool
	reason string
}

// unsureCost is the cost in a save whose result is unknown, and the position in the journal
// that was saved with it.
type unsureCost struct {
	micros int64
	offset int64
}

// newProcess returns a process to be started, or one that adopts leftover if that is not nil.
func newProcess(o *node, s session.Session, plan launchPlan, leftover launch.Leftover) *process {
	now := time.Now()
	p := &process{
		o: o, session: s, plan: plan, leftover: leftover,
		processID:  uuid.NewString(),
		log:        o.o.Log.With("session_id", s.SessionID),
		feed:       make(chan struct{}, 1),
		kills:      make(chan killRequest, 1),
		dirty:      make(chan struct{}, 1),
		gone:       make(chan struct{}),
		transcript: transcript.New(),
	}
	if leftover != nil {
		p.processID = leftover.ID().ProcessID
	}
	p.requests = &requests{o: o, log: p.log, sessionID: s.SessionID, processID: p.processID, before: plan.Before, speaker: p.transcriptAgentID, addItems: p.addItems}
	p.mcpCalls = &mcpCalls{o: o, log: p.log, sessionID: s.SessionID, addItems: p.addItems, requests: p.requests, signal: make(chan struct{}, 1)}
	p.toolRules = &toolRules{o: o, log: p.log, folder: s.CWD, client: p.clientNow}
	p.revoked = &revocations{o: o, log: p.log, client: p.clientNow, applying: make(chan struct{}, 1)}
	p.transcript.Free = s.Demo
	p.written = sync.NewCond(&p.mu)
	p.state = state{row: session.ProcessState{
		SessionID: s.SessionID, ProjectID: s.ProjectID, State: session.Starting,
		StartedAt: now, StateChangedAt: now, Model: s.Model, PermissionMode: s.PermissionMode,
		ProcessID: p.processID, RunnerID: o.o.RunnerID, NodeID: o.o.NodeID, Demo: s.Demo,
	}, unsaved: true, turnSince: now, drivenSince: now, lastActivity: now, startStored: s.Begun, earlierQuestions: plan.ContinueTurn || plan.Earlier}
	p.state.memo = memo{BypassedBy: plan.By.UserID, CutOff: plan.CutOff}
	return p
}

func (p *process) clientNow() *claude.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// awaitGone blocks until the process is removed and another can take its place. It returns the
// error of ctx if that ends first.
func (p *process) awaitGone(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transcriptAgentID returns the id of a subagent in the transcript.
func (p *process) transcriptAgentID(agentID string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.transcript.Agents[agentID].ToolUseID
}

// detach ends the connection to a process that outlives this server.
func detach(conn launch.JournaledConn, log *slog.Logger) {
	if err := conn.Detach(); err != nil {
		log.Warn("cannot disconnect cleanly from Claude", "error", err)
	}
}

// maxUnwritten bounds the transcript that waits for the store, in bytes. Beyond it the reader
// blocks and so, through the pipe, does the CLI.
const maxUnwritten = 16 << 20

// addItems queues transcript items. It blocks while more than maxUnwritten bytes wait for the
// store.
func (p *process) addItems(items ...session.Item) {
	if len(items) == 0 {
		return
	}
	p.awaitCapacity()
	p.mu.Lock()
	p.queueItems(items)
	p.mu.Unlock()
	wake(p.dirty)
}

// awaitCapacity blocks while more than maxUnwritten bytes wait for the store.
func (p *process) awaitCapacity() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.itemBytes > maxUnwritten && !p.state.ended {
		p.written.Wait()
	}
}

// queueItems queues items. The caller holds the lock.
func (p *process) queueItems(items []session.Item) {
	for _, it := range items {
		p.itemBytes += len(it.Body)
	}
	p.items = append(p.items, items...)
}

// is reports whether f is true of the current state. A state takes 2 KB. A function that blocks
// for long calls is instead of snapshot: a copy of the state would stay in its frame and grow
// the stack of a goroutine of every session by several times that size.
//
//go:noinline
func (p *process) is(f func(state) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f(p.state)
}

// snapshot returns the current state; see is.
func (p *process) snapshot() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}
