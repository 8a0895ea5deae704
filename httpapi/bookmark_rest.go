package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// bookmarkStore holds what bookmarkHandlers reads and writes.
type bookmarkStore interface {
	account.BookmarkStore
	Session(ctx context.Context, sessionID string) (session.Session, error)
}

// bookmarkHandlers serves bookmarks: a person's pins and read positions of sessions.
type bookmarkHandlers struct {
	store bookmarkStore
	guard *access.Guard
	live  Live
}

func (s *bookmarkHandlers) getBookmarks(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	list, err := s.store.Bookmarks(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.BookmarkList{Bookmarks: wire.NewBookmarks(list)})
	return nil
}

// patchBookmarks ignores sessions that are gone or that the caller may not see, because a
// browser may still have bookmarks of deleted sessions. It fails if none is left.
func (s *bookmarkHandlers) patchBookmarks(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.BookmarksChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	// A closing tab sends this request and does not wait for the response.
	ctx := context.WithoutCancel(r.Context())
	book, err := s.guard.Book(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	var changes []account.BookmarkChange
	for _, c := range body.Bookmarks {
		ses, err := s.store.Session(ctx, c.SessionID)
		if errors.Is(err, session.ErrNotFound) || err == nil && book.May(access.Person(who), project.See, access.PlaceOf(ses)) != nil {
			continue
		}
		if err != nil {
			return err
		}
		change := account.BookmarkChange{SessionID: c.SessionID, Pinned: c.Pinned, Seen: c.Seen, SeenAt: now}
		if at := time.UnixMicro(int64(c.SeenAt * 1e6)); c.SeenAt > 0 && at.Before(now) {
			change.SeenAt = at
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return session.ErrNotFound
	}
	switch err := s.store.ChangeBookmarks(ctx, who.User.UserID, changes, now); {
	case errors.Is(err, account.ErrTooMany):
		return refusal.For("pinned", "too_many_pins", "max", account.MaxPins)
	case errors.Is(err, account.ErrNotFound):
		return session.ErrNotFound
	case err != nil:
		return err
	}
	var list []account.Bookmark
	for _, c := range changes {
		m, err := s.store.Bookmark(ctx, who.User.UserID, c.SessionID)
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	bookmarks := wire.NewBookmarks(list)
	s.live.BookmarksChanged(who.User.UserID, bookmarks)
	writeJSON(w, http.StatusOK, wire.BookmarkList{Bookmarks: bookmarks})
	return nil
}
