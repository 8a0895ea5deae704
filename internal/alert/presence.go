package alert

import (
	"maps"
	"slices"
	"time"
)

// maxToasts is how many requests a tab is told of by name; it shows fewer.
const maxToasts = 20

// A Tab is a page of the app. It shows a toast for each request that waits where
// its person does not look.
type Tab interface {
	// Toast gives the requests to be shown so, all there are, oldest first, and how
	// many more there are than can be named. It never blocks and may be called after
	// [Alerter.RemoveTab].
	Toast(requestIDs []string, more int)
}

// Presence is what a tab says of itself.
type Presence struct {
	Active bool // it can be seen and has the focus
	// Showing is what is on the screen. One that does not say it counts as if it
	// showed everything, and is given no toasts.
	Showing *Showing
}

// Showing is where a tab is: in a session, in the inbox, which shows every request,
// or, with neither, elsewhere.
type Showing struct {
	SessionID string
	Inbox     bool
}

func (p Presence) shows(sessionID string) bool {
	return p.Showing == nil || p.Showing.Inbox || sessionID != "" && p.Showing.SessionID == sessionID
}

// watcher is a tab whose person is known.
type watcher struct {
	userID   string
	presence Presence
	told     []string // the toasts that it was given last
	more     int
}

// SetPresence stores what a tab shows, and whether anybody looks at it.
func (a *Alerter) SetPresence(tab Tab, userID string, p Presence) {
	a.mu.Lock()
	w := a.tabs[tab]
	if w == nil {
		w = &watcher{userID: userID}
		a.tabs[tab] = w
	}
	if w.presence.Active {
		a.lastActive[userID] = time.Now()
	}
	w.presence = p
	a.mu.Unlock()
	a.wakeRun()
}

// RemoveTab forgets a tab that has closed.
func (a *Alerter) RemoveTab(tab Tab) {
	a.mu.Lock()
	if w := a.tabs[tab]; w != nil && w.presence.Active {
		a.lastActive[w.userID] = time.Now()
	}
	delete(a.tabs, tab)
	a.mu.Unlock()
	a.wakeRun()
}

// MarkNoticed stores that a person knows of a request: they closed its toast.
func (a *Alerter) MarkNoticed(userID, requestID string) {
	a.notice(userID, requestID)
	a.wakeRun()
}

func (a *Alerter) notice(userID, requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noticed[userID] == nil {
		a.noticed[userID] = map[string]struct{}{}
	}
	a.noticed[userID][requestID] = struct{}{}
}

// attention is what a person sees in all their tabs.
type attention struct {
	active     bool      // at one of them
	lastActive time.Time // when they did last
	any        bool      // there is a tab that takes toasts
	all        bool      // what they look at shows everything
	sessions   map[string]struct{}
	known      map[string]struct{} // requests
}

func (s *attention) on(sessionID string) bool {
	_, on := s.sessions[sessionID]
	return s.all || on
}

func (s *attention) knows(requestID string) bool {
	_, knows := s.known[requestID]
	return knows
}

// attentionByUser returns the attention of everybody who has or had a tab.
func (a *Alerter) attentionByUser() map[string]*attention {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]*attention, len(a.lastActive))
	of := func(userID string) *attention {
		s := all[userID]
		if s == nil {
			s = &attention{lastActive: a.lastActive[userID], sessions: map[string]struct{}{}, known: maps.Clone(a.noticed[userID])}
			all[userID] = s
		}
		return s
	}
	for userID := range a.lastActive {
		of(userID)
	}
	for _, w := range a.tabs {
		s := of(w.userID)
		s.any = s.any || w.presence.Showing != nil
		if !w.presence.Active {
			continue
		}
		s.active = true
		if w.presence.Showing == nil || w.presence.Showing.Inbox {
			s.all = true
		} else {
			s.sessions[w.presence.Showing.SessionID] = struct{}{}
		}
	}
	return all
}

// isActive reports whether a person looks at sayso now.
func (a *Alerter) isActive(userID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.tabs {
		if w.userID == userID && w.presence.Active {
			return true
		}
	}
	return false
}

// toast gives every tab the toasts of its person, without what it shows itself, if
// they are others than before.
func (a *Alerter) toast(of map[string][]waiting) {
	type giving struct {
		tab  Tab
		ids  []string
		more int
	}
	var list []giving
	a.mu.Lock()
	for tab, w := range a.tabs {
		if w.presence.Showing == nil {
			continue
		}
		g := giving{tab: tab, ids: []string{}}
		for _, waits := range of[w.userID] {
			switch {
			case w.presence.shows(waits.s.SessionID):
			case len(g.ids) == maxToasts:
				g.more++
			default:
				g.ids = append(g.ids, waits.r.RequestID)
			}
		}
		if slices.Equal(g.ids, w.told) && g.more == w.more {
			continue
		}
		w.told, w.more = g.ids, g.more
		list = append(list, g)
	}
	a.mu.Unlock()
	for _, g := range list {
		g.tab.Toast(g.ids, g.more)
	}
}

// forget drops what people noticed of requests that are over.
func (a *Alerter) forget(open []waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.noticed) == 0 {
		return
	}
	still := make(map[string]struct{}, len(open))
	for _, w := range open {
		still[w.r.RequestID] = struct{}{}
	}
	for userID, ids := range a.noticed {
		for id := range ids {
			if _, open := still[id]; !open {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(a.noticed, userID)
		}
	}
}
