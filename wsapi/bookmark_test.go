package wsapi_test

import (
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// TestBookmarksFollowTheirPerson: what a person pins and reads comes to every tab of theirs, to
// those that open later too, and to nobody else.
func TestBookmarksFollowTheirPerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	desk, stranger := h.OpenTab(account.Viewer), h.OpenTab(account.Admin)
	bookmark := func(f map[string]any) map[string]any {
		if list, ok := f["bookmarks"].([]any); f["type"] == "bookmarks" && ok && len(list) == 1 {
			return list[0].(map[string]any)
		}
		return nil
	}
	yes, seen := true, int64(3)
	a := h.CallAs(account.Viewer, "PATCH", "/api/bookmarks", wire.BookmarksChange{Bookmarks: []wire.BookmarkChange{{SessionID: id, Pinned: &yes, Seen: &seen}}})
	if a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	got := bookmark(desk.Until("the bookmark", func(f map[string]any) bool { return bookmark(f) != nil }))
	if got["session_id"] != id || got["pinned_at"] == nil || got["seen"] != 3.0 {
		t.Errorf("got %v", got)
	}
	late := h.Dial(account.Viewer)
	late.Until("the bookmark", func(f map[string]any) bool { return bookmark(f) != nil })

	if a := h.CallAs(account.Admin, "PATCH", "/api/sessions/"+id, `{"title":"renamed"}`); a.Status != 200 {
		t.Fatal(a.Status)
	}
	stranger.Until("the new title", func(f map[string]any) bool {
		if bookmark(f) != nil {
			t.Errorf("a stranger got %v", f)
		}
		return f["type"] == "process_state" && f["title"] == "renamed"
	})
}
