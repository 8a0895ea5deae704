package wsapi

import (
	"maps"
	"sort"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// feed holds what is sent to tabs about one session. The hub's mutex protects it.
type feed struct {
	sessionID string
	inProject string // its project as last sent
	version   uint64
	reported  []byte // the lifecycle frame that the tabs have
	active    bool   // runs or has an open request
	readers   map[*tab]*reading
	requests  map[string]struct{} // open ones, as last sent

	// Transcript. round counts how often the readers were notified.
	round  int64
	due    time.Time // when they must be notified again; zero if nothing is new
	next   time.Time // not before
	pieces []*piece  // of the last round, shared by the readers

	growth

	// changes counts what the store may know; at the count of the end, the transcript had
	// no more than the total, up to the cursor.
	changes int64
	end     struct{ changes, cursor, total int64 }

	// Presence.
	presenceDue  time.Time
	presenceNext time.Time
}

// scheduleReaders notifies the readers soon. The caller holds the hub's mutex.
func (f *feed) scheduleReaders() {
	if !f.due.IsZero() {
		return
	}
	f.due = f.next
	if f.due.IsZero() {
		f.due = time.Now()
	}
}

// presence lists who reads a session, each person once, and says when the first
// of them stops typing; zero when nobody types.
func (f *feed) presence(now time.Time) (frame []byte, expiry time.Time) {
	people := map[string]wire.ViewerInfo{}
	for t, r := range f.readers {
		name := t.who.User.Name
		v := people[name]
		v.Name = name
		if r.typingUntil.After(now) {
			v.Typing = true
			if r.typingIn != "" {
				v.RequestID = r.typingIn
			}
			if expiry.IsZero() || r.typingUntil.Before(expiry) {
				expiry = r.typingUntil
			}
		}
		people[name] = v
	}
	p := wire.Presence{Type: "presence", SessionID: f.sessionID, Viewers: make([]wire.ViewerInfo, 0, len(people))}
	for v := range maps.Values(people) {
		p.Viewers = append(p.Viewers, v)
	}
	sort.Slice(p.Viewers, func(i, j int) bool { return p.Viewers[i].Name < p.Viewers[j].Name })
	return wire.Encode(p), expiry
}
