package postgres

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// The lock is a separate statement, so that the next one sees everything committed before the
	// lock was taken.
	lockProcess = define("SELECT version FROM processes WHERE session_id = $1 FOR UPDATE")
	// Known keys are looked up per item, not joined, so that no plan reads the whole transcript.
	putItems = define(`WITH given AS (
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
		UPDATE processes SET items = items + (SELECT count(*) FROM placed WHERE seq IS NULL), rev = rev + $8, unindexed = true, updated_at = $9
		WHERE session_id = $1`)
)

// PutItems implements [session.Store].
func (s *Store) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	_, err := s.progress(ctx, "put items of "+sessionID, sessionID, session.Progress{Items: items})
	return err
}

// putItemsStep returns the step that writes items, of which there is at least one.
func putItemsStep(sessionID string, items []session.Item) step {
	// One statement cannot write a row twice. So of several items with one key, only the last is
	// written, at the place of the first.
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
		bodies[at], steps[at], ats[at] = item.Body, int64(i+1), sqlstore.Micros(item.At)
		kinds[at], agents[at] = sqlstore.SanitizeText(string(item.Kind)), sqlstore.SanitizeText(item.AgentID)
	}
	return step{Statement: putItems, args: []any{sessionID, keys, steps, ats, kinds, agents, bodies, len(items), time.Now().UnixMicro()}}
}
