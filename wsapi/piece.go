package wsapi

import (
	"context"
	"sort"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// pieceBytes bounds the items of one transcript frame, after which it ends.
const pieceBytes = 1 << 20

// reading is the place of one tab in one transcript. The tab's mutex protects
// it, but for what is typed, which the hub's does.
type reading struct {
	sessionID string
	// next returns the piece that follows a place, and blocks while it is read.
	next    func(context.Context, place) *piece
	cursor  int64
	live    liveRev // of the block that grows
	appends bool    // it takes what is appended to a block
	first   bool    // nothing was sent yet
	dirty   bool

	typingUntil time.Time
	typingIn    string // request id
}

// place is up to where a tab has a transcript. Tabs at the same place share what follows.
type place struct {
	cursor int64
	live   liveRev // zero for a tab that needs the whole block
}

// piece is one frame of a transcript, read and encoded once.
type piece struct {
	place
	round int64
	done  chan struct{} // closed when the following are set
	frame []byte
	after place // where the tab is then
	empty bool  // there are no items
	more  bool  // another piece follows at once
	err   error
}

// truncatePage shortens a page to what fits in a frame. Items are in the order of Seq,
// but the cursor counts Rev: what is left out must be the highest of it.
func truncatePage(page session.Page, after int64) session.Page {
	page.Next = max(page.Next, after)
	size := 0
	for _, it := range page.Items {
		size += len(it.Body)
	}
	if size <= pieceBytes {
		return page
	}
	byRev := append([]session.Item(nil), page.Items...)
	sort.Slice(byRev, func(i, j int) bool { return byRev[i].Rev < byRev[j].Rev })
	size = 0
	for i, it := range byRev {
		if size += len(it.Body); size > pieceBytes && i > 0 {
			byRev, page.More = byRev[:i], true
			break
		}
	}
	if page.More && len(byRev) < len(page.Items) {
		page.Next = byRev[len(byRev)-1].Rev
	}
	sort.Slice(byRev, func(i, j int) bool { return byRev[i].Seq < byRev[j].Seq })
	page.Items = byRev
	return page
}

// progress is a lifecycle frame.
type progress struct {
	at    time.Time
	frame []byte
}

func newProgress(sessionID string, l *session.Lifecycle) progress {
	return progress{at: l.At, frame: wire.Encode(wire.NewLifecycle(sessionID, l))}
}
