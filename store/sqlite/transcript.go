package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	countItems = define("SELECT items, rev, version FROM processes WHERE session_id = ?")
	putItem    = define(`INSERT INTO transcript (session_id, seq, rev, key, at, kind, agent_id, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session_id, key) DO UPDATE SET rev = excluded.rev, at = excluded.at, kind = excluded.kind,
		agent_id = excluded.agent_id, body = excluded.body RETURNING seq`)
	setItems = define("UPDATE processes SET items = ?, rev = ?, updated_at = ? WHERE session_id = ?")
)

// PutItems implements [session.Store].
func (s *Store) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	return s.write(ctx, sqlstore.Relaxed, "put items of "+sessionID, func(ctx context.Context, t tx) error {
		_, err := t.putItems(ctx, sessionID, items)
		if err == nil && len(items) == 0 {
			err = errNothing
		}
		return err
	})
}

// putItems writes items and returns the version of the session, which stays.
func (t tx) putItems(ctx context.Context, sessionID string, items []session.Item) (version int64, err error) {
	var count, rev int64
	if err := t.row(ctx, []any{&count, &rev, &version}, countItems, sessionID); err != nil {
		return 0, missing(err, session.ErrNotFound)
	}
	for _, item := range items {
		rev++
		var seq int64
		if err := t.row(ctx, []any{&seq}, putItem, sessionID, count+1, rev, item.Key, sqlstore.Micros(item.At), string(item.Kind),
			sqlstore.SanitizeText(item.AgentID), bind(item.Body)); err != nil {
			return 0, err
		}
		count = max(count, seq) // a known key keeps its place
	}
	if len(items) > 0 {
		_, err = t.exec(ctx, setItems, count, rev, t.now.UnixMicro(), sessionID)
	}
	return version, err
}
