package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
)

// Bookmarks are what the person of this tab keeps about sessions, on whichever device. They come to
// their tabs alone: all there are on a new connection, and each when it changes.
type Bookmarks struct {
	Type      string     `json:"type" ts:"'bookmarks'"`
	Bookmarks []Bookmark `json:"bookmarks"`
}

// Bookmark says whether a person has pinned a session, and how far they have read it. At tells
// which of two is newer.
type Bookmark struct {
	SessionID string   `json:"session_id"`
	PinnedAt  *float64 `json:"pinned_at"` // null when it is not pinned
	Seen      int64    `json:"seen"`      // seq of the last item that was read
	SeenAt    float64  `json:"seen_at"`   // when it was on screen last; 0 for never
	At        float64  `json:"at"`
}

// BookmarkList is the body of REST with the same.
type BookmarkList struct {
	Bookmarks []Bookmark `json:"bookmarks"`
}

// BookmarksChange changes the bookmarks of the caller on these sessions.
type BookmarksChange struct {
	Bookmarks []BookmarkChange `json:"bookmarks" validate:"min=1,max=300,dive"`
}

// BookmarkChange holds what is to be another now; what is absent stays.
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
