package sqlstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// IndexBatchBytes is the approximate size of the text that one transaction indexes, in bytes. Other
// writes wait for that transaction.
const IndexBatchBytes = 128 << 10

// IndexBatch returns the items of a page to index in one transaction, the words of each, and the
// revision up to which the transcript is indexed then.
func IndexBatch(page session.Page, upTo int64) (items []session.Item, words [][]string, rev int64) {
	bytes := 0
	// The page is sorted by seq, but the cursor is a rev. So only items below the lowest omitted rev
	// may count as indexed.
	byRev := slices.SortedFunc(slices.Values(page.Items), func(a, b session.Item) int { return cmp.Compare(a.Rev, b.Rev) })
	for i, item := range byRev {
		if i > 0 && bytes > IndexBatchBytes {
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

// matchAll returns the search expression for all words, each as a prefix, in an engine's syntax:
// before and after surround a word, between separates two. Words consist of letters, marks and
// digits, so none needs escaping.
func matchAll(words []string, before, after, between string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = before + w + after
	}
	return strings.Join(parts, between)
}

var (
	// selectUnindexed skips a running turn until it ends or has grown by 200 revisions: otherwise a
	// tool call would be indexed twice, without and with its result. Turns may last for hours.
	selectUnindexed = query(`SELECT session_id, rev, indexed_rev FROM processes
		WHERE unindexed AND (state <> 'assistant_turn' OR rev > indexed_rev + 200) LIMIT $1`)
	selectIndexBehind = query("SELECT 1 FROM processes WHERE unindexed LIMIT 1")
	selectMatches     = queryBoth(searchMatches("i.rowid", "transcript_index MATCH $1"), searchMatches("i.word_id", "i.words @@ $1::tsquery")).long()
	selectMatchedItem = query("SELECT " + itemColumns + ` FROM transcript_words w
		JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key WHERE w.word_id = $1`)
)

// searchMatches returns the search of transcripts; id is the column that orders them. Items are
// read one at a time, because most items with a common word are never shown. SQLite can only
// interrupt the first step of a statement, so the matches are materialized: all of them are found
// in that step.
func searchMatches(id, match string) string {
	return "WITH found (word_id, session_id) AS MATERIALIZED (SELECT w.word_id, w.session_id FROM transcript_index i JOIN transcript_words w ON w.word_id = " + id + `
		JOIN sessions s ON s.session_id = w.session_id
		WHERE ` + match + " AND " + id + " < $2 AND ($3 OR NOT s.archived) ORDER BY " + id + " DESC LIMIT $4) SELECT word_id, session_id FROM found ORDER BY word_id DESC"
}

// Unindexed names a session to index and the range of revisions, After < rev <= UpTo.
type Unindexed struct {
	SessionID   string
	After, UpTo int64
}

// Unindexed returns up to limit sessions to index.
func (s Shared) Unindexed(ctx context.Context, limit int) ([]Unindexed, error) {
	return queryAll(ctx, s, "unindexed transcripts", selectUnindexed, func(row Row) (u Unindexed, err error) {
		err = row.Scan(&u.SessionID, &u.UpTo, &u.After)
		return u, err
	}, limit)
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
	return queryOne(ctx, s, "an item that a search found", selectMatchedItem, session.ErrNotFound, readItem, id)
}
