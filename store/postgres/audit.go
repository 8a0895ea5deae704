package postgres

import (
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// The audit log is a hash chain, so only one transaction may append at a time. Its lock is taken
	// before any row is locked, which prevents deadlocks.
	lockAudit   = define("SELECT pg_advisory_xact_lock(8243113893085146473)")
	appendAudit = define(appendWhere + "(SELECT 1)")
	// Appends only if this transaction wrote the row; otherwise there is nothing to record.
	auditAnswer   = define(appendWhere + "(SELECT 1 FROM requests r WHERE r.request_id = $2 AND r.xmin = pg_current_xact_id()::xid AND r.status IN ('answered', 'denied', 'expired'))")
	auditApproval = define(appendWhere + "(SELECT 1 FROM requests r WHERE r.request_id = $2 AND r.xmin = pg_current_xact_id()::xid)")
	// The folder is that of the session, which exists as long as one of its requests does. Inserts
	// only if this transaction wrote the answer; otherwise there is nothing to grant.
	insertGrant = define("INSERT INTO grants (" + sqlstore.NewGrantColumns + `, folder)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::bigint, s.cwd FROM sessions s WHERE s.session_id = $13
		AND EXISTS (SELECT 1 FROM requests r WHERE r.request_id = $7 AND r.xmin = pg_current_xact_id()::xid AND r.status = 'answered')
		ON CONFLICT (grant_id) DO NOTHING`)
)

// appendWhere appends the entry $1 to the audit log if a condition holds.
const appendWhere = `INSERT INTO audit (seq, body, hash)
	SELECT coalesce(l.seq, 0) + 1, $1, sha256(coalesce(l.hash, '\x'::bytea) || $1)
	FROM (SELECT 1) one LEFT JOIN (SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1) l ON true
	WHERE EXISTS `

// withAudit adds to the statements that store an answer those that record it. All belong to one
// transaction.
func withAudit(r pending.Request, res pending.Resolution, steps ...step) ([]step, error) {
	body, err := sqlstore.ResolutionAudit(r, res)
	if err != nil {
		return nil, err
	}
	steps = append([]step{{Statement: lockAudit}}, steps...)
	for _, g := range pending.GrantsOf(r, res) {
		steps = append(steps, step{Statement: insertGrant, args: append(sqlstore.GrantValues(g, bind), g.SessionID)})
	}
	return append(steps, step{Statement: auditAnswer, args: []any{body, r.RequestID}}), nil
}

// carriedResolution returns the resolution of a request whose answer is carried over from another.
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
