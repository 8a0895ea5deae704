package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	countItems = define("SELECT items, rev, version, unindexed FROM processes WHERE session_id = ?")
	// Two statements: one with RETURNING would create a temporary table for each item, and most
	// items are new.
	addItem = define(`INSERT INTO transcript (session_id, seq, rev, key, at, kind, agent_id, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session_id, key) DO NOTHING`)
	changeItem = define("UPDATE transcript SET rev = ?, at = ?, kind = ?, agent_id = ?, body = ? WHERE session_id = ? AND key = ?")
	setItems   = define("UPDATE processes SET items = ?, rev = ?, updated_at = ? WHERE session_id = ?")
	// Separate from setItems, because an update that sets an indexed column writes the index even if
	// the value does not change.
	setUnindexedItems = define("UPDATE processes SET items = ?, rev = ?, updated_at = ?, unindexed = 1 WHERE session_id = ?")
)

// PutItems implements [session.Store].
func (s *Store) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	return s.write(ctx, sqlstore.Relaxed, "put items of "+sessionID, func(ctx context.Context, t tx) error {
		_, err := t.putItems(ctx, sessionID, items)
		if err == nil && len(items) == 0 {
			err = errUnchanged
		}
		return err
	})
}

// putItems writes items and returns the version of the session, which it does not change.
func (t tx) putItems(ctx context.Context, sessionID string, items []session.Item) (version int64, err error) {
	var count, rev int64
	var unindexed bool
	if err := t.queryRow(ctx, []any{&count, &rev, &version, &unindexed}, countItems, sessionID); err != nil {
		return 0, replaceNoRows(err, session.ErrNotFound)
	}
	for _, item := range items {
		rev++
		at, kind, agentID, body := sqlstore.Micros(item.At), string(item.Kind), sqlstore.SanitizeText(item.AgentID), bind(item.Body)
		added, err := t.exec(ctx, addItem, sessionID, count+1, rev, item.Key, at, kind, agentID, body)
		if err == nil && added == 0 { // the key exists, so the item keeps its place
			_, err = t.exec(ctx, changeItem, rev, at, kind, agentID, body, sessionID, item.Key)
		}
		if err != nil {
			return 0, err
		}
		count += added
	}
	if len(items) > 0 {
		set := setItems
		if !unindexed {
			set = setUnindexedItems
		}
		_, err = t.exec(ctx, set, count, rev, t.now.UnixMicro(), sessionID)
	}
	return version, err
}
