package wsapi

import (
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/wire"
)

// setPresence tells the alerts what a tab shows.
func (t *tab) setPresence(c *wire.Looking) {
	look := alert.Presence{Active: c.Looking}
	if c.Showing != nil {
		look.Showing = &alert.Showing{SessionID: c.Showing.SessionID, Inbox: c.Showing.Inbox}
	}
	t.hub.o.Alerts.SetPresence(t, t.who.User.UserID, look)
}
