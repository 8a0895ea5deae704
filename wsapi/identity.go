package wsapi

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// watchIdentities looks whether the people behind the open sockets may still be
// there: at once after a change on this server, and again and again for changes
// made elsewhere.
func (h *Hub) watchIdentities(ctx context.Context) {
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.recheck:
		case <-ticker.C:
		}
		h.mu.Lock()
		byCredential := map[string][]*tab{}
		for t := range h.tabs {
			id := t.who.Credential.CredentialID
			byCredential[id] = append(byCredential[id], t)
		}
		h.mu.Unlock()
		h.recheckProjects(ctx)
		for _, tabs := range byCredential {
			now, err := h.o.People.Renew(ctx, tabs[0].who)
			for _, t := range tabs {
				t.recognise(now, err)
			}
		}
	}
}

func (h *Hub) recheckSoon() { wake(h.recheck) }

// recognise acts on what became of a tab's identity and reports whether it may
// go on.
func (t *tab) recognise(now account.Identity, err error) bool {
	switch {
	case errors.Is(err, account.ErrRefused):
		t.end(wire.CloseSignedOut, errorFrame("signed_out"))
		return false
	case err != nil:
		return true // the store does not answer; what needs it is refused by itself
	case now.User.Role != t.who.User.Role:
		// A new connection tells the tab its new role.
		t.end(wire.CloseGoingAway, errorFrame("role_changed"))
		return false
	}
	return true
}

// recheckProjects ends the tabs of people to whom something was hidden or shown:
// the next connection tells them what there is now.
func (h *Hub) recheckProjects(ctx context.Context) {
	book, err := h.o.Guard.Book(ctx)
	if err != nil {
		return // what needs the store is refused by itself
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, welcomed := range h.tabs {
		if welcomed && t.hidden != hiddenKey(book, access.Person(t.who)) {
			t.end(wire.CloseGoingAway, errorFrame("access_changed"))
		}
	}
}

// ProjectsChanged shows the tabs a change of projects that concerns these sessions.
func (h *Hub) ProjectsChanged(ctx context.Context, touched []string) {
	h.recheckProjects(ctx)
	states, err := h.o.Store.ActiveProcesses(ctx)
	h.mu.Lock()
	active := map[string]bool{}
	for _, p := range states {
		active[p.SessionID] = true
	}
	for _, sessionID := range touched {
		// Of those that have ended, tabs hear when they read them.
		if err != nil || active[sessionID] || h.feeds[sessionID] != nil {
			h.changed[sessionID] = struct{}{}
		}
	}
	h.mu.Unlock()
	wake(h.wake)
}
