package alert

import (
	"maps"
	"slices"
	"time"
)

// maxToasts bounds the request ids that are sent to a tab. It shows fewer.
const maxToasts = 20

// A Tab is an open page of the web app. It shows a toast for each request of a session that
// its person is not looking at.
type Tab interface {
	// Toast replaces the tab's toasts: the ids of the requests, oldest first, and how many
	// more there are. It must not block, and may be called after [Alerter.RemoveTab].
	Toast(requestIDs []string, more int)
}

// Presence is what a tab reports about itself.
type Presence struct {
	Active bool // visible and focused
	// Showing is what the tab shows. If it is nil, the tab did not report it: the tab then counts
	// as showing everything and gets no toasts.
	Showing *Showing
}

// Showing is the page of a tab: a session, the inbox, which shows every request, or, with
// neither, another page.
type Showing struct {
	SessionID string
	Inbox     bool
}

func (p Presence) shows(sessionID string) bool {
	return p.Showing == nil || p.Showing.Inbox || sessionID != "" && p.Showing.SessionID == sessionID
}

// watcher is the presence of one tab and its current toasts.
type watcher struct {
	userID   string
	presence Presence
	toasts   []string // arguments of the last call of Toast
	more     int
}

// SetPresence stores what a tab shows and whether it is active.
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

// RemoveTab drops a tab that has closed.
func (a *Alerter) RemoveTab(tab Tab) {
	a.mu.Lock()
	if w := a.tabs[tab]; w != nil && w.presence.Active {
		a.lastActive[w.userID] = time.Now()
	}
	delete(a.tabs, tab)
	a.mu.Unlock()
	a.wakeRun()
}

// MarkNoticed records that a person has seen a request, because they closed its toast.
func (a *Alerter) MarkNoticed(userID, requestID string) {
	a.markNoticed(userID, requestID)
	a.wakeRun()
}

func (a *Alerter) markNoticed(userID, requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noticed[userID] == nil {
		a.noticed[userID] = map[string]struct{}{}
	}
	a.noticed[userID][requestID] = struct{}{}
}

// attention is what a person sees in all their tabs together.
type attention struct {
	active         bool      // at least one tab is active
	lastActive     time.Time // end of the last active period
	takesToasts    bool      // at least one tab shows toasts
	seesEverything bool      // an active tab shows every request
	sessions       map[string]struct{}
	noticed        map[string]struct{} // request ids
}

func (s *attention) sees(sessionID string) bool {
	_, on := s.sessions[sessionID]
	return s.seesEverything || on
}

func (s *attention) hasNoticed(requestID string) bool {
	_, knows := s.noticed[requestID]
	return knows
}

// attentionByUser returns the attention of everybody who has or had a tab on this server, or has
// presence on another one.
func (a *Alerter) attentionByUser(elsewhere []Seen) map[string]*attention {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]*attention, len(a.lastActive))
	of := func(userID string) *attention {
		s := all[userID]
		if s == nil {
			s = &attention{lastActive: a.lastActive[userID], sessions: map[string]struct{}{}, noticed: maps.Clone(a.noticed[userID])}
			all[userID] = s
		}
		return s
	}
	for userID := range a.lastActive {
		of(userID)
	}
	for _, there := range elsewhere {
		s := of(there.UserID)
		s.active, s.seesEverything = s.active || there.Active, s.seesEverything || there.Everything
		if there.LastActive.After(s.lastActive) {
			s.lastActive = there.LastActive
		}
		for _, id := range there.Sessions {
			s.sessions[id] = struct{}{}
		}
		for _, id := range there.Noticed {
			if s.noticed == nil {
				s.noticed = map[string]struct{}{}
			}
			s.noticed[id] = struct{}{}
		}
	}
	for _, w := range a.tabs {
		s := of(w.userID)
		s.takesToasts = s.takesToasts || w.presence.Showing != nil
		if !w.presence.Active {
			continue
		}
		s.active = true
		if w.presence.Showing == nil || w.presence.Showing.Inbox {
			s.seesEverything = true
		} else {
			s.sessions[w.presence.Showing.SessionID] = struct{}{}
		}
	}
	return all
}

// isActive reports whether a person has an active tab, on any server. Run calls it.
func (a *Alerter) isActive(userID string) bool {
	if slices.ContainsFunc(a.elsewhere, func(s Seen) bool { return s.Active && s.UserID == userID }) {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.tabs {
		if w.userID == userID && w.presence.Active {
			return true
		}
	}
	return false
}

// updateToasts sends each tab the toasts of its person, except those of the session that it
// shows, if they have changed.
func (a *Alerter) updateToasts(of map[string][]openRequest) {
	type update struct {
		tab  Tab
		ids  []string
		more int
	}
	var list []update
	a.mu.Lock()
	for tab, w := range a.tabs {
		if w.presence.Showing == nil {
			continue
		}
		g := update{tab: tab, ids: []string{}}
		for _, waits := range of[w.userID] {
			switch {
			case w.presence.shows(waits.s.SessionID):
			case len(g.ids) == maxToasts:
				g.more++
			default:
				g.ids = append(g.ids, waits.r.RequestID)
			}
		}
		if slices.Equal(g.ids, w.toasts) && g.more == w.more {
			continue
		}
		w.toasts, w.more = g.ids, g.more
		list = append(list, g)
	}
	a.mu.Unlock()
	for _, g := range list {
		g.tab.Toast(g.ids, g.more)
	}
}

// forgetClosed drops the records of who noticed requests that are no longer open.
func (a *Alerter) forgetClosed(open []openRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.noticed) == 0 {
		return
	}
	isOpen := make(map[string]struct{}, len(open))
	for _, w := range open {
		isOpen[w.r.RequestID] = struct{}{}
	}
	for userID, ids := range a.noticed {
		for id := range ids {
			if _, open := isOpen[id]; !open {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(a.noticed, userID)
		}
	}
}
