package wsapi

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// draftChanged brings a draft to all tabs of its person.
func (h *Hub) draftChanged(d account.Draft, commandID string) {
	h.tellPerson(d.UserID, d.SessionID+"/"+d.RequestID, wire.Encode(wire.NewKeptDraft(d, commandID)))
}

// tellPerson puts a frame about something of one person before their tabs; a
// newer one about the same takes its place.
func (h *Hub) tellPerson(userID, what string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tabs {
		if t.who.User.UserID == userID {
			t.putPrivate(what, frame)
		}
	}
}

// putPrivate keeps the newest frame about something of this tab's person.
func (t *tab) putPrivate(what string, frame []byte) {
	t.mu.Lock()
	t.private[what] = frame
	t.mu.Unlock()
	poke(t.wake)
}

// bringDrafts gives a new tab what its person has half written. What changes
// meanwhile is put by [Hub.tellPerson] and is newer.
func (t *tab) bringDrafts(ctx context.Context) {
	drafts, err := t.hub.o.Store.Drafts(ctx, t.who.User.UserID)
	if err != nil {
		t.hub.failed(ctx, "read drafts for a tab", err)
		return
	}
	t.mu.Lock()
	for _, d := range drafts {
		what := d.SessionID + "/" + d.RequestID
		if t.private[what] == nil {
			t.private[what] = wire.Encode(wire.NewKeptDraft(d, ""))
		}
	}
	t.mu.Unlock()
	poke(t.wake)
}
