package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	countTranscript = "SELECT items, rev, version FROM processes WHERE session_id = ?"
	putItem         = `INSERT INTO transcript (session_id, seq, rev, key, at, kind, agent_id, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session_id, key) DO UPDATE SET rev = excluded.rev, at = excluded.at, kind = excluded.kind,
		agent_id = excluded.agent_id, body = excluded.body RETURNING seq`
	// The count comes with every row, so that items and total are one snapshot;
	// a transcript without news has one row without an item.
	selectItems = "SELECT p.items, " + engine.ItemColumns + ` FROM processes p
		LEFT JOIN transcript t ON t.session_id = p.session_id AND t.rev > ? WHERE p.session_id = ? ORDER BY t.rev LIMIT ?`
)

// PutItems implements [session.Store].
func (s *Store) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	return s.write(ctx, normal, "put items of "+sessionID, func(ctx context.Context, t tx) error {
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
	if err := t.row(ctx, []any{&count, &rev, &version}, countTranscript, sessionID); err != nil {
		return 0, missing(err, session.ErrNotFound)
	}
	for _, item := range items {
		rev++
		var seq int64
		if err := t.row(ctx, []any{&seq}, putItem, sessionID, count+1, rev, item.Key, engine.Micros(item.At), string(item.Kind),
			engine.Shown(item.AgentID), bind(item.Body)); err != nil {
			return 0, err
		}
		count = max(count, seq) // a known key keeps its place
	}
	if len(items) > 0 {
		_, err = t.exec(ctx, "UPDATE processes SET items = ?, rev = ?, updated_at = ? WHERE session_id = ?",
			count, rev, t.now.UnixMicro(), sessionID)
	}
	return version, err
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
		err = fmt.Errorf("sqlite: transcript of %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.Page{}, err
	}
	slices.SortFunc(page.Items, func(a, b session.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return page, nil
}
