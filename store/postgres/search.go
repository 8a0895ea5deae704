package postgres

import (
	"context"
	"errors"
	"math"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectUnindexed = `SELECT p.session_id, p.rev, coalesce(i.rev, 0) FROM processes p
		LEFT JOIN transcript_indexed i ON i.session_id = p.session_id WHERE p.rev > coalesce(i.rev, 0) ORDER BY p.updated_at LIMIT 1`
	// One statement for each item: what the first has put in the second must see.
	putWord = `INSERT INTO transcript_words (session_id, key)
		SELECT s.session_id, $2::bytea FROM sessions s WHERE s.session_id = $1 ON CONFLICT (session_id, key) DO NOTHING`
	putWords = `INSERT INTO transcript_index (word_id, words)
		SELECT word_id, array_to_tsvector($3::text[]) FROM transcript_words WHERE session_id = $1 AND key = $2::bytea
		ON CONFLICT (word_id) DO UPDATE SET words = excluded.words`
	putIndexed = `INSERT INTO transcript_indexed (session_id, rev)
		SELECT s.session_id, $2::bigint FROM sessions s WHERE s.session_id = $1
		ON CONFLICT (session_id) DO UPDATE SET rev = greatest(transcript_indexed.rev, excluded.rev)`
	selectHits = "SELECT " + engine.HitColumns + ` FROM transcript_index i
		JOIN transcript_words w ON w.word_id = i.word_id
		JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key
		JOIN sessions s ON s.session_id = w.session_id
		WHERE i.words @@ $1::tsquery AND i.word_id < $2 AND ($3 OR NOT s.archived) ORDER BY i.word_id DESC LIMIT $4`
)

// IndexTranscripts implements [session.Store].
func (s *Store) IndexTranscripts(ctx context.Context, most int) (more bool, err error) {
	var sessionID string
	var upTo, after int64
	err = s.query(ctx, "unindexed transcripts", selectUnindexed, func(rows engine.Row) error {
		more = true
		return rows.Scan(&sessionID, &upTo, &after)
	})
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
	items, words, rev := engine.Taken(page, upTo)
	var steps []statement
	for i, item := range items {
		list := words[i]
		if list == nil {
			list = []string{}
		}
		key := []byte(item.Key)
		steps = append(steps, statement{text: putWord, args: []any{sessionID, key}}, statement{text: putWords, args: []any{sessionID, key, list}})
	}
	steps = append(steps, statement{text: putIndexed, args: []any{sessionID, rev}})
	err = s.write(ctx, "index the transcript of "+sessionID, relaxed, steps...)
	if violates(err, foreignKeyRule) {
		return true, nil // deleted meanwhile
	}
	return err == nil, err
}

// SearchTranscripts implements [session.Store].
func (s *Store) SearchTranscripts(ctx context.Context, q session.Search) (hits []session.Hit, next int64, err error) {
	if len(q.Words) == 0 || q.Limit <= 0 {
		return nil, 0, nil
	}
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	match := engine.MatchAll(q.Words, "'", "':*", " & ")
	var last int64
	err = s.query(ctx, "search transcripts", selectHits, func(rows engine.Row) error {
		if len(hits) == q.Limit {
			next = last
			return nil
		}
		var row engine.HitRow
		if err := rows.Scan(row.Dest()...); err != nil {
			return err
		}
		hit, place := row.Hit()
		hits, last = append(hits, hit), place
		return nil
	}, match, before, q.Archived, q.Limit+1)
	if err != nil {
		return nil, 0, err
	}
	return hits, next, nil
}
