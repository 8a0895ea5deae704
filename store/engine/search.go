package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// HitColumns is the select list of [HitRow.Dest], over words w, their item t and
// sessions s.
const HitColumns = "w.word_id, s.session_id, s.title, s.cwd, s.archived, t.seq, t.rev, t.key, t.at, t.kind, t.agent_id, t.body"

// HitRow takes one row of [HitColumns].
type HitRow struct {
	wordID int64
	hit    session.Hit
	cwd    []byte
	item   ItemRow
}

// Dest is what to scan into.
func (x *HitRow) Dest() []any {
	return append([]any{&x.wordID, &x.hit.SessionID, &x.hit.Title, &x.cwd, &x.hit.Archived}, x.item.Dest()...)
}

// Hit is the row that was scanned, and its place among the hits.
func (x *HitRow) Hit() (hit session.Hit, place int64) {
	hit = x.hit
	hit.CWD = string(x.cwd)
	hit.Item, _ = x.item.Item()
	return hit, x.wordID
}

// IndexedBytes is about how much text one transaction takes in: others wait for it.
const IndexedBytes = 512 << 10

// Taken are the items of a page that one transaction takes in, the words of each,
// and the cursor behind them.
func Taken(page session.Page, upTo int64) (items []session.Item, words [][]string, rev int64) {
	bytes := 0
	// A page is sorted by seq; the cursor goes by rev, so the page is taken whole or
	// not beyond the lowest rev that is left.
	byRev := slices.SortedFunc(slices.Values(page.Items), func(a, b session.Item) int { return cmp.Compare(a.Rev, b.Rev) })
	for i, item := range byRev {
		if i > 0 && bytes > IndexedBytes {
			return byRev[:i], words, byRev[i-1].Rev
		}
		text := session.TextOf(item)
		bytes += len(text)
		words = append(words, session.Words(text))
	}
	if page.More {
		return byRev, words, page.Next
	}
	return byRev, words, max(upTo, page.Next)
}

// MatchAll is the search for all words, each as the beginning of one that is there,
// with what an engine puts around a word and between two. Words are letters, marks
// and digits, so nothing in them is special.
func MatchAll(words []string, before, after, between string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = before + w + after
	}
	return strings.Join(parts, between)
}
