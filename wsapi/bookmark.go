package wsapi

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// BookmarksChanged queues bookmarks for all tabs of their user. It never blocks.
func (h *Hub) BookmarksChanged(userID string, bookmarks []wire.Bookmark) {
	for _, b := range bookmarks {
		h.queueForUser(userID, "bookmark/"+b.SessionID, wire.Encode(wire.Bookmarks{Type: "bookmarks", Bookmarks: []wire.Bookmark{b}}))
	}
	h.announce(session.TopicBookmarks, userID)
}

// refreshBookmarks queues the bookmarks of a user that another server may have changed.
func (h *Hub) refreshBookmarks(ctx context.Context, userID string) error {
	list, err := h.o.Store.Bookmarks(ctx, userID)
	if err == nil {
		h.queueForUser(userID, "bookmarks", wire.Encode(wire.Bookmarks{Type: "bookmarks", Bookmarks: wire.NewBookmarks(list)}))
	}
	return err
}

// queueBookmarks queues the bookmarks of the user of a new tab, in one frame. If one changes
// meanwhile, the tab keeps the one with the later time.
func (h *Hub) queueBookmarks(ctx context.Context, t *tab) error {
	list, err := h.o.Store.Bookmarks(ctx, t.who.User.UserID)
	if err == nil {
		t.putPrivate("bookmarks", wire.Encode(wire.Bookmarks{Type: "bookmarks", Bookmarks: wire.NewBookmarks(list)}))
	}
	return err
}
