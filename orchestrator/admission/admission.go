// Package admission decides, by the limits of people and projects, whether a session may have a
// process or start a turn. It reserves slots for processes that are about to start, and keeps the
// list of sessions that wait for capacity.
package admission

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
)

// Options configures a [Control]. All fields are required unless they say that they may be nil.
type Options struct {
	Store project.BoundsStore
	// EachPerson returns the limits of a person without an override.
	EachPerson func() project.Limits
	// Running returns what the running processes use, by session id. It must not block,
	// because it is called while a slot is being reserved.
	Running func() map[string]project.SessionUse
	// Servers counts what all servers of the database run; nil if there is only one server.
	Servers Servers
}

// Servers counts what all servers of a database run.
type Servers interface {
	// Use returns, by session id, what other servers run and what any server has reserved. mark is
	// for Reserve.
	Use(ctx context.Context) (use map[string]project.SessionUse, mark int64, err error)
	// Reserve makes a session count in Use before its process is stored. It returns false, and reserves
	// nothing, if another session was reserved since Use returned the mark.
	Reserve(ctx context.Context, mark int64, sessionID string, use project.SessionUse) (bool, error)
	// Release removes the reservation of a session.
	Release(ctx context.Context, sessionID string) error
}

// releaseTimeout bounds how long a caller waits for Release of [Servers]. If Release fails, the
// reservation expires.
const releaseTimeout = 3 * time.Second

// Control admits processes and turns. It is safe for concurrent use.
type Control struct {
	o     Options
	freed chan struct{} // capacity 1, never closed
	slots *slots        // see [Control.Share]

	mu      sync.Mutex          // protects following
	waiting map[string]struct{} // session ids
}

// slots holds the reservations of processes that are about to start.
type slots struct {
	turn chan struct{} // a lock: holds one value while a caller reserves with Servers

	mu       sync.Mutex              // protects following
	reserved map[string]*reservation // by session id
}

// reservation is a slot for a process that is about to start.
type reservation struct {
	taken   project.SessionUse
	holders int  // callers of Reserve that have not released it
	shared  bool // also reserved with [Servers]
}

// New returns a Control without reservations.
func New(o Options) *Control {
	return &Control{
		o: o, freed: make(chan struct{}, 1), waiting: map[string]struct{}{},
		slots: &slots{turn: make(chan struct{}, 1), reserved: map[string]*reservation{}},
	}
}

// Share makes c use the slots of another Control of this server, so that each counts the reservations of
// both. Call it before the first Reserve.
func (c *Control) Share(other *Control) { c.slots = other.slots }

// Bounds returns the limits in force and what running and starting processes use.
func (c *Control) Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error) {
	bounds, err := c.bounds(ctx)
	if err != nil {
		return nil, nil, err
	}
	var elsewhere map[string]project.SessionUse
	if c.o.Servers != nil {
		if elsewhere, _, err = c.o.Servers.Use(ctx); err != nil {
			return nil, nil, err
		}
	}
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	return bounds, c.taken(c.running(elsewhere)), nil
}

