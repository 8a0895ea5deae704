package wsapi

import (
	"context"
	"sort"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// pieceBytes bounds the items of one transcript frame.
const pieceBytes = 1 << 20

// reading is the position of one tab in one transcript. The tab's mutex protects it, except
// for the typing fields, which the hub's mutex protects.
type reading struct {
	sessionID string
	// next returns the piece that follows a place, and blocks while it is read.
	next    func(context.Context, place) *piece
	cursor  int64
	live    liveRev // of the block that grows
	appends bool    // accepts the text appended to a block
	first   bool    // nothing was sent yet
	dirty   bool
	// retrying reports that the last read failed and that a timer makes the next one.
	retrying bool

	typingUntil time.Time
	typingIn    string // request id
}

// place is a position in a transcript. Tabs at the same place share the next frame.
type place struct {
	cursor int64
	live   liveRev // zero if the tab needs the whole block
}

// piece is one frame of a transcript, read and encoded once.
type piece struct {
	place
	round int64
	done  chan struct{} // closed when the following are set
	frame []byte
	after place // the position after the frame
	empty bool  // there are no items
	more  bool  // another piece follows at once
	err   error
}

// truncatePage shortens a page so that it fits in a frame. Items are ordered by Seq, but
// the cursor counts Rev, so it removes the items with the highest Rev.
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
