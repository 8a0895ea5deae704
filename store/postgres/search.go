package postgres

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// One statement per item, so that each sees the rows of those before it.
	putWord = define(`INSERT INTO transcript_words (session_id, key)
		SELECT s.session_id, $2::bytea FROM sessions s WHERE s.session_id = $1 ON CONFLICT (session_id, key) DO NOTHING`)
	putWords = define(`INSERT INTO transcript_index (word_id, words)
		SELECT word_id, array_to_tsvector($3::text[]) FROM transcript_words WHERE session_id = $1 AND key = $2::bytea
		ON CONFLICT (word_id) DO UPDATE SET words = excluded.words`)
	setIndexed = define("UPDATE processes SET indexed_rev = greatest(indexed_rev, $2), unindexed = rev > greatest(indexed_rev, $2) WHERE session_id = $1")
)

// IndexTranscripts implements [session.Store].
func (s *Store) IndexTranscripts(ctx context.Context, limit int) (bool, error) {
	behind, err := s.Unindexed(ctx, 1)
	if err != nil || len(behind) == 0 {
		return false, err
	}
	sessionID, after, upTo := behind[0].SessionID, behind[0].After, behind[0].UpTo
	page, err := s.Transcript(ctx, sessionID, after, limit)
	if errors.Is(err, session.ErrNotFound) {
		return true, nil // the session was deleted meanwhile
	}
	if err != nil {
		return false, err
	}
	items, words, rev := sqlstore.IndexBatch(page, upTo)
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
		return true, nil // the session was deleted meanwhile
	}
	return err == nil, err
}
