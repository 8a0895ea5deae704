package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	// The lock comes in a statement of its own: what the next one sees is then
	// all that was committed before it.
	lockProcess = "SELECT version FROM processes WHERE session_id = $1 FOR UPDATE"
	// A known key is looked up for each item, not joined: no plan may read the
	// whole transcript.
	putItems = `WITH given AS (
			SELECT g.*, (SELECT t.seq FROM transcript t WHERE t.session_id = $1 AND t.key = g.key) AS seq
			FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[])
			WITH ORDINALITY AS g (key, step, at, kind, agent_id, body, nth)),
		placed AS (SELECT *, count(*) FILTER (WHERE seq IS NULL) OVER (ORDER BY nth) AS fresh FROM given),
		put AS (
			INSERT INTO transcript (session_id, seq, rev, key, at, kind, agent_id, body)
			SELECT p.session_id, coalesce(i.seq, p.items + i.fresh), p.rev + i.step, i.key, i.at, i.kind, i.agent_id, i.body
			FROM placed i, processes p WHERE p.session_id = $1 ORDER BY i.nth
			ON CONFLICT (session_id, key) DO UPDATE SET rev = excluded.rev, at = excluded.at, kind = excluded.kind,
				agent_id = excluded.agent_id, body = excluded.body)
		UPDATE processes SET items = items + (SELECT count(*) FROM placed WHERE seq IS NULL), rev = rev + $8, updated_at = $9
		WHERE session_id = $1`
	// The count comes with every row, so that items and total are one snapshot;
	// a transcript without news has one row without an item.
	selectItems = "SELECT p.items, " + engine.ItemColumns + ` FROM processes p
		LEFT JOIN transcript t ON t.session_id = p.session_id AND t.rev > $1 WHERE p.session_id = $2 ORDER BY t.rev LIMIT $3`
)

// PutItems implements [session.Store].
func (s *Store) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	_, err := s.progress(ctx, "put items of "+sessionID, sessionID, session.Progress{Items: items})
	return err
}

// putting is the step that writes items; there is at least one.
func putting(sessionID string, items []session.Item) statement {
	// One statement cannot write a row twice, so of items with one key only the
	// last goes there, in the place of the first.
	var keys, bodies [][]byte
	var steps, ats []int64
	var kinds, agents []string
	place := map[string]int{}
	for i, item := range items {
		at, known := place[item.Key]
		if !known {
			at = len(keys)
			place[item.Key] = at
			keys, bodies, steps = append(keys, []byte(item.Key)), append(bodies, nil), append(steps, 0)
			ats, kinds, agents = append(ats, 0), append(kinds, ""), append(agents, "")
		}
		bodies[at], steps[at], ats[at] = item.Body, int64(i+1), engine.Micros(item.At)
		kinds[at], agents[at] = engine.Shown(string(item.Kind)), engine.Shown(item.AgentID)
	}
	return statement{text: putItems, args: []any{sessionID, keys, steps, ats, kinds, agents, bodies, len(items), time.Now().UnixMicro()}}
}

// Transcript implements [session.Store].
func (s *Store) Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error) {
	if limit <= 0 {
		limit = engine.DefaultItems
	}
	page := session.Page{Next: after}
	known := false
	err := s.query(ctx, "transcript of "+sessionID, selectItems, func(rows engine.Row) error {
		known = true
		if len(page.Items) == limit {
			page.More = true
			return nil
		}
		var row engine.ItemRow
		dest := append([]any{&page.Total}, row.Dest()...)
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if item, found := row.Item(); found {
			page.Items, page.Next = append(page.Items, item), item.Rev
		}
		return nil
	}, after, sessionID, limit+1)
	if err == nil && !known {
		err = fmt.Errorf("postgres: transcript of %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.Page{}, err
	}
	slices.SortFunc(page.Items, func(a, b session.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return page, nil
}
