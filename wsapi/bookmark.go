package wsapi

import (
	"context"

	"github.com/sayso-dev/sayso/wire"
)

// BookmarksChanged queues bookmarks for all tabs of their user. It never blocks.
func (h *Hub) BookmarksChanged(userID string, bookmarks []wire.Bookmark) {
	for _, b := range bookmarks {
		h.queueForUser(userID, "bookmark/"+b.SessionID, wire.Encode(wire.Bookmarks{Type: "bookmarks", Bookmarks: []wire.Bookmark{b}}))
	}
}

// queueBookmarks queues the bookmarks of its user for a new tab, in one frame. The tab tells from
// their times which one is newer if one changes meanwhile.
func (t *tab) queueBookmarks(ctx context.Context) {
	list, err := t.hub.o.Store.Bookmarks(ctx, t.who.User.UserID)
	if err != nil {
		t.hub.failed(ctx, "read bookmarks for a tab", err)
		return
	}
	t.queuePrivate("bookmarks", wire.Encode(wire.Bookmarks{Type: "bookmarks", Bookmarks: wire.NewBookmarks(list)}))
}
