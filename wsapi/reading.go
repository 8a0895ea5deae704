package wsapi

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// maxPieces bounds the pieces of a round that are cached for other tabs.
const maxPieces = 4

// subscribe makes a tab read a transcript after a cursor. appends is true if the tab accepts
// frames that contain only the text appended to the growing block.
func (h *Hub) subscribe(t *tab, ses session.Session, after int64, appends bool) {
	sessionID := ses.SessionID
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.tabs[t]; !ok {
		return
	}
	f := h.feed(sessionID)
	f.inProject = ses.InProject // a feed of an ended session gets no state before its deletion
	r := &reading{sessionID: sessionID, next: h.reader(f), cursor: after, appends: appends, first: true, dirty: true}
	if old := f.readers[t]; old != nil {
		r.typingUntil, r.typingIn = old.typingUntil, old.typingIn
	}
	if len(f.readers) == 0 {
		f.round++ // nothing was notified while nobody read
	}
	f.readers[t] = r
	t.putReading(sessionID, r)
	h.presenceChanged(f, time.Now())
}

func (h *Hub) unsubscribe(t *tab, sessionID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[sessionID]; f != nil && f.readers[t] != nil {
		delete(f.readers, t)
		t.dropReading(sessionID)
		h.noteUnread(f)
		h.presenceChanged(f, time.Now())
		h.forgetIfIdle(f)
	}
}

// reader returns a function that reads the transcript of a feed for its readers.
func (h *Hub) reader(f *feed) func(context.Context, place) *piece {
	return func(ctx context.Context, at place) *piece { return h.read(ctx, f, at) }
}

// read returns the frame that follows a place. Readers of the same round at the same
// place share one read and one encoding.
func (h *Hub) read(ctx context.Context, f *feed, at place) *piece {
	h.mu.Lock()
	for _, p := range f.pieces {
		if p.round == f.round && p.place == at {
			h.mu.Unlock()
			select {
			case <-p.done:
				return p
			case <-ctx.Done():
				return &piece{err: ctx.Err()}
			}
		}
	}
	f.pieces = slices.DeleteFunc(f.pieces, func(p *piece) bool { return p.round != f.round })
	if len(f.pieces) == maxPieces {
		f.pieces = slices.Delete(f.pieces, 0, 1)
	}
	p := &piece{place: at, round: f.round, done: make(chan struct{})}
	f.pieces = append(f.pieces, p)
	h.mu.Unlock()
	defer close(p.done)
	// Other tabs wait for this read, so it must not end with this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if p.err = h.fill(ctx, f, p); p.err != nil {
		h.mu.Lock()
		f.pieces = slices.DeleteFunc(f.pieces, func(other *piece) bool { return other == p })
		h.mu.Unlock()
	}
	return p
}

// fill reads and encodes the frame of a piece.
func (h *Hub) fill(ctx context.Context, f *feed, p *piece) error {
	after := p.cursor
	h.mu.Lock()
	changes := f.changes
	unchanged := f.end.changes == changes && f.end.cursor == after && f.end.cursor > 0
	page := session.Page{Next: after, Total: f.end.total}
	h.mu.Unlock()
	readItems := func() (err error) {
		page, err = h.o.Store.Transcript(ctx, f.sessionID, after, pieceItems)
		if errors.Is(err, session.ErrNotFound) {
			err = nil
		}
		page = truncatePage(page, after)
		return err
	}
	if !unchanged {
		if err := readItems(); err != nil {
			return err
		}
	}
	live, ok := h.o.Processes.Live(f.sessionID)
	h.mu.Lock()
	ended := f.hasEnded(live, ok)
	h.mu.Unlock()
	if len(page.Items) == 0 && ended {
		// The item that the block became was stored before the block ended, perhaps after
		// the first read.
		if err := readItems(); err != nil {
			return err
		}
	}
	if ok && live.Key != "" && slices.ContainsFunc(page.Items, func(it session.Item) bool { return it.Key == live.Key }) {
		ok = false
	}
	frame := wire.Transcript{
		Type: "transcript", SessionID: f.sessionID, From: after, Next: page.Next, More: page.More, Total: page.Total,
	}
	p.after, p.more, p.empty = place{cursor: page.Next}, page.More, len(page.Items) == 0
	grown := wire.LiveAppend{Type: "live_append", SessionID: f.sessionID, After: p.live.rev}

	h.mu.Lock()
	if !page.More {
		f.end.changes, f.end.cursor, f.end.total = changes, page.Next, page.Total
		f.setLive(live, ok)
		p.after.live = f.has()
	}
	known := f.blockOf(p.live)
	var knownText string
	if known != nil {
		knownText = known.Text[:p.live.size]
	}
	switch {
	case page.More:
	case known == &f.block && known.open:
		grown.Rev, grown.Text = f.liveRev, known.Text[p.live.size:]
		frame.LiveRev = p.live.rev
	case f.block.open:
		frame.Live = wire.NewLive(f.block.Live, f.liveRev)
	}
	h.mu.Unlock()

	switch {
	case p.empty && p.live.rev > 0 && p.after.live == p.live:
		return nil // the tab is up to date
	case p.empty && frame.LiveRev > 0:
		p.frame = wire.Encode(grown)
		return nil
	case frame.LiveRev > 0:
		p.after.live = p.live
		p.more = grown.Text != ""
	default:
		page.Items, frame.LiveItem = continued(page.Items, knownText)
		if frame.LiveItem != "" {
			frame.LiveRev = p.live.rev
		}
	}
	frame.Items = wire.NewItems(page.Items)
	p.frame = wire.Encode(frame)
	return nil
}
