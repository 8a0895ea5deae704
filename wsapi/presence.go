package wsapi

import (
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// typing records that a reader is typing. It ignores a tab that does not read the session.
func (h *Hub) typing(t *tab, sessionID, requestID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[sessionID]
	if f == nil || f.readers[t] == nil {
		return
	}
	r, now := f.readers[t], time.Now()
	news := !r.typingUntil.After(now) || r.typingIn != requestID
	r.typingUntil, r.typingIn = now.Add(typingTTL), requestID
	if news {
		h.presenceChanged(f, now)
	}
}

// presence returns the frame that lists who reads a session, here and on other servers. The caller
// holds mu.
func (h *Hub) presence(sessionID string, here []wire.ViewerInfo) []byte {
	all := append([]wire.ViewerInfo{}, here...)
	for _, there := range h.elsewhere[sessionID] {
		all = append(all, there...)
	}
	return wire.Encode(wire.Presence{Type: "presence", SessionID: sessionID, Viewers: mergeViewers(all)})
}

// reportViewers reports to other servers who reads sessions here.
func (h *Hub) reportViewers(changed []wire.Presence) {
	if h.o.OnViewers == nil {
		return
	}
	for _, p := range changed {
		h.o.OnViewers(p)
	}
}

// Viewers returns who reads each session here.
func (h *Hub) Viewers() []wire.Presence {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []wire.Presence
	for id, f := range h.feeds {
		if here, _ := f.viewers(time.Now()); len(here) > 0 {
			all = append(all, wire.Presence{SessionID: id, Viewers: here})
		}
	}
	return all
}

// SetViewers replaces the readers of sessions on another server. It never blocks.
func (h *Hub) SetViewers(serverID string, all []wire.Presence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range all {
		if h.elsewhere[p.SessionID] == nil {
			h.elsewhere[p.SessionID] = map[string][]wire.ViewerInfo{}
		}
		h.elsewhere[p.SessionID][serverID] = p.Viewers
		h.viewersChanged(p.SessionID, serverID)
	}
}

// ForgetServer removes all readers on another server. It never blocks.
func (h *Hub) ForgetServer(serverID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sessionID, servers := range h.elsewhere {
		if _, was := servers[serverID]; was {
			servers[serverID] = nil
			h.viewersChanged(sessionID, serverID)
		}
	}
}

// viewersChanged schedules a presence frame after the readers of a session on another server changed.
// It forgets a server without readers. The caller holds mu.
func (h *Hub) viewersChanged(sessionID, serverID string) {
	if servers := h.elsewhere[sessionID]; len(servers[serverID]) == 0 {
		if delete(servers, serverID); len(servers) == 0 {
			delete(h.elsewhere, sessionID)
		}
	}
	if f := h.feeds[sessionID]; f != nil && len(f.readers) > 0 {
		h.presenceChanged(f, time.Now())
	}
}
