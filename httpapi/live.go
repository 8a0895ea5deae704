package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// Live keeps the tabs up to date; see wsapi.Hub.
type Live interface {
	// ServeTab upgrades a request to a WebSocket and returns; Live serves the tab until it
	// closes.
	ServeTab(w http.ResponseWriter, r *http.Request, who account.Identity) error
	// Running reports whether tabs are served.
	Running() bool
	// CanStore reports whether answers can be stored, as far as known.
	CanStore() bool
	// Tabs returns the number of tabs.
	Tabs() int
	// SlowTabs returns how many tabs were closed because they were too slow.
	SlowTabs() int64
	// Faults returns how many tabs ended because of a defect of the server.
	Faults() int64
	// Readers returns how many tabs show a session.
	Readers(sessionID string) int
	// Deleting announces that a session is about to be deleted.
	Deleting(sessionID, projectID string)
	// BookmarksChanged sends the tabs of a user their changed bookmarks.
	BookmarksChanged(userID string, marks []wire.Bookmark)
	// ProjectsChanged sends the tabs a change of projects that affects these sessions.
	ProjectsChanged(ctx context.Context, sessionIDs []string)
}
