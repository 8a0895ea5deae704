package sqlstore

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// PasskeyColumns is the select list that [readPasskey] scans.
const PasskeyColumns = `passkey_id, user_id, name, key_id, rp_id, data, sign_count, created_at, last_used_at, created_by`

// readPasskey reads a row of [PasskeyColumns].
func readPasskey(row Row) (p account.Passkey, err error) {
	var signCount, createdAt, lastUsedAt int64
	err = row.Scan(&p.PasskeyID, &p.UserID, &p.Name, &p.KeyID, &p.RPID, &p.Data, &signCount, &createdAt, &lastUsedAt, &p.CreatedBy)
	p.SignCount, p.CreatedAt, p.LastUsedAt = uint32(signCount), Time(createdAt), Time(lastUsedAt)
	return p, err
}

// PasskeyValues returns the arguments for an insertion of [PasskeyColumns].
func PasskeyValues(p account.Passkey) []any {
	return []any{p.PasskeyID, p.UserID, SanitizeText(p.Name), p.KeyID, p.RPID, p.Data, int64(p.SignCount), Micros(p.CreatedAt), Micros(p.LastUsedAt), p.CreatedBy}
}

var (
	InsertPasskey  = define(insertInto("passkeys", PasskeyColumns))
	selectPasskeys = query("SELECT " + PasskeyColumns + " FROM passkeys WHERE $1 IN ('', user_id) ORDER BY created_at, passkey_id")
	// An update that changes nothing locks the row, so that the next statement can distinguish a
	// cloned key from one that does not exist.
	lockPasskey   = define("UPDATE passkeys SET sign_count = sign_count WHERE passkey_id = $1").Require(account.ErrNotFound)
	usePasskey    = define("UPDATE passkeys SET sign_count = $2, data = $3, last_used_at = $4 WHERE passkey_id = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0)").Require(account.ErrCloned)
	deletePasskey = define("DELETE FROM passkeys WHERE user_id = $1 AND passkey_id = $2").Require(account.ErrNotFound)
	endByPasskey  = define("UPDATE credentials SET revoked = true WHERE user_id = $1 AND method_id = $2 AND kind = 'cookie' AND credential_id <> $3")
)

// AddPasskey implements [account.PasskeyStore].
func (s Shared) AddPasskey(ctx context.Context, p account.Passkey) error {
	return s.e.Apply(ctx, Change{What: "add passkey " + p.PasskeyID, Durability: Durable, Duplicate: account.ErrExists, Orphan: account.ErrNotFound,
		Steps: []Step{step(InsertPasskey, PasskeyValues(p)...)}})
}

// Passkeys implements [account.PasskeyStore].
func (s Shared) Passkeys(ctx context.Context, userID string) ([]account.Passkey, error) {
	return queryAll(ctx, s, "passkeys of "+userID, selectPasskeys, readPasskey, userID)
}

// UsePasskey implements [account.PasskeyStore].
func (s Shared) UsePasskey(ctx context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error {
	return s.e.Apply(ctx, Change{What: "use passkey " + passkeyID, Durability: Durable,
		Steps: []Step{step(lockPasskey, passkeyID), step(usePasskey, passkeyID, int64(signCount), data, at.UnixMicro())}})
}

// RemovePasskey implements [account.PasskeyStore].
func (s Shared) RemovePasskey(ctx context.Context, userID, passkeyID, keep string) error {
	return s.e.Apply(ctx, Change{What: "remove passkey " + passkeyID, Durability: Durable,
		Steps: []Step{step(deletePasskey, userID, passkeyID), step(endByPasskey, userID, passkeyID, keep), step(RevokeBound)}})
}
