package engine

import "github.com/sayso-dev/sayso/internal/account"

// PasskeyColumns is the select list of [ReadPasskey].
const PasskeyColumns = `passkey_id, user_id, name, key_id, rp_id, data, sign_count, created_at, last_used_at, created_by`

// ReadPasskey reads a row of [PasskeyColumns].
func ReadPasskey(row Row) (p account.Passkey, err error) {
	var signCount, createdAt, lastUsedAt int64
	err = row.Scan(&p.PasskeyID, &p.UserID, &p.Name, &p.KeyID, &p.RPID, &p.Data, &signCount, &createdAt, &lastUsedAt, &p.CreatedBy)
	p.SignCount, p.CreatedAt, p.LastUsedAt = uint32(signCount), Time(createdAt), Time(lastUsedAt)
	return p, err
}

// PasskeyValues are the arguments of an insertion of [PasskeyColumns].
func PasskeyValues(p account.Passkey) []any {
	return []any{p.PasskeyID, p.UserID, Shown(p.Name), p.KeyID, p.RPID, p.Data, int64(p.SignCount), Micros(p.CreatedAt), Micros(p.LastUsedAt), p.CreatedBy}
}