// Reserve reserves a slot for a process of a session until release is called. Checking the limits
// and taking the slot is one atomic step across all servers: of two callers that want the last
// slot, one gets it. The error is [problem.LimitReached] if no slot is free.
func (c *Control) Reserve(ctx context.Context, sessionID, folder, ownerID string) (release func(), err error) {
	bounds, err := c.bounds(ctx)
	if err != nil {
		return nil, err
	}
	if c.o.Servers == nil || !bounds.BoundsProcesses(folder, ownerID) {
		release, _, err = c.take(bounds, sessionID, folder, ownerID, nil)
		return release, err
	}
	select {
	case c.slots.turn <- struct{}{}:
		defer func() { <-c.slots.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		elsewhere, mark, err := c.o.Servers.Use(ctx)
		if err != nil {
			return nil, err
		}
		release, isNew, err := c.take(bounds, sessionID, folder, ownerID, elsewhere)
		if err != nil || !isNew {
			return release, err
		}
		reserved, err := c.o.Servers.Reserve(ctx, mark, sessionID, project.SessionUse{Folder: folder, OwnerID: ownerID})
		if reserved {
			c.keep(sessionID)
			return release, nil
		}
		release()
		if err != nil {
			return nil, err
		} // otherwise another server was faster: try again with what it has reserved
	}
}

// take takes a slot on this server, given what other servers run. isNew is false if the session already
// has a slot, which the caller then shares.
func (c *Control) take(bounds *project.Bounds, sessionID, folder, ownerID string, elsewhere map[string]project.SessionUse) (release func(), isNew bool, err error) {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	slot := c.slots.reserved[sessionID]
	if slot == nil {
		running := c.running(elsewhere)
		if _, runs := running[sessionID]; !runs {
			if err := bounds.AllowProcess(folder, ownerID, c.taken(running)); err != nil {
				return nil, false, err
			}
		}
		slot, isNew = &reservation{taken: project.SessionUse{Folder: folder, OwnerID: ownerID}}, true
		c.slots.reserved[sessionID] = slot
	}
	slot.holders++
	return func() { c.release(sessionID, slot) }, isNew, nil
}

// keep records that the slot of a session is also reserved with Servers.
func (c *Control) keep(sessionID string) {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	c.slots.reserved[sessionID].shared = true
}

func (c *Control) release(sessionID string, slot *reservation) {
	c.slots.mu.Lock()
	slot.holders--
	last := slot.holders == 0
	if last {
		delete(c.slots.reserved, sessionID)
	}
	c.slots.mu.Unlock()
	if !last || !slot.shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	_ = c.o.Servers.Release(ctx, sessionID) // if it fails, the reservation expires
}

// AllowTurn returns nil if another turn may start in a session, else a [problem.LimitReached].
func (c *Control) AllowTurn(ctx context.Context, folder, ownerID string) error {
	bounds, err := c.bounds(ctx)
	if err != nil {
		return err
	}
	return bounds.AllowTurn(folder, ownerID)
}

// Wait adds sessions to those that wait for capacity.
func (c *Control) Wait(sessionIDs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range sessionIDs {
		c.waiting[id] = struct{}{}
	}
}

// StopWaiting removes a session from those that wait.
func (c *Control) StopWaiting(sessionID string) {
	c.mu.Lock()
	delete(c.waiting, sessionID)
	c.mu.Unlock()
}

// TakeWaiting returns the sessions that wait and removes them.
func (c *Control) TakeWaiting() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Collect(maps.Keys(c.waiting))
	clear(c.waiting)
	return list
}

// CapacityFreed signals Freed if sessions wait.
func (c *Control) CapacityFreed() {
	c.mu.Lock()
	waits := len(c.waiting) > 0
	c.mu.Unlock()
	if !waits {
		return
	}
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// Freed returns a channel that receives when there may be capacity for the sessions that wait.
func (c *Control) Freed() <-chan struct{} { return c.freed }

func (c *Control) bounds(ctx context.Context) (*project.Bounds, error) {
	return project.ReadBounds(ctx, c.o.Store, c.o.EachPerson(), time.Now())
}

// running returns what runs on this server and elsewhere.
func (c *Control) running(elsewhere map[string]project.SessionUse) map[string]project.SessionUse {
	here := c.o.Running()
	all := maps.Clone(elsewhere)
	if all == nil {
		return here
	}
	maps.Copy(all, here)
	return all
}

// taken lists what running and starting processes use. The caller holds the lock of the slots.
func (c *Control) taken(running map[string]project.SessionUse) []project.SessionUse {
	list := slices.Collect(maps.Values(running))
	for id, slot := range c.slots.reserved {
		if _, runs := running[id]; !runs {
			list = append(list, slot.taken)
		}
	}
	return list
}
