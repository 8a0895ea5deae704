package command

import (
	"context"
	"sync"
	"time"
)

// Limits of large messages and bodies that are processed concurrently.
const (
	maxConcurrentLarge = 4
	MaxLargePerUser    = 2 // so that no person blocks everybody else
)

// LargeTimeout bounds the receipt of a large message or body.
const LargeTimeout = time.Minute

// The minimum rate at which a large message or body must arrive: paceRate, after a grace period
// of paceBegin.
const (
	paceBegin = 10 * time.Second
	paceRate  = 32 << 10 // bytes per second
)

// slots limits how many large messages and bodies are processed concurrently.
type slots struct {
	mu      sync.Mutex // protects following
	taken   int
	of      map[string]int // by user id
	changed chan struct{}  // closed on release
}

func newSlots() *slots { return &slots{of: map[string]int{}, changed: make(chan struct{})} }

// acquire waits for a slot of a person; see [Executor.AcquireLarge].
func (t *slots) acquire(ctx context.Context, userID string) (release func(), ok bool) {
	for {
		t.mu.Lock()
		free := t.taken < maxConcurrentLarge && t.of[userID] < MaxLargePerUser
		if free {
			t.taken++
			t.of[userID]++
		}
		changed := t.changed
		t.mu.Unlock()
		if free {
			return sync.OnceFunc(func() { t.release(userID) }), true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (t *slots) release(userID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	if t.of[userID]--; t.of[userID] == 0 {
		delete(t.of, userID)
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// Pace measures the rate at which a large message or body arrives.
type Pace struct {
	began    time.Time
	Received int64 // bytes
	first    int64 // bytes received before Begin
}

// Begin starts the measurement.
func (p *Pace) Begin() { p.began, p.first = time.Now(), p.Received }

// Due returns the time by which more bytes must have arrived.
func (p *Pace) Due() time.Time {
	return p.began.Add(min(paceBegin+time.Duration(p.Received-p.first)*time.Second/paceRate, LargeTimeout))
}
