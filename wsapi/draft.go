package wsapi

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// draftChanged queues a draft for all tabs of its user.
func (h *Hub) draftChanged(d account.Draft, commandID string) {
	h.queueForUser(d.UserID, d.SessionID+"/"+d.RequestID, wire.Encode(wire.NewKeptDraft(d, commandID)))
}

// queueForUser queues a frame for all tabs of a user. It replaces a queued one with the
// same key.
func (h *Hub) queueForUser(userID, key string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tabs {
		if t.who.User.UserID == userID {
			t.queuePrivate(key, frame)
		}
	}
}

// queuePrivate queues a frame for the user of this tab. It replaces a queued one with the
// same key.
func (t *tab) queuePrivate(key string, frame []byte) {
	t.queue(func() { t.private[key] = frame })
}

// queueDrafts queues the drafts of its user for a new tab. A draft that changes meanwhile
// is queued by [Hub.queueForUser] and stays, being newer.
func (t *tab) queueDrafts(ctx context.Context) {
	drafts, err := t.hub.o.Store.Drafts(ctx, t.who.User.UserID)
	if err != nil {
		t.hub.failed(ctx, "read drafts for a tab", err)
		return
	}
	t.queue(func() {
		for _, d := range drafts {
			key := d.SessionID + "/" + d.RequestID
			if t.private[key] == nil {
				t.private[key] = wire.Encode(wire.NewKeptDraft(d, ""))
			}
		}
	})
}
