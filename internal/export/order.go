package export

import (
	"cmp"
	"context"
	"slices"

	"github.com/sayso-dev/sayso/session"
)

// Reader reads pages of a transcript; see [session.Store].
type Reader interface {
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error)
}

const (
	pageItems = 500
	// maxPages bounds the pages in memory. The store ends a page at a few megabytes.
	maxPages = 3
)

// place is where an item is in a transcript.
type place struct{ seq, rev int64 }

// inOrder calls each for every item of a transcript, in the order of Seq. The store returns items by
// Rev, so an item that changed late comes late. So inOrder first reads the places of all items, and
// then the items themselves, of which it keeps maxPages pages. Of items that change meanwhile, it
// passes the new state; it omits new items.
func inOrder(ctx context.Context, from Reader, sessionID string, each func(session.Item) error) error {
	var places []place
	end := int64(0)
	for more := true; more; {
		page, err := from.Transcript(ctx, sessionID, end, pageItems)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			places = append(places, place{it.Seq, it.Rev})
		}
		end, more = page.Next, page.More
	}
	// An item that changed between the reads of two pages is in both.
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(b.rev, a.rev)) })
	places = slices.CompactFunc(places, func(a, b place) bool { return a.seq == b.seq })

	window := window{from: from, sessionID: sessionID}
	for _, at := range places {
		it, err := window.item(ctx, at, end)
		if err != nil {
			return err
		}
		if it == nil {
			continue
		}
		if err := each(*it); err != nil {
			return err
		}
	}
	return nil
}

// window contains the pages that were read last.
type window struct {
	from      Reader
	sessionID string
	pages     [][]session.Item
}

// item returns an item, or nil if it was deleted. end is the cursor after all items with known
// places.
func (w *window) item(ctx context.Context, at place, end int64) (*session.Item, error) {
	if it := w.find(at.seq); it != nil {
		return it, nil
	}
	if _, err := w.read(ctx, at.rev-1); err != nil {
		return nil, err
	}
	if it := w.find(at.seq); it != nil {
		return it, nil
	}
	// The item has changed since, so it now comes after end.
	for after, more := end, true; more; {
		page, err := w.read(ctx, after)
		if err != nil {
			return nil, err
		}
		if it := w.find(at.seq); it != nil {
			return it, nil
		}
		after, more = page.Next, page.More
	}
	return nil, nil
}

func (w *window) read(ctx context.Context, after int64) (session.Page, error) {
	page, err := w.from.Transcript(ctx, w.sessionID, after, pageItems)
	if err != nil {
		return page, err
	}
	if len(w.pages) == maxPages {
		w.pages = slices.Delete(w.pages, 0, 1)
	}
	w.pages = append(w.pages, page.Items)
	return page, nil
}

func (w *window) find(seq int64) *session.Item {
	for i := len(w.pages) - 1; i >= 0; i-- {
		page := w.pages[i]
		if at, found := slices.BinarySearchFunc(page, seq, func(it session.Item, seq int64) int { return cmp.Compare(it.Seq, seq) }); found {
			return &page[at]
		}
	}
	return nil
}
