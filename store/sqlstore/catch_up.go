package sqlstore

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

var (
	selectItemsSince = queryBoth(itemsSince(behindFresh), itemsSince("p.rev - 5000"))
	// selectWaits leaves out carried and dropped answers: their process was dead, so Claude was not
	// waiting.
	selectWaits = query(`SELECT r.session_id, s.in_project, r.created_at, r.resolved_at FROM requests r CROSS JOIN sessions s
		WHERE r.resolved_at > 0 AND r.resolved_at >= $1 AND r.delivery NOT IN ('carried', 'dropped') AND s.session_id = r.session_id
		UNION ALL SELECT r.session_id, s.in_project, r.created_at, 0 FROM requests r CROSS JOIN sessions s
		WHERE r.status IN ('open', 'orphaned') AND r.status = 'open' AND s.session_id = r.session_id`)
)

// behindFresh is the revision after which SQLite reads: that of the 33rd newest row older than $1.
// Rows older than $1 but written after it were unfinished at $1, such as running calls, so there are
// few of them.
const behindFresh = `COALESCE((SELECT o.rev FROM transcript o WHERE o.session_id = p.session_id AND o.rev > p.rev - 5000
	AND o.at < $1 ORDER BY o.rev DESC LIMIT 1 OFFSET 32), p.rev - 5000)`

// itemsSince selects the items since $1 whose revision is above after. after leaves at most the last
// 5000 revisions of each transcript, so that the query does not visit older rows. CROSS JOIN keeps
// SQLite from starting with the transcripts.
func itemsSince(after string) string {
	return `SELECT t.session_id, s.in_project, t.seq, t.key, t.kind, t.body FROM processes p CROSS JOIN sessions s CROSS JOIN transcript t
		WHERE p.session_id IN (SELECT session_id FROM processes WHERE state = 'dead' AND updated_at >= $1 UNION ALL
			SELECT session_id FROM processes WHERE state <> 'dead')
		AND s.session_id = p.session_id AND t.session_id = p.session_id AND t.rev > ` + after + `
		AND t.at >= $1 AND t.kind IN ('tool_call', 'resolved', 'result') LIMIT 20000`
}

// readWait reads a row of [selectWaits].
func readWait(row Row) (w pending.Wait, err error) {
	var from, to int64
	err = row.Scan(&w.SessionID, &w.InProject, &from, &to)
	w.From, w.To = Time(from), Time(to)
	return w, err
}

// ItemsSince implements [session.Store].
func (s Shared) ItemsSince(ctx context.Context, since time.Time, each func(sessionID, inProject string, it session.Item)) error {
	return s.e.Query(ctx, "recent items", selectItemsSince, func(row Row) error {
		var id, inProject string
		var it session.Item
		var key, body []byte
		if err := row.Scan(&id, &inProject, &it.Seq, &key, (*string)(&it.Kind), &body); err != nil {
			return err
		}
		it.Key, it.Body = string(key), body
		each(id, inProject, it)
		return nil
	}, Micros(since))
}

// Waits implements [session.Store].
func (s Shared) Waits(ctx context.Context, since time.Time) ([]pending.Wait, error) {
	return queryAll(ctx, s, "waits", selectWaits, readWait, Micros(since))
}
