package session

import (
	"sync"
	"time"
)

// LocalNotifier is the [Notifier] of one node: it calls every listener.
type LocalNotifier struct{ changed, live listeners }

// Listen adds a listener. It is called on the goroutine that notifies, so it
// must not block: it marks what is dirty and returns.
func (n *LocalNotifier) Listen(listener func(sessionID string)) { n.changed.add(listener) }

// ListenLive adds a listener for NotifyLive, with the same rules.
func (n *LocalNotifier) ListenLive(listener func(sessionID string)) { n.live.add(listener) }

// Notify implements [Notifier].
func (n *LocalNotifier) Notify(sessionID string) { n.changed.call(sessionID) }

// NotifyLive says that only the block that Claude is writing has grown, of which the store
// knows nothing.
func (n *LocalNotifier) NotifyLive(sessionID string) { n.live.call(sessionID) }

// listeners is a list that only grows, safe for concurrent use.
type listeners struct {
	mu  sync.RWMutex // protects all
	all []func(sessionID string)
}

func (l *listeners) add(listener func(sessionID string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, listener)
}

func (l *listeners) call(sessionID string) {
	l.mu.RLock()
	all := l.all
	l.mu.RUnlock()
	for _, listen := range all {
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
