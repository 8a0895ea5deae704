package wsapi

import (
	"cmp"
	"maps"
	"slices"
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
	next   time.Time // earliest time of the next round
	pieces []*piece  // of the last round, shared by the readers

	growth

	// changes counts changes that may have reached the store. end caches the last read that
	// reached the end of the transcript: changes before it, the cursor after it, and the
	// total number of items. While changes is the same, nothing follows the cursor.
	changes int64
	end     struct{ changes, cursor, total int64 }

	// Presence.
	presenceDue  time.Time
	presenceNext time.Time
	viewersSent  []wire.ViewerInfo // as last announced to other servers
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

// viewers lists who reads a session here, each person once, and returns when the first of them stops
// typing, zero if nobody is typing.
func (f *feed) viewers(now time.Time) (list []wire.ViewerInfo, expiry time.Time) {
	for t, r := range f.readers {
		v := wire.ViewerInfo{Name: t.who.User.Name}
		if r.typingUntil.After(now) {
			v.Typing, v.RequestID = true, r.typingIn
			if expiry.IsZero() || r.typingUntil.Before(expiry) {
				expiry = r.typingUntil
			}
		}
		list = append(list, v)
	}
	return mergeViewers(list), expiry
}

// mergeViewers returns each person once, sorted by name. A person is typing if they type in any of
// their tabs.
func mergeViewers(list []wire.ViewerInfo) []wire.ViewerInfo {
	people := map[string]wire.ViewerInfo{}
	for _, v := range list {
		known := people[v.Name]
		v.Typing = v.Typing || known.Typing
		v.RequestID = cmp.Or(v.RequestID, known.RequestID)
		people[v.Name] = v
	}
	merged := slices.AppendSeq(make([]wire.ViewerInfo, 0, len(people)), maps.Values(people))
	slices.SortFunc(merged, func(a, b wire.ViewerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return merged
}
