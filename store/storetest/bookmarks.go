package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

func bookmarks(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	yes, no := true, false
	seen := func(id string, seq int64, at time.Time) account.BookmarkChange {
		return account.BookmarkChange{SessionID: id, Seen: &seq, SeenAt: at}
	}

	s.run("PinsAndReadPositions", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada").UserID, newUser(t, st, "Bob").UserID
		one, two := newSession(t, st), newSession(t, st)
		change := func(user string, second int, changes ...account.BookmarkChange) {
			t.Helper()
			must(t, st.ChangeBookmarks(ctx, user, changes, after(second)))
		}
		of := func(user string) []account.Bookmark {
			t.Helper()
			list, err := st.Bookmarks(ctx, user)
			must(t, err)
			return list
		}
		change(ada, 1, account.BookmarkChange{SessionID: one, Pinned: &yes})
		change(ada, 2, seen(one, 7, after(2)), seen(two, 3, after(1)))
		change(bob, 3, seen(one, 1, after(3)))
		first := account.Bookmark{SessionID: one, PinnedAt: after(1), Seen: 7, SeenAt: after(2), ChangedAt: after(2)}
		got, err := st.Bookmark(ctx, ada, one)
		must(t, err)
		equal(t, "pinned and read", got, first)
		equal(t, "number of bookmarks", len(of(ada)), 2)
		equal(t, "of another", of(bob), []account.Bookmark{{SessionID: one, Seen: 1, SeenAt: after(3), ChangedAt: after(3)}})
		got, err = st.Bookmark(ctx, bob, two)
		must(t, err)
		equal(t, "without a bookmark", got, account.Bookmark{SessionID: two})

		// Another tab is behind, and so is its server's clock.
		change(ada, 0, seen(one, 5, after(0)), account.BookmarkChange{SessionID: one, Pinned: &yes})
		first.ChangedAt = first.ChangedAt.Add(2 * time.Microsecond)
		equal(t, "neither position nor pin goes back", of(ada)[1], first)
		change(ada, 9, account.BookmarkChange{SessionID: one, Pinned: &no})
		first.PinnedAt, first.ChangedAt = time.Time{}, after(9)
		equal(t, "unpinned", of(ada)[1], first)

		wantError(t, "of an unknown session", st.ChangeBookmarks(ctx, ada, []account.BookmarkChange{seen(two, 9, after(9)), seen("none", 1, after(9))}, after(9)), account.ErrNotFound)
		got, err = st.Bookmark(ctx, ada, two)
		must(t, err)
		equal(t, "none of them is applied", got.Seen, int64(3))

		must(t, st.DeleteSession(ctx, one))
		equal(t, "without its session", len(of(ada)), 1)
		equal(t, "nor of another", of(bob), []account.Bookmark(nil))
	})

	s.run("BookmarksAreBounded", func(t *testing.T, st store.Store) {
		ada := newUser(t, st, "Ada").UserID
		var pins []account.BookmarkChange
		for range account.MaxPins {
			pins = append(pins, account.BookmarkChange{SessionID: newSession(t, st), Pinned: &yes})
		}
		must(t, st.ChangeBookmarks(ctx, ada, pins, after(0)))
		must(t, st.ChangeBookmarks(ctx, ada, pins[:1], after(0)))
		more := []account.BookmarkChange{{SessionID: newSession(t, st), Pinned: &yes}}
		wantError(t, "one more", st.ChangeBookmarks(ctx, ada, more, after(1)), account.ErrTooMany)
		must(t, st.ChangeBookmarks(ctx, ada, []account.BookmarkChange{{SessionID: pins[0].SessionID, Pinned: &no}}, after(1)))
		must(t, st.ChangeBookmarks(ctx, ada, more, after(1)))

		for i := range account.MaxBookmarks {
			must(t, st.ChangeBookmarks(ctx, ada, []account.BookmarkChange{seen(newSession(t, st), 1, after(2))}, after(2+i)))
		}
		list, err := st.Bookmarks(ctx, ada)
		must(t, err)
		equal(t, "number of bookmarks", len(list), account.MaxPins+account.MaxBookmarks)
		got, err := st.Bookmark(ctx, ada, pins[0].SessionID)
		must(t, err)
		equal(t, "the oldest that was not pinned is gone", got, account.Bookmark{SessionID: pins[0].SessionID})
	})
}
