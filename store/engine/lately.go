package engine

import "github.com/sayso-dev/sayso/pending"

// What happened lately, in the SQL that both engines speak.
const (
	// SelectFresh reads a bounded end of each transcript: the rows are in the order
	// of rev, so older ones are not looked at.
	SelectFresh = "SELECT t.session_id, " + ItemColumns + ` FROM processes p JOIN transcript t ON t.session_id = p.session_id AND t.rev > p.rev - 5000
		WHERE p.updated_at >= $1 AND t.at >= $1 AND t.kind IN ('tool_call', 'resolved', 'result') LIMIT 20000`
	// SelectWaits leaves out what Claude did not wait for: the answer came when its
	// process was dead.
	SelectWaits = `SELECT session_id, created_at, resolved_at FROM requests WHERE resolved_at > 0 AND resolved_at >= $1 AND delivery NOT IN ('carried', 'dropped')
		UNION ALL SELECT session_id, created_at, 0 FROM requests WHERE status IN ('open', 'orphaned') AND status = 'open'`
)

// ReadWait reads a row of [SelectWaits].
func ReadWait(row Row) (w pending.Wait, err error) {
	var from, to int64
	err = row.Scan(&w.SessionID, &from, &to)
	w.From, w.To = Time(from), Time(to)
	return w, err
}
