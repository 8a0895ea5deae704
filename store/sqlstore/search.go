package sqlstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// hitColumns is the select list of [hitRow.dest], over words w, their item t and
// sessions s.
const hitColumns = "w.word_id, s.session_id, s.title, s.cwd, s.archived, t.seq, t.rev, t.key, t.at, t.kind, t.agent_id, t.body"

// hitRow takes one row of [hitColumns].
type hitRow struct {
	wordID int64
	hit    session.Hit
	cwd    []byte
	item   itemRow
}

// dest is what to scan into.
func (x *hitRow) dest() []any {
	return append([]any{&x.wordID, &x.hit.SessionID, &x.hit.Title, &x.cwd, &x.hit.Archived}, x.item.dest()...)
}

// get returns the row that was scanned, and its place among the hits.
func (x *hitRow) get() (hit session.Hit, place int64) {
	hit = x.hit
	hit.CWD = string(x.cwd)
	hit.Item, _ = x.item.Item()
	return hit, x.wordID
}

// indexedBytes is about how much text one transaction takes in: others wait for it.
const indexedBytes = 512 << 10

// NextToIndex returns the items of a page that one transaction takes in, the words of each,
// and the cursor behind them.
func NextToIndex(page session.Page, upTo int64) (items []session.Item, words [][]string, rev int64) {
	bytes := 0
	// A page is sorted by seq; the cursor goes by rev, so the page is taken whole or
	// not beyond the lowest rev that is left.
	byRev := slices.SortedFunc(slices.Values(page.Items), func(a, b session.Item) int { return cmp.Compare(a.Rev, b.Rev) })
	for i, item := range byRev {
		if i > 0 && bytes > indexedBytes {
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

// matchAll is the search for all words, each as the beginning of one that is there,
// with what an engine puts around a word and between two. Words are letters, marks
// and digits, so nothing in them is special.
func matchAll(words []string, before, after, between string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = before + w + after
	}
	return strings.Join(parts, between)
}

var (
	SelectUnindexed = query(`SELECT p.session_id, p.rev, coalesce(i.rev, 0) FROM processes p
		LEFT JOIN transcript_indexed i ON i.session_id = p.session_id WHERE p.rev > coalesce(i.rev, 0) ORDER BY p.updated_at LIMIT 1`)
	selectHits = queryBoth(searchHits("i.rowid", "transcript_index MATCH $1"), searchHits("i.word_id", "i.words @@ $1::tsquery"))
)

// searchHits is the search of transcripts; place is the column of their order.
func searchHits(place, match string) string {
	return "SELECT " + hitColumns + ` FROM transcript_index i
		JOIN transcript_words w ON w.word_id = ` + place + `
		JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key
		JOIN sessions s ON s.session_id = w.session_id
		WHERE ` + match + " AND " + place + " < $2 AND ($3 OR NOT s.archived) ORDER BY " + place + " DESC LIMIT $4"
}

// Unindexed returns a session with items that no search finds yet: those after one
// revision, up to another. found is false when there is none.
func (s Shared) Unindexed(ctx context.Context) (sessionID string, after, upTo int64, found bool, err error) {
	err = s.e.Query(ctx, "unindexed transcripts", SelectUnindexed, func(row Row) error {
		found = true
		return row.Scan(&sessionID, &upTo, &after)
	})
	return sessionID, after, upTo, found && err == nil, err
}

// SearchTranscripts implements [session.Store].
func (s Shared) SearchTranscripts(ctx context.Context, q session.Search) (hits []session.Hit, next int64, err error) {
	if len(q.Words) == 0 || q.Limit <= 0 {
		return nil, 0, nil
	}
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	match := matchAll(q.Words, `"`, `"*`, " AND ")
	if s.e.Dialect == Postgres {
		match = matchAll(q.Words, "'", "':*", " & ")
	}
	var last int64
	err = s.e.Query(ctx, "search transcripts", selectHits, func(row Row) error {
		if len(hits) == q.Limit {
			next = last
			return nil
		}
		var x hitRow
		if err := row.Scan(x.dest()...); err != nil {
			return err
		}
		hit, place := x.get()
		hits, last = append(hits, hit), place
		return nil
	}, match, before, q.Archived, q.Limit+1)
	if err != nil {
		return nil, 0, err
	}
	return hits, next, nil
}
