package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectAudit       = "SELECT seq, body, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?"
	lastAudit         = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"
	selectAuditBefore = "SELECT seq, body, hash FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?"
	selectAuditBase   = "SELECT seq, hash FROM audit_base"
)

// record puts an answer on record, and the grants that it makes, in the
// transaction that stores it.
func (t tx) record(ctx context.Context, r pending.Request, res pending.Resolution) error {
	body, err := engine.AuditBody(r, res)
	if err != nil {
		return err
	}
	if err := t.grant(ctx, pending.GrantsOf(r, res)); err != nil {
		return err
	}
	return t.append(ctx, body)
}

// append adds an entry to the end of the audit trail.
func (t tx) append(ctx context.Context, body []byte) error {
	var seq int64
	var hash []byte
	if err := t.row(ctx, []any{&seq, &hash}, lastAudit); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err := t.exec(ctx, "INSERT INTO audit (seq, body, hash) VALUES (?, ?, ?)", seq+1, string(body), account.AuditHash(hash, body))
	return err
}

// AddIncident implements [account.Store].
func (s *Store) AddIncident(ctx context.Context, body []byte) error {
	return s.write(ctx, full, "put an incident on record", func(ctx context.Context, t tx) error { return t.append(ctx, body) })
}

// Audit implements [account.Trail].
func (s *Store) Audit(ctx context.Context, after int64, limit int) ([]account.AuditEntry, error) {
	return s.auditEntries(ctx, selectAudit, after, limit)
}

// AuditBefore implements [account.Trail].
func (s *Store) AuditBefore(ctx context.Context, before int64, limit int) ([]account.AuditEntry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return s.auditEntries(ctx, selectAuditBefore, before, limit)
}

func (s *Store) auditEntries(ctx context.Context, text string, args ...any) ([]account.AuditEntry, error) {
	return engine.All(ctx, s.query, "audit", text, engine.ReadAuditEntry, args...)
}

// AuditBase implements [account.Trail].
func (s *Store) AuditBase(ctx context.Context) (base account.AuditEntry, err error) {
	err = s.query(ctx, "audit base", selectAuditBase, func(rows engine.Row) error { return rows.Scan(&base.Seq, &base.Hash) })
	return base, err
}

// RemoveAudit implements [account.Trail].
func (s *Store) RemoveAudit(ctx context.Context, through account.AuditEntry, body []byte) error {
	return s.write(ctx, full, "remove old audit entries", func(ctx context.Context, t tx) error {
		// The entry about it comes first: its hash covers the one that is last now, and
		// it stays, so that there is always one to go on from.
		if err := t.append(ctx, body); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "INSERT INTO audit_base (one, seq, hash) VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
			through.Seq, through.Hash); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM audit WHERE seq <= ?", through.Seq)
		return err
	})
}
