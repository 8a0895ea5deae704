package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// failureLockClass is the class of the advisory locks on the keys of failed sign-ins.
const failureLockClass = "1936290931"

// longestWait returns the longest time, in microseconds, that keys $1 with the limits $2 must wait:
// until the oldest of the last n failures is a minute old, where n is the limit, and the oldest of
// the last 6 n is an hour old. A limit of 0 allows any number.
const longestWait = `SELECT coalesce(max(greatest(
		(SELECT failed_at + 3600000000 FROM sign_in_failures f WHERE f.key = k.key AND failed_at > ` + databaseTime + ` - 3600000000
			ORDER BY failed_at DESC OFFSET k.allowed * 6 - 1 LIMIT 1),
		(SELECT failed_at + 60000000 FROM sign_in_failures f WHERE f.key = k.key AND failed_at > ` + databaseTime + ` - 60000000
			ORDER BY failed_at DESC OFFSET k.allowed - 1 LIMIT 1)
	) - ` + databaseTime + `), 0) AS wait FROM unnest($1::bytea[], $2::bigint[]) AS k (key, allowed) WHERE k.allowed > 0`

var (
	// Takes the locks in the order of the array, so that two attempts cannot deadlock.
	lockFailures = define("SELECT count(pg_advisory_xact_lock(" + failureLockClass + ", lock)) FROM unnest($1::integer[]) AS lock")
	// Follows lockFailures, so that it sees everything committed before the locks were taken.
	countFailure = define(`WITH longest AS (` + longestWait + `), counted AS (
			INSERT INTO sign_in_failures (key, failure_id, failed_at)
			SELECT key, $3::text, ` + databaseTime + ` FROM longest, unnest($1::bytea[]) AS key WHERE wait <= 0)
		SELECT wait FROM longest`)
	failureWait   = sqlstore.Query{Statement: define(longestWait)}
	forgetFailure = define("DELETE FROM sign_in_failures WHERE failure_id = $1")
	// Deletes at least as many rows as one attempt adds, and none that another transaction deletes.
	forgetOutdated = define(`DELETE FROM sign_in_failures WHERE (failure_id, key) IN (
		SELECT failure_id, key FROM sign_in_failures WHERE failed_at < ` + databaseTime + ` - 3600000000 LIMIT 100 FOR UPDATE SKIP LOCKED)`)
)

// hashKeys returns the hashes of keys, their limits, and their advisory locks in sorted order. Of
// addresses and names, only the hashes are stored.
func hashKeys(keys []account.FailureKey) (hashes [][]byte, allowed []int64, locks []int32) {
	for _, key := range keys {
		hash := sha256.Sum256([]byte(key.Key))
		hashes, allowed = append(hashes, hash[:]), append(allowed, int64(key.PerMinute))
		locks = append(locks, int32(binary.BigEndian.Uint32(hash[:])))
	}
	slices.Sort(locks)
	return hashes, allowed, locks
}

// CountFailure implements [account.Failures].
func (s *Store) CountFailure(ctx context.Context, failureID string, keys ...account.FailureKey) (time.Duration, error) {
	hashes, allowed, locks := hashKeys(keys)
	var found bool
	var micros int64
	err := s.write(ctx, "count a sign-in",
		step{Statement: forgetOutdated},
		step{Statement: lockFailures, args: []any{locks}},
		step{countFailure, []any{hashes, allowed, failureID}, scanRow(&found, &micros)})
	return time.Duration(max(micros, 0)) * time.Microsecond, err
}

// FailureWait implements [account.Failures].
func (s *Store) FailureWait(ctx context.Context, key account.FailureKey) (time.Duration, error) {
	hashes, allowed, _ := hashKeys([]account.FailureKey{key})
	var micros int64
	err := s.query(ctx, "read failed sign-ins", failureWait, func(row sqlstore.Row) error { return row.Scan(&micros) }, hashes, allowed)
	return time.Duration(max(micros, 0)) * time.Microsecond, err
}

// ForgetFailure implements [account.Failures].
func (s *Store) ForgetFailure(ctx context.Context, failureID string, _ ...account.FailureKey) error {
	return s.write(ctx, "forget a sign-in", step{Statement: forgetFailure, args: []any{failureID}})
}
