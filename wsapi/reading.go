package wsapi

import (
	"context"
	"errors"
	"sort"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// reading is the place of one tab in one transcript. The tab's mutex protects
// it, but for what is typed, which the hub's does.
type reading struct {
	feed      *feed
	cursor    int64
	liveRound int64
	first     bool // nothing was sent yet
	dirty     bool

	typingUntil time.Time
	typingIn    string // request id
}

// piece is one transcript frame, read and encoded once.
type piece struct {
	after, round int64
	done         chan struct{} // closed when the following are set
	frame        []byte
	next         int64
	empty, more  bool
	liveRound    int64
	err          error
}

// subscribe makes a tab read a transcript from a cursor on.
func (h *Hub) subscribe(t *tab, sessionID string, after int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.tabs[t]; !ok {
		return
	}
	f := h.feed(sessionID)
	r := &reading{feed: f, cursor: after, first: true, dirty: true}
	if old := f.readers[t]; old != nil {
		r.typingUntil, r.typingIn = old.typingUntil, old.typingIn
	}
	if len(f.readers) == 0 {
		f.round++ // bells did not count while nobody read
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
		h.presenceChanged(f, time.Now())
		h.forgetIfIdle(f)
	}
}

// read returns the transcript frame from a cursor on. Readers of the same round
// with the same cursor share one read and one encoding.
func (h *Hub) read(ctx context.Context, f *feed, after int64) *piece {
	h.mu.Lock()
	p := f.piece
	mine := p == nil || p.after != after || p.round != f.round
	if mine {
		p = &piece{after: after, round: f.round, done: make(chan struct{})}
		f.piece = p
	}
	changes := f.changes
	unchanged := f.end.changes == changes && f.end.cursor == after && f.end.cursor > 0
	page := session.Page{Next: after, Total: f.end.total}
	h.mu.Unlock()
	if !mine {
		select {
		case <-p.done:
			return p
		case <-ctx.Done():
			return &piece{err: ctx.Err()}
		}
	}
	defer close(p.done)
	// Others wait for this read, so it must not end with this tab.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var err error
	if !unchanged {
		page, err = h.o.Store.Transcript(ctx, f.sessionID, after, pieceItems)
	}
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		p.err = err
		h.mu.Lock()
		if f.piece == p {
			f.piece = nil
		}
		h.mu.Unlock()
		return p
	}
	live, ok := h.o.Processes.Live(f.sessionID)
	page = cut(page, after)
	frame := wire.Transcript{
		Type: "transcript", SessionID: f.sessionID, From: after, Next: page.Next, More: page.More,
		Items: wire.NewItems(page.Items), Total: page.Total,
	}
	if !page.More {
		frame.Live = wire.NewLive(live, ok)
	}
	p.frame, p.next, p.more, p.empty = wire.Encode(frame), page.Next, page.More, len(page.Items) == 0
	h.mu.Lock()
	if !page.More {
		f.end.changes, f.end.cursor, f.end.total = changes, page.Next, page.Total
	}
	if !page.More && !sameLive(f.live, frame.Live) {
		f.live = frame.Live
		f.liveRound++
	}
	p.liveRound = f.liveRound
	h.mu.Unlock()
	return p
}

// cut shortens a page to what fits in a frame. Items are in the order of Seq,
// but the cursor counts Rev: what is left out must be the highest of it.
func cut(page session.Page, after int64) session.Page {
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

func sameLive(a, b *wire.Live) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Text == b.Text && a.Tool == b.Tool && a.At == b.At &&
		(a.AgentID == b.AgentID || a.AgentID != nil && b.AgentID != nil && *a.AgentID == *b.AgentID)
}
