package postgres

import (
	"context"
	"math"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectAudit       = "SELECT seq, body, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2"
	selectAuditBefore = "SELECT seq, body, hash FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2"
	selectAuditBase   = "SELECT seq, hash FROM audit_base"
	setAuditBase      = `INSERT INTO audit_base (one, seq, hash) VALUES (1, $1, $2) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
	removeAudit       = "DELETE FROM audit WHERE seq <= $1"
	// One chain has one writer at a time. The lock is taken before any row is, so
	// that nobody waits for it who holds what its holder needs.
	lockAudit   = "SELECT pg_advisory_xact_lock(8243113893085146473)"
	appendAudit = `INSERT INTO audit (seq, body, hash)
		SELECT coalesce(l.seq, 0) + 1, $1, sha256(coalesce(l.hash, '\x'::bytea) || $1)
		FROM (SELECT 1) one LEFT JOIN (SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1) l ON true
		WHERE EXISTS `
	insertIncident = appendAudit + "(SELECT 1)"
	// The row was written by this transaction, or there is nothing to record.
	insertAudit    = appendAudit + "(SELECT 1 FROM requests r WHERE r.request_id = $2 AND r.xmin = pg_current_xact_id()::xid AND r.status IN ('answered', 'denied', 'expired'))"
	recordApproval = appendAudit + "(SELECT 1 FROM requests r WHERE r.request_id = $2 AND r.xmin = pg_current_xact_id()::xid)"
	recordRevoked  = appendAudit + "(SELECT 1 FROM grants g WHERE g.grant_id = $2 AND g.xmin = pg_current_xact_id()::xid AND g.revoked_at = $3)"
)

// AddIncident implements [account.Store].
func (s *Store) AddIncident(ctx context.Context, body []byte) error {
	return s.write(ctx, "put an incident on record", durable, statement{text: lockAudit}, statement{text: insertIncident, args: []any{body}})
}

// recorded puts the statements that store an answer between those that put it on
// record, all of one transaction.
func recorded(r pending.Request, res pending.Resolution, steps ...statement) ([]statement, error) {
	body, err := engine.AuditBody(r, res)
	if err != nil {
		return nil, err
	}
	steps = append([]statement{{text: lockAudit}}, steps...)
	for _, g := range pending.GrantsOf(r, res) {
		steps = append(steps, statement{text: insertGrant, args: append(engine.GrantValues(g, bind), g.SessionID)})
	}
	return append(steps, statement{text: insertAudit, args: []any{body, r.RequestID}}), nil
}

// carriedResolution is the one that a request gets from another.
func carriedResolution(from pending.Request, at time.Time) pending.Resolution {
	res := pending.Resolution{At: at, CarriedFrom: from.RequestID}
	if from.Resolution != nil {
		res = *from.Resolution
		res.At = at
		if res.CarriedFrom == "" {
			res.CarriedFrom = from.RequestID
		}
	}
	return res
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
	// The entry about it comes first: its hash covers the one that is last now, and
	// it stays, so that there is always one to go on from.
	return s.write(ctx, "remove old audit entries", durable, statement{text: lockAudit}, statement{text: insertIncident, args: []any{body}},
		statement{text: setAuditBase, args: []any{through.Seq, through.Hash}}, statement{text: removeAudit, args: []any{through.Seq}})
}
