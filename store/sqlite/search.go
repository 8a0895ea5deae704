package sqlite

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectUnindexed = `SELECT p.session_id, p.rev, coalesce(i.rev, 0) FROM processes p
		LEFT JOIN transcript_indexed i ON i.session_id = p.session_id WHERE p.rev > coalesce(i.rev, 0) ORDER BY p.updated_at LIMIT 1`
	putWord = `INSERT INTO transcript_words (session_id, key) VALUES (?, ?)
		ON CONFLICT (session_id, key) DO UPDATE SET key = excluded.key RETURNING word_id`
	putIndexed = `INSERT INTO transcript_indexed (session_id, rev) VALUES (?, ?)
		ON CONFLICT (session_id) DO UPDATE SET rev = max(rev, excluded.rev)`
	selectHits = "SELECT " + engine.HitColumns + ` FROM transcript_index i
		JOIN transcript_words w ON w.word_id = i.rowid
		JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key
		JOIN sessions s ON s.session_id = w.session_id
		WHERE transcript_index MATCH ? AND i.rowid < ? AND (? OR NOT s.archived) ORDER BY i.rowid DESC LIMIT ?`
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
	err = s.write(ctx, normal, "index the transcript of "+sessionID, func(ctx context.Context, t tx) error {
		for i, item := range items {
			var wordID int64
			if err := t.row(ctx, []any{&wordID}, putWord, sessionID, item.Key); err != nil {
				if orphan(err) {
					return errNothing
				}
				return err
			}
			if _, err := t.exec(ctx, "DELETE FROM transcript_index WHERE rowid = ?", wordID); err != nil {
				return err
			}
			if _, err := t.exec(ctx, "INSERT INTO transcript_index (rowid, words) VALUES (?, ?)", wordID, strings.Join(words[i], " ")); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, putIndexed, sessionID, rev)
		if orphan(err) {
			return errNothing
		}
		return err
	})
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
	match := engine.MatchAll(q.Words, `"`, `"*`, " AND ")
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
