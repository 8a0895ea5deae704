package session

import (
	"sync"
	"time"
)

// LocalNotifier is the [Notifier] of one node: it calls every listener.
type LocalNotifier struct {
	mu        sync.RWMutex // protects following
	listeners []func(sessionID string)
}

// Listen adds a listener. It is called on the goroutine that notifies, so it
// must not block: it marks what is dirty and returns.
func (n *LocalNotifier) Listen(listener func(sessionID string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, listener)
}

// Notify implements [Notifier].
func (n *LocalNotifier) Notify(sessionID string) {
	n.mu.RLock()
	listeners := n.listeners
	n.mu.RUnlock()
	for _, listen := range listeners {
		listen(sessionID)
	}
}

// deferral is how long [LocalNotifier.NotifyDeferred] waits: an answer reaches Claude in
// it, and nobody sees that a form went so much later.
const deferral = time.Millisecond

// NotifyDeferred notifies a moment later, for callers with something more urgent under way
// that the listeners would compete with.
func (n *LocalNotifier) NotifyDeferred(sessionID string) {
	time.AfterFunc(deferral, func() { n.Notify(sessionID) })
}
