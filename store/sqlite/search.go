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
	setIndexed  = define("UPDATE processes SET indexed_rev = max(indexed_rev, ?) WHERE session_id = ?")
	dropWords   = define("DELETE FROM transcript_index WHERE rowid = ?")
	insertWords = define("INSERT INTO transcript_index (rowid, words) VALUES (?, ?)")
)

// IndexTranscripts implements [session.Store].
func (s *Store) IndexTranscripts(ctx context.Context, limit int) (bool, error) {
	sessionID, after, upTo, more, err := s.Unindexed(ctx)
	if err != nil || !more {
		return false, err
	}
	page, err := s.Transcript(ctx, sessionID, after, limit)
	if errors.Is(err, session.ErrNotFound) {
		return true, nil // the session was deleted meanwhile
	}
	if err != nil {
		return false, err
	}
	items, words, rev := sqlstore.IndexBatch(page, upTo)
	type row struct {
		wordID int64
		words  string
	}
	err = s.write(ctx, sqlstore.Relaxed, "index the transcript of "+sessionID, func(ctx context.Context, t tx) error {
		// SQLite writes the part of the index that is in memory before an upsert, so all upserts
		// come first. It also writes it when the next row is lower than the last one.
		rows := make([]row, len(items))
		for i, item := range items {
			rows[i].words = strings.Join(words[i], " ")
			if err := t.queryRow(ctx, []any{&rows[i].wordID}, putWord, sessionID, item.Key); err != nil {
				if isForeignKeyViolation(err) {
					return errUnchanged
				}
				return err
			}
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.wordID, b.wordID) })
		for _, r := range rows {
			if _, err := t.exec(ctx, dropWords, r.wordID); err != nil {
				return err
			}
			if _, err := t.exec(ctx, insertWords, r.wordID, r.words); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, setIndexed, rev, sessionID)
		return err
	})
	return err == nil, err
}
