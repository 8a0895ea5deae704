package wsapi

import (
	"time"
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
