package postgres

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

var (
	// The deleted ceremonies have expired by the same clock, so they cannot be finished again.
	forgetCeremonies = define(`DELETE FROM ceremonies WHERE ceremony_id IN (
		SELECT ceremony_id FROM ceremonies WHERE expires_at < ` + databaseTime + ` LIMIT 100 FOR UPDATE SKIP LOCKED)`)
	finishCeremony = define("INSERT INTO ceremonies (ceremony_id, expires_at) SELECT $1, $2 WHERE $2 > " + databaseTime + " ON CONFLICT (ceremony_id) DO NOTHING")
)

// CeremonyKey implements [account.Ceremonies]. The first server generates the key.
func (s *Store) CeremonyKey(ctx context.Context) (key [account.CeremonyKeySize]byte, err error) {
	if known := s.ceremonyKey.Load(); known != nil {
		return *known, nil
	}
	_, _ = rand.Read(key[:]) // never fails
	text, err := s.SharedSecret(ctx, "ceremony key", base64.StdEncoding.EncodeToString(key[:]))
	if err != nil {
		return key, err
	}
	shared, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(shared) != len(key) {
		return key, fmt.Errorf("postgres: the key of ceremonies has %d bytes: %w", len(shared), err)
	}
	copy(key[:], shared)
	s.ceremonyKey.Store(&key)
	return key, nil
}

// FinishCeremony implements [account.Ceremonies].
func (s *Store) FinishCeremony(ctx context.Context, ceremonyID []byte, expiresAt time.Time) (first bool, err error) {
	var added int64
	err = s.write(ctx, "finish a sign-in in two steps", step{Statement: forgetCeremonies},
		step{finishCeremony, []any{ceremonyID, expiresAt.UnixMicro()}, countRows(&added)})
	return added > 0, err
}
