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

// growth holds the block of a transcript that grows, and the one before it. liveRev counts
// their changes. The hub's mutex protects it.
type growth struct {
	block, before block
	liveRev       int64
}

// liveRev is the place of a tab in the block that grows: what it has of it. The zero value
// has nothing.
type liveRev struct {
	rev  int64
	size int // of the text, in bytes; 0 where there is no block
}

// setLive records the block as it was read; ok is false when there is none. The caller
// holds the hub's mutex.
func (g *growth) setLive(live session.Live, ok bool) {
	b := &g.block
	switch {
	case !ok && !b.open:
	case !ok:
		b.open = false
		g.liveRev++
	case b.open && continues(live, b.Live): // the same, or read earlier than what is known
	case b.open && continues(b.Live, live):
		g.liveRev++
		b.Text, b.last = live.Text, g.liveRev
	default:
		g.liveRev++
		g.before, g.block = g.block, block{Live: live, open: true, first: g.liveRev, last: g.liveRev}
	}
}

// continues reports whether b is the block a, with its text or more.
func continues(a, b session.Live) bool {
	return a.Kind == b.Kind && a.Tool == b.Tool && a.AgentID == b.AgentID && a.Began.Equal(b.Began) &&
		strings.HasPrefix(b.Text, a.Text)
}

// hasEnded reports whether the block that the readers know is over, or another has begun. The
// caller holds the hub's mutex.
func (g *growth) hasEnded(live session.Live, ok bool) bool {
	return g.block.open && !(ok && (continues(g.block.Live, live) || continues(live, g.block.Live)))
}

// has returns the place of a tab that has the block as it was read last. The caller holds
// the hub's mutex.
func (g *growth) has() liveRev {
	if !g.block.open {
		return liveRev{rev: g.liveRev}
	}
	return liveRev{rev: g.liveRev, size: len(g.block.Text)}
}

// held returns the block of which a tab has the beginning, nil for none. The caller holds
// the hub's mutex.
func (g *growth) held(has liveRev) *block {
	for _, b := range []*block{&g.block, &g.before} {
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
