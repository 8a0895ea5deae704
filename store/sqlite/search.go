package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	putWord = define(`INSERT INTO transcript_words (session_id, key) VALUES (?, ?)
		ON CONFLICT (session_id, key) DO UPDATE SET key = excluded.key RETURNING word_id`)
	setIndexed  = define("UPDATE processes SET indexed_rev = max(indexed_rev, $1), unindexed = rev > max(indexed_rev, $1) WHERE session_id = $2")
	dropWords   = define("DELETE FROM transcript_index WHERE rowid = ?")
	insertWords = define("INSERT INTO transcript_index (rowid, words) VALUES (?, ?)")
)

// maxIndexedSessions bounds the sessions that one transaction indexes.
const maxIndexedSessions = 50

// indexedItem is an item to index.
type indexedItem struct {
	sessionID, key, words string
	wordID                int64
}

// IndexTranscripts implements [session.Store]. One transaction indexes several sessions, because
// each transaction writes the same pages of the index.
func (s *Store) IndexTranscripts(ctx context.Context, limit int) (bool, error) {
	behind, err := s.Unindexed(ctx, maxIndexedSessions)
	if err != nil || len(behind) == 0 {
		return false, err
	}
	var items []indexedItem
	indexed := map[string]int64{} // revisions by session
	for bytes, n := 0, 0; n < len(behind) && len(items) < limit && bytes < sqlstore.IndexBatchBytes; n++ {
		b := behind[n]
		page, err := s.Transcript(ctx, b.SessionID, b.After, limit-len(items))
		if errors.Is(err, session.ErrNotFound) {
			continue // the session was deleted meanwhile
		}
		if err != nil {
			return false, err
		}
		batch, words, rev := sqlstore.IndexBatch(page, b.UpTo)
		for i, item := range batch {
			text := strings.Join(words[i], " ")
			items = append(items, indexedItem{sessionID: b.SessionID, key: item.Key, words: text})
			bytes += len(text)
		}
		indexed[b.SessionID] = rev
	}
	err = s.writeKeepingNewest(ctx, sqlstore.Relaxed, "index transcripts", func(ctx context.Context, t tx) error {
		// SQLite flushes the part of the index that is in memory before an upsert, so all upserts
		// come first. It also flushes it when the next row is lower than the last one.
		for i, item := range items {
			err := t.queryRow(ctx, []any{&items[i].wordID}, putWord, item.sessionID, item.key)
			if err != nil && !isForeignKeyViolation(err) { // else the session was deleted meanwhile
				return err
			}
		}
		items = slices.DeleteFunc(items, func(item indexedItem) bool { return item.wordID == 0 })
		slices.SortFunc(items, func(a, b indexedItem) int { return cmp.Compare(a.wordID, b.wordID) })
		for _, item := range items {
			if _, err := t.exec(ctx, dropWords, item.wordID); err != nil {
				return err
			}
			if _, err := t.exec(ctx, insertWords, item.wordID, item.words); err != nil {
				return err
			}
		}
		for sessionID, rev := range indexed {
			if _, err := t.exec(ctx, setIndexed, rev, sessionID); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil, err
}
