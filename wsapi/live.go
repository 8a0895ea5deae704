package wsapi

import (
	"encoding/json"
	"strings"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// block is a growing block of a transcript, as last read.
type block struct {
	session.Live
	open bool // it is still the last block
	// The revisions of its texts.
	first, last int64
}

// growth contains the growing block of a transcript, and the previous one. liveRev counts
// their changes. The hub's mutex protects it.
type growth struct {
	block, before block
	liveRev       int64
}

// liveRev is the part of the growing block that a tab has. The zero value means none.
type liveRev struct {
	rev  int64
	size int // of the text, in bytes; 0 without a block
}

// setLive records the block that was read; ok is false if there is none. The caller holds
// the hub's mutex.
func (g *growth) setLive(live session.Live, ok bool) {
	b := &g.block
	switch {
	case !ok && !b.open:
	case !ok:
		b.open = false
		g.liveRev++
	case b.open && continues(live, b.Live): // the same text, or an earlier one that was read late
	case b.open && continues(b.Live, live):
		g.liveRev++
		b.Text, b.last = live.Text, g.liveRev
	default:
		g.liveRev++
		g.before, g.block = g.block, block{Live: live, open: true, first: g.liveRev, last: g.liveRev}
	}
}

// continues reports whether b is the block a with the same or more text.
func continues(a, b session.Live) bool {
	return a.Kind == b.Kind && a.Tool == b.Tool && a.AgentID == b.AgentID && a.Began.Equal(b.Began) &&
		strings.HasPrefix(b.Text, a.Text)
}

// hasEnded reports whether the block that the readers have is complete, or another one has
// started. The caller holds the hub's mutex.
func (g *growth) hasEnded(live session.Live, ok bool) bool {
	return g.block.open && !(ok && (continues(g.block.Live, live) || continues(live, g.block.Live)))
}

// has returns the position of a tab that has the block as last read. The caller holds the
// hub's mutex.
func (g *growth) has() liveRev {
	if !g.block.open {
		return liveRev{rev: g.liveRev}
	}
	return liveRev{rev: g.liveRev, size: len(g.block.Text)}
}

// blockOf returns the block of which a tab has a part, nil for none. The caller holds the
// hub's mutex.
func (g *growth) blockOf(has liveRev) *block {
	for _, b := range []*block{&g.block, &g.before} {
		if has.size > 0 && b.first <= has.rev && has.rev <= b.last {
			return b
		}
	}
	return nil
}

// minContinued is the size in bytes from which a text that the tab has is not sent again.
const minContinued = 256

// continued finds the item whose text starts with the text that the tab has, and removes
// that part. It returns the items, and the key of that item or "".
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
