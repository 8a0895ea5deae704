package pending

import "slices"

// waiter is one call of Ask.
type waiter struct {
	requestID, sessionID string
	// handed receives the resolved row. The goroutine that removes the waiter from byRequest may
	// send once; the capacity of 1 keeps that send from blocking.
	handed chan Request
	// woken signals that the row may have changed elsewhere. Capacity 1: further wakes add
	// nothing.
	woken chan struct{}
}

func (r *Registry) addWaiter(sessionID, requestID string) *waiter {
	w := &waiter{requestID: requestID, sessionID: sessionID, handed: make(chan Request, 1), woken: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unsettled, requestID) // it is asked again
	add(r.byRequest, requestID, w)
	add(r.bySession, sessionID, w)
	return w
}

func (r *Registry) removeWaiter(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remove(r.byRequest, w.requestID, w)
	remove(r.bySession, w.sessionID, w)
}

// Waiting returns the ids of the requests of a session that have a waiter here, sorted.
func (r *Registry) Waiting(sessionID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{}
	for w := range r.bySession[sessionID] {
		ids = append(ids, w.requestID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// hasWaiter reports whether a request has a waiter here.
func (r *Registry) hasWaiter(requestID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byRequest[requestID]) > 0
}

// deliver passes a resolved row to all its waiters here.
func (r *Registry) deliver(row Request) {
	r.mu.Lock()
	taken := r.byRequest[row.RequestID]
	delete(r.byRequest, row.RequestID)
	for w := range taken {
		remove(r.bySession, w.sessionID, w)
	}
	r.mu.Unlock()
	for w := range taken {
		w.handed <- row
	}
}

// Wake signals the waiters of a session that their rows may have changed without notice to
// this registry: on another server, or after a lost reply. Each reads its row itself; Wake
// returns at once.
func (r *Registry) Wake(sessionID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.bySession[sessionID] {
		w.wake()
	}
}

// WakeAll is [Registry.Wake] for all sessions.
func (r *Registry) WakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, waiters := range r.byRequest {
		for w := range waiters {
			w.wake()
		}
	}
}

func (r *Registry) wake(requestID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.byRequest[requestID] {
		w.wake()
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func add(index map[string]map[*waiter]struct{}, key string, w *waiter) {
	if index[key] == nil {
		index[key] = map[*waiter]struct{}{}
	}
	index[key][w] = struct{}{}
}

func remove(index map[string]map[*waiter]struct{}, key string, w *waiter) {
	delete(index[key], w)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}
