package httpapi_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

func TestBookmarks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	yes, seen := true, int64(7)
	change := func(changes ...wire.BookmarkChange) apitest.Response {
		return h.CallAs(account.Viewer, "PATCH", "/api/bookmarks", wire.BookmarksChange{Bookmarks: changes})
	}
	var list wire.BookmarkList
	before := wire.Seconds(time.Now().Add(-time.Hour))
	change(wire.BookmarkChange{SessionID: "gone", Pinned: &yes}, wire.BookmarkChange{SessionID: id, Seen: &seen, SeenAt: before}).Decode(t, &list)
	if len(list.Bookmarks) != 1 || list.Bookmarks[0].SessionID != id || list.Bookmarks[0].Seen != 7 || list.Bookmarks[0].PinnedAt != nil || list.Bookmarks[0].SeenAt > before+1 {
		t.Fatalf("got %+v", list)
	}
	change(wire.BookmarkChange{SessionID: id, Pinned: &yes, Seen: &seen, SeenAt: before + 1e6})
	h.CallAs(account.Viewer, "GET", "/api/bookmarks", nil).Decode(t, &list)
	if len(list.Bookmarks) != 1 || list.Bookmarks[0].PinnedAt == nil || list.Bookmarks[0].SeenAt > wire.Seconds(time.Now()) {
		t.Errorf("got %+v", list)
	}
	h.CallAs(account.Admin, "GET", "/api/bookmarks", nil).Decode(t, &list)
	if len(list.Bookmarks) != 0 {
		t.Errorf("another has %+v", list)
	}
	apitest.CheckRefusal(t, change(wire.BookmarkChange{SessionID: "gone", Pinned: &yes}), 404, "not_found")

	for range account.MaxPins - 1 {
		change(wire.BookmarkChange{SessionID: h.NewSession("pinned"), Pinned: &yes})
	}
	apitest.CheckRefusal(t, change(wire.BookmarkChange{SessionID: h.NewSession("one too many"), Pinned: &yes}), 400, "invalid")
}
