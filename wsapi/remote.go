package wsapi

import (
	"context"

	"github.com/sayso-dev/sayso/session"
)

// PersonalChanged notes that another server may have changed the drafts or bookmarks of a user, or of
// all users if userID is "". It never blocks.
func (h *Hub) PersonalChanged(topic session.Topic, userID string) {
	h.mu.Lock()
	for t := range h.tabs {
		if id := t.who.User.UserID; userID == "" || userID == id {
			h.personal[personal{topic, id}] = true
		}
	}
	h.mu.Unlock()
	wake(h.wake)
}

// PeopleChanged notes that another server may have changed users, credentials or projects. It never
// blocks.
func (h *Hub) PeopleChanged() { h.recheckSoon() }

// refreshPersonal queues what another server has changed for the users of tabs.
func (h *Hub) refreshPersonal(ctx context.Context) {
	h.mu.Lock()
	changed := h.personal
	h.personal = map[personal]bool{}
	h.mu.Unlock()
	for p := range changed {
		refresh := h.refreshDrafts
		if p.topic == session.TopicBookmarks {
			refresh = h.refreshBookmarks
		}
		if err := refresh(ctx, p.userID); err != nil {
			h.failed(ctx, "read what another server has changed", err)
			h.mu.Lock()
			h.personal[p] = true
			h.mu.Unlock()
		}
	}
}
