package sqlite

import (
	"context"
	"errors"
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
func (s *Store) IndexTranscripts(ctx context.Context, most int) (bool, error) {
	sessionID, after, upTo, more, err := s.Unindexed(ctx)
	if err != nil || !more {
		return false, err
	}
	page, err := s.Transcript(ctx, sessionID, after, most)
	if errors.Is(err, session.ErrNotFound) {
		return true, nil // it was deleted meanwhile
	}
	if err != nil {
		return false, err
	}
	items, words, rev := sqlstore.NextToIndex(page, upTo)
	err = s.write(ctx, sqlstore.Relaxed, "index the transcript of "+sessionID, func(ctx context.Context, t tx) error {
		for i, item := range items {
			var wordID int64
			if err := t.row(ctx, []any{&wordID}, putWord, sessionID, item.Key); err != nil {
				if orphan(err) {
					return errNothing
				}
				return err
			}
			if _, err := t.exec(ctx, dropWords, wordID); err != nil {
				return err
			}
			if _, err := t.exec(ctx, insertWords, wordID, strings.Join(words[i], " ")); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, setIndexed, rev, sessionID)
		return err
	})
	return err == nil, err
}
