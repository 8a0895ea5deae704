// Package admission decides, within the limits of people and projects, whether a
// session may have a process or start a turn. It reserves slots for processes that
// are about to start and remembers which sessions wait for capacity.
package admission

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
)

// Options configures a [Control]. All are required unless they say that they may be nil.
type Options struct {
	Store project.BoundsStore
	// EachPerson returns the limits of a person for whom no others are set.
	EachPerson func() project.Limits
	// Running returns what the running processes take, by session id. It must not
	// block: it is called while a slot is being reserved.
	Running func() map[string]project.SessionUse
	// Elsewhere returns what other servers run, by session id. It is nil if there are none. Two servers
	// that start a process at the same instant may exceed a limit by one.
	Elsewhere func(ctx context.Context) (map[string]project.SessionUse, error)
}

// Control admits processes and turns. It is safe for concurrent use.
type Control struct {
	o     Options
	freed chan struct{} // capacity 1, never closed

	mu       sync.Mutex              // protects following
	reserved map[string]*reservation // by session id
	waiting  map[string]struct{}     // session ids
}

// reservation is a slot for a process that is about to start.
type reservation struct {
	taken   project.SessionUse
	holders int // callers of Reserve that have not released it
}

// New returns a Control without reservations.
func New(o Options) *Control {
	return &Control{o: o, freed: make(chan struct{}, 1), reserved: map[string]*reservation{}, waiting: map[string]struct{}{}}
}

// Bounds returns the limits in force and what running and starting processes take.
func (c *Control) Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error) {
	bounds, err := c.bounds(ctx)
	if err != nil {
		return nil, nil, err
	}
	elsewhere, err := c.elsewhere(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return bounds, c.taken(c.running(elsewhere)), nil
}

// Reserve keeps a slot for a process of a session until release is called. Checking
// the limits and taking the slot are one step: of two callers that want the last slot,
// one gets it. The error is [problem.LimitReached] when there is none.
func (c *Control) Reserve(ctx context.Context, sessionID, folder, ownerID string) (release func(), err error) {
	bounds, err := c.bounds(ctx)
	if err != nil {
		return nil, err
	}
	elsewhere, err := c.elsewhere(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := c.reserved[sessionID]
	if slot == nil {
		running := c.running(elsewhere)
		if _, runs := running[sessionID]; !runs {
			if err := bounds.AllowProcess(folder, ownerID, c.taken(running)); err != nil {
				return nil, err
			}
		}
		slot = &reservation{taken: project.SessionUse{Folder: folder, OwnerID: ownerID}}
		c.reserved[sessionID] = slot
	}
	slot.holders++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if slot.holders--; slot.holders == 0 {
			delete(c.reserved, sessionID)
		}
	}, nil
}

// AllowTurn returns nil when another turn may start in a session, or a
// [problem.LimitReached].
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

// Freed receives when there may be capacity for the sessions that wait.
func (c *Control) Freed() <-chan struct{} { return c.freed }

func (c *Control) bounds(ctx context.Context) (*project.Bounds, error) {
	return project.ReadBounds(ctx, c.o.Store, c.o.EachPerson(), time.Now())
}

// elsewhere returns what other servers run.
func (c *Control) elsewhere(ctx context.Context) (map[string]project.SessionUse, error) {
	if c.o.Elsewhere == nil {
		return nil, nil
	}
	return c.o.Elsewhere(ctx)
}

// running returns what runs here and elsewhere.
func (c *Control) running(elsewhere map[string]project.SessionUse) map[string]project.SessionUse {
	here := c.o.Running()
	all := maps.Clone(elsewhere)
	if all == nil {
		return here
	}
	maps.Copy(all, here)
	return all
}

// taken lists what running and starting processes take. It is called with the lock
// held.
func (c *Control) taken(running map[string]project.SessionUse) []project.SessionUse {
	list := slices.Collect(maps.Values(running))
	for id, slot := range c.reserved {
		if _, runs := running[id]; !runs {
			list = append(list, slot.taken)
		}
	}
	return list
}
