package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// The folder is that of the session, which exists as long as one of its requests does.
	insertGrant = define("INSERT INTO grants (" + sqlstore.NewGrantColumns + `, folder)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, s.cwd FROM sessions s WHERE s.session_id = ? ON CONFLICT (grant_id) DO NOTHING`)
	lastAudit   = define("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
	insertAudit = define("INSERT INTO audit (seq, body, hash) VALUES (?, ?, ?)")
)

// recordAnswer appends the audit entry of an answer and stores the grants that come with it.
func (t tx) recordAnswer(ctx context.Context, r pending.Request, res pending.Resolution) error {
	body, err := sqlstore.ResolutionAudit(r, res)
	if err != nil {
		return err
	}
	for _, g := range pending.GrantsOf(r, res) {
		if _, err := t.exec(ctx, insertGrant, append(sqlstore.GrantValues(g, bind), g.SessionID)...); err != nil {
			return err
		}
	}
	return t.appendAudit(ctx, body)
}

// appendAudit adds an entry to the end of the audit log.
func (t tx) appendAudit(ctx context.Context, body []byte) error {
	var seq int64
	var hash []byte
	if err := t.queryRow(ctx, []any{&seq, &hash}, lastAudit); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err := t.exec(ctx, insertAudit, seq+1, string(body), account.AuditHash(hash, body))
	return err
}
