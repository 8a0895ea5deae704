package wsapi

import (
	"context"
	"sync"
	"time"
)

// Large messages and bodies that are read and carried out at once.
const (
	largeAtOnce = 4
	largeOfOne  = 2 // of one person: nobody keeps all others waiting
)

// How fast what is large must come: after a first patience at this rate at least.
const (
	paceBegin = 10 * time.Second
	paceRate  = 32 << 10 // bytes a second
)

// turns says who may send something large now.
type turns struct {
	mu      sync.Mutex // protects following
	taken   int
	of      map[string]int // by user id
	changed chan struct{}  // closed when somebody leaves
}

func newTurns() *turns { return &turns{of: map[string]int{}, changed: make(chan struct{})} }

// take waits for a turn of a person; false when ctx ends before it comes. leave may
// be called more than once.
func (t *turns) take(ctx context.Context, userID string) (leave func(), ok bool) {
	for {
		t.mu.Lock()
		free := t.taken < largeAtOnce && t.of[userID] < largeOfOne
		if free {
			t.taken++
			t.of[userID]++
		}
		changed := t.changed
		t.mu.Unlock()
		if free {
			return sync.OnceFunc(func() { t.leave(userID) }), true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (t *turns) leave(userID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	if t.of[userID]--; t.of[userID] == 0 {
		delete(t.of, userID)
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// pace is how something large comes in.
type pace struct {
	began time.Time
	got   int64 // bytes
	first int64 // of them before it began
}

// begin counts the time from now on.
func (p *pace) begin() { p.began, p.first = time.Now(), p.got }

// due is when more of it must have come.
func (p *pace) due() time.Time {
	return p.began.Add(min(paceBegin+time.Duration(p.got-p.first)*time.Second/paceRate, largeTimeout))
}
