package wsapi

import (
	"maps"
	"sort"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// presence lists who reads a session, each person once, and says when the first
// of them stops typing; zero when nobody types.
func (f *feed) presence(now time.Time) (frame []byte, expiry time.Time) {
	people := map[string]wire.ViewerInfo{}
	for t, r := range f.readers {
		name := t.who.User.Name
		v := people[name]
		v.Name = name
		if r.typingUntil.After(now) {
			v.Typing = true
			if r.typingIn != "" {
				v.RequestID = r.typingIn
			}
			if expiry.IsZero() || r.typingUntil.Before(expiry) {
				expiry = r.typingUntil
			}
		}
		people[name] = v
	}
	p := wire.Presence{Type: "presence", SessionID: f.sessionID, Viewers: make([]wire.ViewerInfo, 0, len(people))}
	for v := range maps.Values(people) {
		p.Viewers = append(p.Viewers, v)
	}
	sort.Slice(p.Viewers, func(i, j int) bool { return p.Viewers[i].Name < p.Viewers[j].Name })
	return wire.Encode(p), expiry
}

// presenceChanged makes a presence frame due. The caller holds mu.
func (h *Hub) presenceChanged(f *feed, now time.Time) {
	f.presenceDue = now
	if f.presenceNext.After(now) {
		f.presenceDue = f.presenceNext
	}
	wake(h.wake)
}

// typing notes that a reader writes; from a tab that does not read the session
// it changes nothing.
func (h *Hub) typing(t *tab, sessionID, requestID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[sessionID]
	if f == nil || f.readers[t] == nil {
		return
	}
	r, now := f.readers[t], time.Now()
	news := !r.typingUntil.After(now) || r.typingIn != requestID
	r.typingUntil, r.typingIn = now.Add(typingLife), requestID
	if news {
		h.presenceChanged(f, now)
	}
}
