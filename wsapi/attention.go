package wsapi

import (
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/wire"
)

// looking tells the alerts what a tab shows.
func (t *tab) looking(c *wire.Looking) {
	look := alert.Presence{Active: c.Looking}
	if c.Showing != nil {
		look.Showing = &alert.Showing{SessionID: c.Showing.SessionID, Inbox: c.Showing.Inbox}
	}
	t.hub.o.Alerts.SetPresence(t, t.who.User.UserID, look)
}

// left tells the alerts that a tab is gone.
func (t *tab) left() {
	t.hub.o.Alerts.RemoveTab(t)
}

// noticed tells the alerts that a person knows that a request waits.
func (t *tab) noticed(requestID string) {
	t.hub.o.Alerts.MarkNoticed(t.who.User.UserID, requestID)
}
