package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectTrust = "SELECT " + engine.TrustColumns + " FROM folder_trusts WHERE folder = $1"
	putTrust    = "INSERT INTO folder_trusts (" + engine.TrustColumns + `) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (folder) DO UPDATE SET digest = excluded.digest, items = excluded.items, user_id = excluded.user_id,
			name = excluded.name, trusted_at = excluded.trusted_at WHERE folder_trusts.digest <> excluded.digest`
	// The row was written by this transaction, or there is nothing to record.
	auditTrust   = appendAudit + "(SELECT 1 FROM folder_trusts t WHERE t.folder = $2 AND t.xmin = pg_current_xact_id()::xid)"
	selectTrusts = "SELECT " + engine.TrustColumns + " FROM folder_trusts ORDER BY trusted_at DESC, folder"
	// Before the row goes: without it there is nothing to record.
	auditDistrust = appendAudit + "(SELECT 1 FROM folder_trusts t WHERE t.folder = $2 AND t.digest = $3)"
	dropTrust     = "DELETE FROM folder_trusts WHERE folder = $1 AND digest = $2"
	leaveOut      = `INSERT INTO settings_left_out (session_id) SELECT session_id FROM sessions WHERE session_id = $1
		ON CONFLICT DO NOTHING`
	takeIn        = "DELETE FROM settings_left_out WHERE session_id = $1"
	selectLeftOut = "SELECT 1 FROM settings_left_out WHERE session_id = $1"
)

// Trust implements [workspace.Trusts].
func (s *Store) Trust(ctx context.Context, folder string) (t workspace.Trust, known bool, err error) {
	list, err := engine.All(ctx, s.query, "trust", selectTrust, engine.ReadTrust, []byte(folder))
	if err != nil || len(list) == 0 {
		return workspace.Trust{}, false, err
	}
	return list[0], true, nil
}

// PutTrust implements [workspace.Trusts].
func (s *Store) PutTrust(ctx context.Context, t workspace.Trust) error {
	body, err := engine.TrustBody(t)
	if err != nil {
		return err
	}
	return s.write(ctx, "trust a folder", durable,
		statement{text: lockAudit},
		statement{text: putTrust, args: engine.TrustValues(t, bind)},
		statement{text: auditTrust, args: []any{body, []byte(t.Folder)}})
}

// AllTrusts implements [workspace.Trusts].
func (s *Store) AllTrusts(ctx context.Context) ([]workspace.Trust, error) {
	return engine.All(ctx, s.query, "trusts", selectTrusts, engine.ReadTrust)
}

// Distrust implements [workspace.Trusts].
func (s *Store) Distrust(ctx context.Context, t workspace.Trust, by pending.Actor, at time.Time) (bool, error) {
	body, err := engine.DistrustBody(t, by, at)
	if err != nil {
		return false, err
	}
	var n int64
	err = s.write(ctx, "distrust a folder", durable,
		statement{text: lockAudit},
		statement{text: auditDistrust, args: []any{body, []byte(t.Folder), engine.Shown(t.Digest)}},
		statement{dropTrust, []any{[]byte(t.Folder), engine.Shown(t.Digest)}, changed(&n)})
	return n > 0 && err == nil, err
}

// LeaveOut implements [workspace.Trusts].
func (s *Store) LeaveOut(ctx context.Context, sessionID string, out bool) error {
	text := takeIn
	if out {
		text = leaveOut
	}
	var one int
	var known bool
	err := s.write(ctx, "leave out settings", relaxed,
		statement{text: text, args: []any{sessionID}},
		statement{"SELECT 1 FROM sessions WHERE session_id = $1", []any{sessionID}, row(&known, &one)})
	if err == nil && !known {
		err = fmt.Errorf("postgres: leave out settings: %w", session.ErrNotFound)
	}
	return err
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
