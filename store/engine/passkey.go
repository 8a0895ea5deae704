package engine

import "github.com/sayso-dev/sayso/account"

// PasskeyColumns is the select list of [PasskeyRow.Dest].
const PasskeyColumns = `passkey_id, user_id, name, key_id, rp_id, data, sign_count, created_at, last_used_at`

// PasskeyRow takes one row of [PasskeyColumns].
type PasskeyRow struct {
	p                                account.Passkey
	signCount, createdAt, lastUsedAt int64
}

// Dest is what to scan into.
func (x *PasskeyRow) Dest() []any {
	return []any{&x.p.PasskeyID, &x.p.UserID, &x.p.Name, &x.p.KeyID, &x.p.RPID, &x.p.Data, &x.signCount, &x.createdAt, &x.lastUsedAt}
}

// Passkey is the row that was scanned.
func (x *PasskeyRow) Passkey() account.Passkey {
	p := x.p
	p.SignCount, p.CreatedAt, p.LastUsedAt = uint32(x.signCount), Time(x.createdAt), Time(x.lastUsedAt)
	return p
}

// PasskeyValues are the arguments of an insertion of [PasskeyColumns].
func PasskeyValues(p account.Passkey) []any {
	return []any{p.PasskeyID, p.UserID, Shown(p.Name), p.KeyID, p.RPID, p.Data, int64(p.SignCount), Micros(p.CreatedAt), Micros(p.LastUsedAt)}
}
