package wsapi

import (
	"encoding/json"
	"strings"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// block is a growing block of a transcript, as it was read last.
type block struct {
	session.Live
	open bool // it is the last block still
	// The revs of its texts: from first to last.
	first, last int64
}

// liveRev is the place of a tab in the block that grows: what it has of it. The zero value
// has nothing.
type liveRev struct {
	rev  int64
	size int // of the text, in bytes; 0 where there is no block
}

// setLive takes in what was read of the block that grows; ok is false when there is none.
// The caller holds the hub's mutex.
func (f *feed) setLive(live session.Live, ok bool) {
	b := &f.block
	switch {
	case !ok && !b.open:
	case !ok:
		b.open = false
		f.liveRev++
	case b.open && continues(live, b.Live): // the same, or read earlier than what is known
	case b.open && continues(b.Live, live):
		f.liveRev++
		b.Text, b.last = live.Text, f.liveRev
	default:
		f.liveRev++
		f.before, f.block = f.block, block{Live: live, open: true, first: f.liveRev, last: f.liveRev}
	}
}

// continues reports whether b is the block a, with its text or more.
func continues(a, b session.Live) bool {
	return a.Kind == b.Kind && a.Tool == b.Tool && a.AgentID == b.AgentID && a.Began.Equal(b.Began) &&
		strings.HasPrefix(b.Text, a.Text)
}

// hasEnded reports whether the block that the readers know is over, or another has begun.
func (h *Hub) hasEnded(f *feed, live session.Live, ok bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f.block.open && !(ok && (continues(f.block.Live, live) || continues(live, f.block.Live)))
}

// has returns the place of a tab that has the block as it was read last. The caller holds
// the hub's mutex.
func (f *feed) has() liveRev {
	if !f.block.open {
		return liveRev{rev: f.liveRev}
	}
	return liveRev{rev: f.liveRev, size: len(f.block.Text)}
}

// held returns the block of which a tab has the beginning, nil for none. The caller holds
// the hub's mutex.
func (f *feed) held(has liveRev) *block {
	for _, b := range []*block{&f.block, &f.before} {
		if has.size > 0 && b.first <= has.rev && has.rev <= b.last {
			return b
		}
	}
	return nil
}

// minContinued is from how many bytes on a text is not sent again.
const minContinued = 256

// continued finds the item that begins with a text, which the tab has, and cuts it off. It
// returns the items and the key of that one, "" for none.
func continued(items []session.Item, text string) (_ []session.Item, key string) {
	if len(text) < minContinued {
		return items, ""
	}
	for i, it := range items {
		var body session.TextBody
		if it.Kind != session.ItemText && it.Kind != session.ItemThinking || len(it.Body) < len(text) ||
			json.Unmarshal(it.Body, &body) != nil || !strings.HasPrefix(body.Text, text) {
			continue
		}
		body.Text = body.Text[len(text):]
		it.Body = wire.Encode(body)
		items = append([]session.Item(nil), items...)
		items[i] = it
		return items, it.Key
	}
	return items, ""
}
