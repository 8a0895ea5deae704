package sqlite

import (
	"context"
	"database/sql"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
	"github.com/sayso-dev/sayso/workspace"
)

const (
	selectTrust = "SELECT " + engine.TrustColumns + " FROM folder_trusts WHERE folder = ?"
	putTrust    = "INSERT INTO folder_trusts (" + engine.TrustColumns + `) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (folder) DO UPDATE SET digest = excluded.digest, items = excluded.items, user_id = excluded.user_id,
			name = excluded.name, trusted_at = excluded.trusted_at WHERE digest <> excluded.digest`
	selectLeftOut = "SELECT 1 FROM settings_left_out WHERE session_id = ?"
)

// Trust implements [workspace.Trusts].
func (s *Store) Trust(ctx context.Context, folder string) (t workspace.Trust, known bool, err error) {
	err = s.query(ctx, "trust", selectTrust, func(rows *sql.Rows) error {
		var row engine.TrustRow
		if err := rows.Scan(row.Dest()...); err != nil {
			return err
		}
		t, known = row.Trust(), true
		return nil
	}, folder)
	if err != nil {
		return workspace.Trust{}, false, err
	}
	return t, known, nil
}

// PutTrust implements [workspace.Trusts].
func (s *Store) PutTrust(ctx context.Context, n workspace.Trust) error {
	body, err := engine.TrustBody(n)
	if err != nil {
		return err
	}
	return s.write(ctx, full, "trust a folder", func(ctx context.Context, t tx) error {
		if changed, err := t.exec(ctx, putTrust, engine.TrustValues(n, bind)...); err != nil || changed == 0 {
			return err
		}
		return t.append(ctx, body)
	})
}

// LeaveOut implements [workspace.Trusts].
func (s *Store) LeaveOut(ctx context.Context, sessionID string, out bool) error {
	text := "DELETE FROM settings_left_out WHERE session_id = ?"
	if out {
		text = "INSERT INTO settings_left_out (session_id) SELECT session_id FROM sessions WHERE session_id = ? ON CONFLICT DO NOTHING"
	}
	return s.write(ctx, normal, "leave out settings", func(ctx context.Context, t tx) error {
		var there int
		if err := t.row(ctx, []any{&there}, "SELECT 1 FROM sessions WHERE session_id = ?", sessionID); err != nil {
			return missing(err, session.ErrNotFound)
		}
		_, err := t.exec(ctx, text, sessionID)
		return err
	})
}

// LeftOut implements [workspace.Trusts].
func (s *Store) LeftOut(ctx context.Context, sessionID string) (out bool, err error) {
	err = s.query(ctx, "left out settings", selectLeftOut, func(rows *sql.Rows) error {
		var one int
		out = true
		return rows.Scan(&one)
	}, sessionID)
	return out && err == nil, err
}
