package sqlstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// indexedBytes is about how much text one transaction indexes: other writes wait for it.
const indexedBytes = 128 << 10

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
	// selectUnindexed leaves a turn that has just begun until it ends, as a tool call would
	// be indexed once without and once with its result. Turns may last for hours.
	selectUnindexed = query(`SELECT session_id, rev, indexed_rev FROM processes
		WHERE rev > indexed_rev AND (state <> 'assistant_turn' OR rev > indexed_rev + 200) LIMIT 1`)
	selectIndexBehind = query("SELECT 1 FROM processes WHERE rev > indexed_rev LIMIT 1")
	selectMatches     = queryBoth(searchMatches("i.rowid", "transcript_index MATCH $1"), searchMatches("i.word_id", "i.words @@ $1::tsquery")).long()
	selectMatchedItem = query("SELECT " + itemColumns + ` FROM transcript_words w
		JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key WHERE w.word_id = $1`)
)

// searchMatches is the search of transcripts; id is the column of their order. The items
// are read one by one, as most of those that hold a common word are never shown. SQLite
// finds a materialized result in the first step of the statement, the only one that can
// be interrupted.
func searchMatches(id, match string) string {
	return "WITH found (word_id, session_id) AS MATERIALIZED (SELECT w.word_id, w.session_id FROM transcript_index i JOIN transcript_words w ON w.word_id = " + id + `
		JOIN sessions s ON s.session_id = w.session_id
		WHERE ` + match + " AND " + id + " < $2 AND ($3 OR NOT s.archived) ORDER BY " + id + " DESC LIMIT $4) SELECT word_id, session_id FROM found ORDER BY word_id DESC"
}

// Unindexed returns a session to index: its items after one revision, up to another. found
// is false when there is none.
func (s Shared) Unindexed(ctx context.Context) (sessionID string, after, upTo int64, found bool, err error) {
	err = s.e.Query(ctx, "unindexed transcripts", selectUnindexed, func(row Row) error {
		found = true
		return row.Scan(&sessionID, &upTo, &after)
	})
	return sessionID, after, upTo, found && err == nil, err
}

// IndexBehind implements [session.Store].
func (s Shared) IndexBehind(ctx context.Context) (behind bool, err error) {
	err = s.e.Query(ctx, "unindexed transcripts", selectIndexBehind, func(Row) error {
		behind = true
		return nil
	})
	return behind, err
}

// SearchTranscripts implements [session.Store].
func (s Shared) SearchTranscripts(ctx context.Context, q session.Search) (matches []session.Match, next int64, err error) {
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
	err = s.e.Query(ctx, "search transcripts", selectMatches, func(row Row) error {
		if len(matches) == q.Limit {
			next = matches[len(matches)-1].ID
			return nil
		}
		var m session.Match
		err := row.Scan(&m.ID, &m.SessionID)
		matches = append(matches, m)
		return err
	}, match, before, q.Archived, q.Limit+1)
	if err != nil {
		return nil, 0, err
	}
	return matches, next, nil
}

// MatchedItem implements [session.Store].
func (s Shared) MatchedItem(ctx context.Context, id int64) (session.Item, error) {
	return one(ctx, s, "an item that a search found", selectMatchedItem, session.ErrNotFound, func(row Row) (session.Item, error) {
		var x itemRow
		err := row.Scan(x.dest()...)
		item, _ := x.Item()
		return item, err
	}, id)
}
