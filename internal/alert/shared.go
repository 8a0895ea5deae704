package alert

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"
)

// PresenceStore shares what people see on each server with the other servers of a database, because
// one of them sends the alerts.
type PresenceStore interface {
	// PutPresence replaces what people see on a server. The record expires after ttl, by the
	// database's clock.
	PutPresence(ctx context.Context, serverID string, seen []Seen, ttl time.Duration) error
	// PresenceElsewhere returns what people see on all servers except one.
	PresenceElsewhere(ctx context.Context, serverID string) ([]Seen, error)
}

// Seen is what a person sees in all their tabs on one server.
type Seen struct {
	UserID     string
	Active     bool      // a tab is active
	LastActive time.Time // end of the last active period; zero if there was none
	Everything bool      // an active tab shows every request
	Sessions   []string  // ids of the sessions that an active tab shows
	Noticed    []string  // ids of open requests that they have noticed
}

// presenceTTL is how long the presence on a server stays valid after the server died, and
// presenceRenewal how often it is stored if it does not change.
const (
	presenceTTL     = 30 * time.Second
	presenceRenewal = 10 * time.Second
)

// sharePresence stores what people see on this server if that has changed or must be renewed. It
// returns when to call it next, zero for never.
func (a *Alerter) sharePresence(ctx context.Context, now time.Time) (next time.Time, err error) {
	if a.o.Presence == nil {
		return time.Time{}, nil
	}
	seen := a.seenHere()
	if !reflect.DeepEqual(seen, a.shared) || len(seen) > 0 && !now.Before(a.renewAt) {
		if err := a.o.Presence.PutPresence(ctx, a.serverID, seen, presenceTTL); err != nil {
			return time.Time{}, err
		}
		a.shared, a.renewAt = seen, now.Add(presenceRenewal)
	}
	if len(seen) == 0 {
		return time.Time{}, nil
	}
	return a.renewAt, nil
}

// seenHere returns what people see on this server, ordered by user id.
func (a *Alerter) seenHere() (seen []Seen) {
	all := a.attentionByUser(nil)
	for _, userID := range slices.Sorted(maps.Keys(all)) {
		s := all[userID]
		seen = append(seen, Seen{
			UserID: userID, Active: s.active, LastActive: s.lastActive, Everything: s.seesEverything,
			Sessions: slices.Sorted(maps.Keys(s.sessions)), Noticed: slices.Sorted(maps.Keys(s.noticed)),
		})
	}
	return seen
}

// readPresence reads what people see on other servers.
func (a *Alerter) readPresence(ctx context.Context) (err error) {
	if a.o.Presence == nil {
		return nil
	}
	a.elsewhere, err = a.o.Presence.PresenceElsewhere(ctx, a.serverID)
	return err
}

// endPresence stores that nobody sees anything on this server any more.
func (a *Alerter) endPresence(ctx context.Context) {
	if len(a.shared) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := a.o.Presence.PutPresence(ctx, a.serverID, nil, presenceTTL); err != nil {
		a.o.Log.DebugContext(ctx, "cannot store that nobody looks at this server; others will find out", "error", err)
	}
}
