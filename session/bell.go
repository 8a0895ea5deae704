package session

import (
	"sync"
	"time"
)

// LocalBell is the [Bell] of one node: ringing it calls every listener.
type LocalBell struct {
	mu        sync.RWMutex // protects following
	listeners []func(sessionID string)
}

// Listen adds a listener. It is called on the goroutine that rings, so it must
// not block: it marks what is dirty and returns.
func (b *LocalBell) Listen(listener func(sessionID string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, listener)
}

// Ring implements [Bell].
func (b *LocalBell) Ring(sessionID string) {
	b.mu.RLock()
	listeners := b.listeners
	b.mu.RUnlock()
	for _, listen := range listeners {
		listen(sessionID)
	}
}

// soon is how long [LocalBell.RingSoon] waits: an answer reaches Claude in it, and
// nobody sees that a form went so much later.
const soon = time.Millisecond

// RingSoon rings in a moment. It is for who has something more urgent under way
// that the listeners would compete with.
func (b *LocalBell) RingSoon(sessionID string) {
	time.AfterFunc(soon, func() { b.Ring(sessionID) })
}
