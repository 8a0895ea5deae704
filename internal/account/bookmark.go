package account

import (
	"context"
	"time"
)

// Limits of the bookmarks of one person.
const (
	MaxPins      = 50   // pinned sessions
	MaxBookmarks = 1000 // of sessions that are not pinned; those changed least recently are dropped
)

// Bookmark is what a person keeps about a session: whether it is pinned, and how far they have
// read it. It follows them to every device and is shown to nobody else.
type Bookmark struct {
	SessionID string
	PinnedAt  time.Time // zero if not pinned
	Seen      int64     // seq of the last transcript item that they have read; 0 for none
	SeenAt    time.Time // when they last had it on screen; zero for never
	ChangedAt time.Time // grows with each change of the bookmark
}

// BookmarkChange holds new values of a bookmark; nil fields stay.
type BookmarkChange struct {
	SessionID string
	Pinned    *bool
	Seen      *int64    // a smaller value than the stored one has no effect
	SeenAt    time.Time // with Seen
}

// BookmarkStore stores bookmarks. Writes need not survive a power cut.
type BookmarkStore interface {
	// ChangeBookmarks applies changes at a time, all or none, and drops bookmarks above MaxBookmarks.
	// It returns ErrTooMany above MaxPins and ErrNotFound for an unknown session.
	ChangeBookmarks(ctx context.Context, userID string, changes []BookmarkChange, at time.Time) error
	// Bookmark returns the bookmark of a user on a session; without one, only its SessionID is set.
	Bookmark(ctx context.Context, userID, sessionID string) (Bookmark, error)
	// Bookmarks lists those of a user, least recently changed first.
	Bookmarks(ctx context.Context, userID string) ([]Bookmark, error)
}
