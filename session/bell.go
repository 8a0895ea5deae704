package session

import "sync"

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
