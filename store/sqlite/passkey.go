package sqlite

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	insertPasskey  = "INSERT INTO passkeys (" + engine.PasskeyColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	selectPasskeys = "SELECT " + engine.PasskeyColumns + " FROM passkeys WHERE ? IN ('', user_id) ORDER BY created_at, passkey_id"
	selectCount    = "SELECT sign_count FROM passkeys WHERE passkey_id = ?"
	countPasskeys  = "SELECT count(*) FROM passkeys WHERE user_id = ?"
	usePasskey     = "UPDATE passkeys SET sign_count = ?, data = ?, last_used_at = ? WHERE passkey_id = ?"
	deletePasskey  = "DELETE FROM passkeys WHERE user_id = ? AND passkey_id = ?"
	endMadeBy      = "UPDATE credentials SET revoked = 1 WHERE user_id = ? AND method_id = ? AND kind = 'cookie' AND credential_id <> ?"
)

// AddPasskey implements [account.PasskeyStore].
func (s *Store) AddPasskey(ctx context.Context, p account.Passkey) error {
	return s.write(ctx, full, "add passkey "+p.PasskeyID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, insertPasskey, engine.PasskeyValues(p)...)
		switch {
		case unique(err):
			return account.ErrExists
		case orphan(err):
			return account.ErrNotFound
		}
		return err
	})
}

// Passkeys implements [account.PasskeyStore].
func (s *Store) Passkeys(ctx context.Context, userID string) ([]account.Passkey, error) {
	return engine.All(ctx, s.query, "passkeys of "+userID, selectPasskeys, engine.ReadPasskey, userID)
}

// UsePasskey implements [account.PasskeyStore].
func (s *Store) UsePasskey(ctx context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error {
	return s.write(ctx, full, "use passkey "+passkeyID, func(ctx context.Context, t tx) error {
		var last int64
		if err := t.row(ctx, []any{&last}, selectCount, passkeyID); err != nil {
			return missing(err, account.ErrNotFound)
		}
		if int64(signCount) <= last && (signCount != 0 || last != 0) {
			return account.ErrCloned
		}
		_, err := t.exec(ctx, usePasskey, int64(signCount), data, at.UnixMicro(), passkeyID)
		return err
	})
}

// RemovePasskey implements [account.PasskeyStore].
func (s *Store) RemovePasskey(ctx context.Context, userID, passkeyID, keep string) error {
	return s.write(ctx, full, "remove passkey "+passkeyID, func(ctx context.Context, t tx) error {
		if err := found(t.exec(ctx, deletePasskey, userID, passkeyID)); err != nil {
			return err
		}
		if _, err := t.exec(ctx, endMadeBy, userID, passkeyID, keep); err != nil {
			return err
		}
		_, err := t.exec(ctx, engine.EndBound)
		return err
	})
}
