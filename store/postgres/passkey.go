package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	insertPasskey  = "INSERT INTO passkeys (" + engine.PasskeyColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
	selectPasskeys = "SELECT " + engine.PasskeyColumns + " FROM passkeys WHERE $1 IN ('', user_id) ORDER BY created_at, passkey_id"
	// firstPasskey asks again what changeUser asks, under the same lock.
	firstPasskey = "INSERT INTO passkeys (" + engine.PasskeyColumns + `) SELECT $1, u.user_id, $3, $4, $5, $6, $7, $8, $9, $10 FROM users u
		WHERE u.user_id = $2 AND u.password = '' AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $2)`
	endForPasskey = `UPDATE credentials c SET revoked = true FROM passkeys p WHERE p.passkey_id = $1 AND c.user_id = p.user_id
		AND c.kind IN ('cookie', 'sign_in_link') AND c.credential_id <> $2`
	usePasskey = `UPDATE passkeys SET sign_count = $2, data = $3, last_used_at = $4
		WHERE passkey_id = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0)`
	hasPasskey    = "SELECT true FROM passkeys WHERE passkey_id = $1"
	removePasskey = `WITH gone AS (DELETE FROM passkeys WHERE user_id = $1 AND passkey_id = $2 RETURNING user_id, passkey_id),
		ended AS (UPDATE credentials c SET revoked = true FROM gone g
			WHERE c.user_id = g.user_id AND c.method_id = g.passkey_id AND c.kind = 'cookie' AND c.credential_id <> $3)
		SELECT true FROM gone`
)

// AddPasskey implements [account.PasskeyStore].
func (s *Store) AddPasskey(ctx context.Context, p account.Passkey) error {
	err := s.write(ctx, "add passkey "+p.PasskeyID, durable, statement{text: insertPasskey, args: engine.PasskeyValues(p)})
	switch {
	case violates(err, uniqueRule):
		err = fmt.Errorf("postgres: add passkey %s: %w", p.PasskeyID, account.ErrExists)
	case violates(err, foreignKeyRule):
		err = fmt.Errorf("postgres: add passkey %s: user %s: %w", p.PasskeyID, p.UserID, account.ErrNotFound)
	}
	return err
}

// Passkeys implements [account.PasskeyStore].
func (s *Store) Passkeys(ctx context.Context, userID string) ([]account.Passkey, error) {
	return engine.All(ctx, s.query, "passkeys of "+userID, selectPasskeys, engine.ReadPasskey, userID)
}

// UsePasskey implements [account.PasskeyStore].
func (s *Store) UsePasskey(ctx context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error {
	var n int64
	var known, is bool
	err := s.write(ctx, "use passkey "+passkeyID, durable,
		statement{usePasskey, []any{passkeyID, int64(signCount), data, at.UnixMicro()}, changed(&n)},
		statement{hasPasskey, []any{passkeyID}, row(&known, &is)})
	switch {
	case err != nil || n > 0:
		return err
	case known:
		return fmt.Errorf("postgres: use passkey %s: %w", passkeyID, account.ErrCloned)
	}
	return fmt.Errorf("postgres: use passkey %s: %w", passkeyID, account.ErrNotFound)
}

// RemovePasskey implements [account.PasskeyStore].
func (s *Store) RemovePasskey(ctx context.Context, userID, passkeyID, keep string) error {
	var gone, is bool
	err := s.write(ctx, "remove passkey "+passkeyID, durable, statement{removePasskey, []any{userID, passkeyID, keep}, row(&gone, &is)},
		statement{text: engine.EndBound})
	if err == nil && !gone {
		err = fmt.Errorf("postgres: remove passkey %s: %w", passkeyID, account.ErrNotFound)
	}
	return err
}
