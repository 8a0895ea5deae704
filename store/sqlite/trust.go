package sqlite

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectTrust = "SELECT " + engine.TrustColumns + " FROM folder_trusts WHERE folder = ?"
	putTrust    = "INSERT INTO folder_trusts (" + engine.TrustColumns + `) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (folder) DO UPDATE SET digest = excluded.digest, items = excluded.items, user_id = excluded.user_id,
			name = excluded.name, trusted_at = excluded.trusted_at WHERE digest <> excluded.digest`
	selectTrusts  = "SELECT " + engine.TrustColumns + " FROM folder_trusts ORDER BY trusted_at DESC, folder"
	dropTrust     = "DELETE FROM folder_trusts WHERE folder = ? AND digest = ?"
	selectLeftOut = "SELECT 1 FROM settings_left_out WHERE session_id = ?"
)

// Trust implements [workspace.Trusts].
func (s *Store) Trust(ctx context.Context, folder string) (t workspace.Trust, known bool, err error) {
	list, err := engine.All(ctx, s.query, "trust", selectTrust, engine.ReadTrust, folder)
	if err != nil || len(list) == 0 {
		return workspace.Trust{}, false, err
	}
	return list[0], true, nil
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

// AllTrusts implements [workspace.Trusts].
func (s *Store) AllTrusts(ctx context.Context) ([]workspace.Trust, error) {
	return engine.All(ctx, s.query, "trusts", selectTrusts, engine.ReadTrust)
}

// Distrust implements [workspace.Trusts].
func (s *Store) Distrust(ctx context.Context, t workspace.Trust, by pending.Actor, at time.Time) (known bool, err error) {
	body, err := engine.DistrustBody(t, by, at)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, full, "distrust a folder", func(ctx context.Context, tx tx) error {
		dropped, err := tx.exec(ctx, dropTrust, bind([]byte(t.Folder)), engine.Shown(t.Digest))
		if known = dropped > 0; err != nil || !known {
			return err
		}
		return tx.append(ctx, body)
	})
	return known && err == nil, err
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
	err = s.query(ctx, "left out settings", selectLeftOut, func(rows engine.Row) error {
		var one int
		out = true
		return rows.Scan(&one)
	}, sessionID)
	return out && err == nil, err
}
