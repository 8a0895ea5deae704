package alert

import (
	"maps"
	"slices"
	"time"
)

// mostToasts is how many requests a tab is told of by name; it shows fewer.
const mostToasts = 20

// A Tab is a page of the app. It shows a toast for each request that waits where
// its person does not look.
type Tab interface {
	// Toast gives the requests to be shown so, all there are, oldest first, and how
	// many more there are than can be named. It never blocks and may be called after
	// [Alerter.Left].
	Toast(requestIDs []string, more int)
}

// Look is what a tab says of itself.
type Look struct {
	Looks bool // it can be seen and has the focus
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

func (l Look) shows(sessionID string) bool {
	return l.Showing == nil || l.Showing.Inbox || sessionID != "" && l.Showing.SessionID == sessionID
}

// watcher is a tab whose person is known.
type watcher struct {
	userID string
	look   Look
	told   []string // the toasts that it was given last
	more   int
}

// Looking says what a tab shows, and whether anybody looks at it.
func (a *Alerter) Looking(tab Tab, userID string, look Look) {
	a.mu.Lock()
	w := a.tabs[tab]
	if w == nil {
		w = &watcher{userID: userID}
		a.tabs[tab] = w
	}
	if w.look.Looks {
		a.looked[userID] = time.Now()
	}
	w.look = look
	a.mu.Unlock()
	a.poke()
}

// Left says that a tab is gone; nobody looks at it.
func (a *Alerter) Left(tab Tab) {
	a.mu.Lock()
	if w := a.tabs[tab]; w != nil && w.look.Looks {
		a.looked[w.userID] = time.Now()
	}
	delete(a.tabs, tab)
	a.mu.Unlock()
	a.poke()
}

// Noticed says that a person knows that a request waits: they closed its toast.
func (a *Alerter) Noticed(userID, requestID string) {
	a.notice(userID, requestID)
	a.poke()
}

func (a *Alerter) notice(userID, requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noticed[userID] == nil {
		a.noticed[userID] = map[string]struct{}{}
	}
	a.noticed[userID][requestID] = struct{}{}
}

// sight is what a person has before their eyes, in all their tabs.
type sight struct {
	looks    bool      // at one of them
	looked   time.Time // when they did last
	any      bool      // there is a tab that takes toasts
	all      bool      // what they look at shows everything
	sessions map[string]struct{}
	known    map[string]struct{} // requests
}

func (s *sight) on(sessionID string) bool {
	_, on := s.sessions[sessionID]
	return s.all || on
}

func (s *sight) knows(requestID string) bool {
	_, knows := s.known[requestID]
	return knows
}

// sights are those of all who have a tab or had one.
func (a *Alerter) sights() map[string]*sight {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]*sight, len(a.looked))
	of := func(userID string) *sight {
		s := all[userID]
		if s == nil {
			s = &sight{looked: a.looked[userID], sessions: map[string]struct{}{}, known: maps.Clone(a.noticed[userID])}
			all[userID] = s
		}
		return s
	}
	for userID := range a.looked {
		of(userID)
	}
	for _, w := range a.tabs {
		s := of(w.userID)
		s.any = s.any || w.look.Showing != nil
		if !w.look.Looks {
			continue
		}
		s.looks = true
		if w.look.Showing == nil || w.look.Showing.Inbox {
			s.all = true
		} else {
			s.sessions[w.look.Showing.SessionID] = struct{}{}
		}
	}
	return all
}

// looks reports whether a person looks at sayso now.
func (a *Alerter) looks(userID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.tabs {
		if w.userID == userID && w.look.Looks {
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
		if w.look.Showing == nil {
			continue
		}
		g := giving{tab: tab, ids: []string{}}
		for _, waits := range of[w.userID] {
			switch {
			case w.look.shows(waits.s.SessionID):
			case len(g.ids) == mostToasts:
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
