package postgres

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// One statement for each item: what the first has put in the second must see.
	putWord = define(`INSERT INTO transcript_words (session_id, key)
		SELECT s.session_id, $2::bytea FROM sessions s WHERE s.session_id = $1 ON CONFLICT (session_id, key) DO NOTHING`)
	putWords = define(`INSERT INTO transcript_index (word_id, words)
		SELECT word_id, array_to_tsvector($3::text[]) FROM transcript_words WHERE session_id = $1 AND key = $2::bytea
		ON CONFLICT (word_id) DO UPDATE SET words = excluded.words`)
	setIndexed = define("UPDATE processes SET indexed_rev = greatest(indexed_rev, $2) WHERE session_id = $1")
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
	var steps []step
	for i, item := range items {
		list := words[i]
		if list == nil {
			list = []string{}
		}
		key := []byte(item.Key)
		steps = append(steps, step{Statement: putWord, args: []any{sessionID, key}}, step{Statement: putWords, args: []any{sessionID, key, list}})
	}
	steps = append(steps, step{Statement: setIndexed, args: []any{sessionID, rev}})
	err = s.write(ctx, "index the transcript of "+sessionID, steps...)
	if violates(err, foreignKeyRule) {
		return true, nil // deleted meanwhile
	}
	return err == nil, err
}
