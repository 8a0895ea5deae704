package account

import (
	"context"
	"time"
)

// Limits of the bookmarks of one person.
const (
	MaxPins      = 50   // pinned sessions
	MaxBookmarks = 1000 // sessions that are not pinned; the least recently changed are dropped
)

// Bookmark records whether a person has pinned a session, and how far they have read it. It is
// the same on all their devices and never shown to other people.
type Bookmark struct {
	SessionID string
	PinnedAt  time.Time // zero if not pinned
	Seen      int64     // seq of the last transcript item that they have read; 0 for none
	SeenAt    time.Time // when they last had it on screen; zero for never
	ChangedAt time.Time // increases with each change of the bookmark
}

// BookmarkChange holds new values of a bookmark; nil fields stay unchanged.
type BookmarkChange struct {
	SessionID string
	Pinned    *bool
	Seen      *int64    // a smaller value than the stored one has no effect
	SeenAt    time.Time // with Seen
}

// BookmarkStore stores bookmarks. Writes need not survive a power cut.
type BookmarkStore interface {
	// ChangeBookmarks applies changes atomically, with at as their time, and drops bookmarks above
	// MaxBookmarks. It returns ErrTooMany above MaxPins and ErrNotFound for an unknown session.
	ChangeBookmarks(ctx context.Context, userID string, changes []BookmarkChange, at time.Time) error
	// Bookmark returns a user's bookmark of a session; if there is none, only SessionID is set.
	Bookmark(ctx context.Context, userID, sessionID string) (Bookmark, error)
	// Bookmarks lists the bookmarks of a user, least recently changed first.
	Bookmarks(ctx context.Context, userID string) ([]Bookmark, error)
}
