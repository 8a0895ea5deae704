package command

import (
	"context"
	"sync"
	"time"
)

// Large messages and bodies that are read and carried out at once.
const (
	maxConcurrentLarge = 4
	MaxLargePerUser    = 2 // of one person: nobody keeps all others waiting
)

// LargeTimeout is how long something large may take, if it keeps coming.
const LargeTimeout = time.Minute

// How fast what is large must come: after a first patience at this rate at least.
const (
	paceBegin = 10 * time.Second
	paceRate  = 32 << 10 // bytes a second
)

// slots bound how many large messages and bodies are taken in at once.
type slots struct {
	mu      sync.Mutex // protects following
	taken   int
	of      map[string]int // by user id
	changed chan struct{}  // closed when somebody leaves
}

func newSlots() *slots { return &slots{of: map[string]int{}, changed: make(chan struct{})} }

// acquire waits for a slot for a person; see [Executor.AcquireLarge].
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

// Pace is how something large comes in.
type Pace struct {
	began time.Time
	Got   int64 // bytes
	first int64 // of them before it began
}

// Begin counts the time from now on.
func (p *Pace) Begin() { p.began, p.first = time.Now(), p.Got }

// Due returns when more of it must have come.
func (p *Pace) Due() time.Time {
	return p.began.Add(min(paceBegin+time.Duration(p.Got-p.first)*time.Second/paceRate, LargeTimeout))
}
