package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectAudit = "SELECT seq, body, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?"
	lastAudit   = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"
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
func (s *Store) Audit(ctx context.Context, after int64, limit int) (list []account.AuditEntry, err error) {
	err = s.query(ctx, "audit", selectAudit, func(rows *sql.Rows) error {
		var e account.AuditEntry
		var body string
		if err := rows.Scan(&e.Seq, &body, &e.Hash); err != nil {
			return err
		}
		e.Body = []byte(body)
		list = append(list, e)
		return nil
	}, after, limit)
	if err != nil {
		return nil, err
	}
	return list, nil
}
