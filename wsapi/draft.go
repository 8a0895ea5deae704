package wsapi

import (
	"context"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// draftChanged queues a draft for all tabs of its user.
func (h *Hub) draftChanged(d account.Draft, commandID string) {
	h.mu.Lock()
	h.noteDraft(d)
	h.mu.Unlock()
	h.queueForUser(d.UserID, draftKey(d), wire.Encode(wire.NewKeptDraft(d, commandID)))
	h.announce(session.TopicDrafts, d.UserID)
}

func draftKey(d account.Draft) string { return d.SessionID + "/" + d.RequestID }

// noteDraft records the draft that the tabs of its user have, and reports whether it is new. The
// caller holds mu.
func (h *Hub) noteDraft(d account.Draft) bool {
	known := h.drafts[d.UserID]
	if known == nil {
		known = map[string]account.Draft{}
		h.drafts[d.UserID] = known
	}
	before, was := known[draftKey(d)]
	if was && !before.ChangedAt.Before(d.ChangedAt) {
		return false
	}
	if len(d.Value) == 0 {
		delete(known, draftKey(d))
	} else {
		known[draftKey(d)] = account.Draft{SessionID: d.SessionID, RequestID: d.RequestID, ChangedAt: d.ChangedAt}
	}
	return was || len(d.Value) > 0
}

// refreshDrafts queues the drafts of a user that another server has changed.
func (h *Hub) refreshDrafts(ctx context.Context, userID string) error {
	began := time.Now()
	drafts, err := h.o.Store.Drafts(ctx, userID)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, d := range drafts {
		kept[draftKey(d)] = true
	}
	h.mu.Lock()
	for key, d := range h.drafts[userID] {
		if !kept[key] && d.ChangedAt.Before(began) {
			drafts = append(drafts, account.Draft{UserID: userID, SessionID: d.SessionID, RequestID: d.RequestID, ChangedAt: began})
		}
	}
	drafts = slices.DeleteFunc(drafts, func(d account.Draft) bool { return !h.noteDraft(d) })
	h.mu.Unlock()
	for _, d := range drafts {
		h.queueForUser(userID, draftKey(d), wire.Encode(wire.NewKeptDraft(d, "")))
	}
	return nil
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

// queueDrafts queues the drafts of the user of a new tab. It does not replace a draft that
// [Hub.queueForUser] has queued meanwhile, because that is newer.
func (h *Hub) queueDrafts(ctx context.Context, t *tab) error {
	drafts, err := h.o.Store.Drafts(ctx, t.who.User.UserID)
	if err != nil {
		return err
	}
	h.mu.Lock()
	for _, d := range drafts {
		h.noteDraft(d)
	}
	h.mu.Unlock()
	t.queue(func() {
		for _, d := range drafts {
			key := draftKey(d)
			if t.private[key] == nil {
				t.private[key] = wire.Encode(wire.NewKeptDraft(d, ""))
			}
		}
	})
	return nil
}
