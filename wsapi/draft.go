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
			t.putPrivate(key, frame)
		}
	}
}

// queueDrafts queues the drafts of the user of a new tab. A draft that changes meanwhile
// is queued by [Hub.queueForUser] and stays, being newer.
func (h *Hub) queueDrafts(ctx context.Context, t *tab) {
	drafts, err := h.o.Store.Drafts(ctx, t.who.User.UserID)
	if err != nil {
		h.failed(ctx, "read drafts for a tab", err)
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
