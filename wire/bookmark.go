package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
)

// Bookmarks are the pins and read positions of this tab's person. Only their tabs receive
// them: all on a new connection, and each when it changes on any device.
type Bookmarks struct {
	Type      string     `json:"type" ts:"'bookmarks'"`
	Bookmarks []Bookmark `json:"bookmarks"`
}

// Bookmark records whether a person has pinned a session, and how far they have read it. Of
// two, the one with the later At is newer.
type Bookmark struct {
	SessionID string   `json:"session_id"`
	PinnedAt  *float64 `json:"pinned_at"` // null if the session is not pinned
	Seen      int64    `json:"seen"`      // seq of the last item that the person has read
	SeenAt    float64  `json:"seen_at"`   // when the session was last on screen; 0 for never
	At        float64  `json:"at"`
}

// BookmarkList is the REST response with bookmarks.
type BookmarkList struct {
	Bookmarks []Bookmark `json:"bookmarks"`
}

// BookmarksChange changes the caller's bookmarks of these sessions.
type BookmarksChange struct {
	Bookmarks []BookmarkChange `json:"bookmarks" validate:"min=1,max=300,dive"`
}

// BookmarkChange contains the new values; absent fields stay unchanged.
type BookmarkChange struct {
	SessionID string  `json:"session_id" validate:"required,max=64"`
	Pinned    *bool   `json:"pinned,omitempty"`
	Seen      *int64  `json:"seen,omitempty" validate:"omitempty,min=0,max=9007199254740991"`
	SeenAt    float64 `json:"seen_at,omitempty" validate:"min=0,max=9007199254"` // absent: now
}

// NewBookmarks converts bookmarks.
func NewBookmarks(list []account.Bookmark) []Bookmark {
	bookmarks := make([]Bookmark, 0, len(list))
	for _, m := range list {
		bookmarks = append(bookmarks, Bookmark{
			SessionID: m.SessionID, PinnedAt: SecondsOrNull(m.PinnedAt), Seen: m.Seen, SeenAt: Seconds(m.SeenAt), At: Seconds(m.ChangedAt),
		})
	}
	return bookmarks
}
