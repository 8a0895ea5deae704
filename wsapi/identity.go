package wsapi

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// watchIdentities checks whether the people of the open tabs are still signed in: at once
// after a change on this server, and regularly for changes made elsewhere.
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
				t.checkIdentity(now, err)
			}
		}
	}
}

func (h *Hub) recheckSoon() { wake(h.recheck) }

// checkIdentity ends the tab if its person was signed out or has another role, and reports
// whether it may continue. now and err are the result of [People.Renew].
func (t *tab) checkIdentity(now account.Identity, err error) bool {
	switch {
	case errors.Is(err, account.ErrRefused):
		t.end(wire.CloseSignedOut, errorFrame("signed_out"))
		return false
	case err != nil:
		return true // the store failed; commands that need it are refused
	case now.User.Role != t.who.User.Role:
		// The person gets the new role with the next connection.
		t.end(wire.CloseGoingAway, errorFrame("role_changed"))
		return false
	}
	return true
}

// recheckProjects ends the tabs of people who may see more or less than before. They get
// the current state with the next connection.
func (h *Hub) recheckProjects(ctx context.Context) {
	book, err := h.o.Guard.Book(ctx)
	if err != nil {
		return // commands that need the store are refused
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, welcomed := range h.tabs {
		if welcomed && t.hidden != hiddenKey(book, access.Person(t.who)) {
			t.end(wire.CloseGoingAway, errorFrame("access_changed"))
		}
	}
}

// ProjectsChanged updates the tabs after a change of projects. touched are the sessions that it
// affects.
func (h *Hub) ProjectsChanged(ctx context.Context, touched []string) {
	h.announce(session.TopicProjects, "")
	h.recheckProjects(ctx)
	states, err := h.o.Store.ActiveProcesses(ctx)
	h.mu.Lock()
	active := map[string]bool{}
	for _, p := range states {
		active[p.SessionID] = true
	}
	for _, sessionID := range touched {
		// Tabs see changes of ended sessions when they read them.
		if err != nil || active[sessionID] || h.feeds[sessionID] != nil {
			h.changed[sessionID] = struct{}{}
		}
	}
	h.mu.Unlock()
	wake(h.wake)
}
