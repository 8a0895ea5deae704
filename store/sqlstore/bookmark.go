package sqlstore

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// bookmarkColumns is the select list that [readBookmark] scans.
const bookmarkColumns = "session_id, pinned_at, seen, seen_at, changed_at"

// readBookmark reads a row of [bookmarkColumns].
func readBookmark(row Row) (m account.Bookmark, err error) {
	var pinnedAt, seenAt, changedAt int64
	err = row.Scan(&m.SessionID, &pinnedAt, &m.Seen, &seenAt, &changedAt)
	m.PinnedAt, m.SeenAt, m.ChangedAt = Time(pinnedAt), Time(seenAt), Time(changedAt)
	return m, err
}

// changedLater keeps changed_at growing when two servers or two calls disagree about the time.
const changedLater = "changed_at = CASE WHEN excluded.changed_at > bookmarks.changed_at THEN excluded.changed_at ELSE bookmarks.changed_at + 1 END"

var (
	// In PostgreSQL, two simultaneous calls may exceed the limit by one.
	pinSession = define(`INSERT INTO bookmarks (user_id, session_id, pinned_at, seen, seen_at, changed_at)
		SELECT $1, $2, $3, 0, 0, $3 WHERE (SELECT count(*) FROM bookmarks WHERE user_id = $1 AND pinned_at > 0 AND session_id <> $2) < $4
		ON CONFLICT (user_id, session_id) DO UPDATE SET
			pinned_at = CASE WHEN bookmarks.pinned_at = 0 THEN excluded.pinned_at ELSE bookmarks.pinned_at END, ` + changedLater).Require(account.ErrTooMany)
	unpinSession = define(insertInto("bookmarks", "user_id, session_id, changed_at, pinned_at, seen, seen_at") +
		" ON CONFLICT (user_id, session_id) DO UPDATE SET pinned_at = 0, " + changedLater)
	seeSession = define(insertInto("bookmarks", "user_id, session_id, changed_at, seen, seen_at, pinned_at") + `
		ON CONFLICT (user_id, session_id) DO UPDATE SET
			seen = CASE WHEN excluded.seen > bookmarks.seen THEN excluded.seen ELSE bookmarks.seen END,
			seen_at = CASE WHEN excluded.seen_at > bookmarks.seen_at THEN excluded.seen_at ELSE bookmarks.seen_at END, ` + changedLater)
	sweepBookmarks = define(`DELETE FROM bookmarks AS m WHERE m.user_id = $1 AND m.pinned_at = 0 AND m.changed_at < (
		SELECT n.changed_at FROM bookmarks n WHERE n.user_id = $1 AND n.pinned_at = 0 ORDER BY n.changed_at DESC LIMIT 1 OFFSET $2)`)
	selectBookmark  = query("SELECT " + bookmarkColumns + " FROM bookmarks WHERE user_id = $1 AND session_id = $2")
	selectBookmarks = query("SELECT " + bookmarkColumns + " FROM bookmarks WHERE user_id = $1 ORDER BY changed_at, session_id")
)

// ChangeBookmarks implements [account.BookmarkStore].
func (s Shared) ChangeBookmarks(ctx context.Context, userID string, changes []account.BookmarkChange, at time.Time) error {
	var steps []Step
	for _, c := range changes {
		switch {
		case c.Pinned == nil:
		case *c.Pinned:
			steps = append(steps, step(pinSession, userID, c.SessionID, Micros(at), account.MaxPins))
		default:
			steps = append(steps, step(unpinSession, userID, c.SessionID, Micros(at), 0, 0, 0))
		}
		if c.Seen != nil {
			steps = append(steps, step(seeSession, userID, c.SessionID, Micros(at), *c.Seen, Micros(c.SeenAt), 0))
		}
	}
	return s.e.Apply(ctx, Change{What: "change bookmarks of " + userID, Orphan: account.ErrNotFound, LeavesRequests: true,
		Steps: append(steps, step(sweepBookmarks, userID, account.MaxBookmarks-1))})
}

// Bookmark implements [account.BookmarkStore].
func (s Shared) Bookmark(ctx context.Context, userID, sessionID string) (account.Bookmark, error) {
	m := account.Bookmark{SessionID: sessionID}
	err := s.e.Query(ctx, "bookmark of "+userID, selectBookmark, func(row Row) (err error) {
		m, err = readBookmark(row)
		return err
	}, userID, sessionID)
	return m, err
}

// Bookmarks implements [account.BookmarkStore].
func (s Shared) Bookmarks(ctx context.Context, userID string) ([]account.Bookmark, error) {
	return queryAll(ctx, s, "bookmarks of "+userID, selectBookmarks, readBookmark, userID)
}
