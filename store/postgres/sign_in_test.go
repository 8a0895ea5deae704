package postgres_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// Two servers on one database allow together what one allows, for the same minute and hour.
func TestFailedSignInsAreCountedByAllServers(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	servers := []*account.SignInLimiter{{Failures: st}, {Failures: openPatient(t, dsn)}}
	begin := func(server int, address, name string) (succeeded func() error, wait time.Duration) {
		t.Helper()
		succeeded, wait, err := servers[server].BeginAttempt(t.Context(), address, name)
		must(t, err)
		return succeeded, wait
	}
	for i := range account.DefaultLimits.PerAccount {
		if _, wait := begin(i%2, "192.0.2.1", "Ada"); wait > 0 {
			t.Fatalf("attempt %d waits %v", i, wait)
		}
	}
	for i := range servers {
		if _, wait := begin(i, "192.0.2.1", "Ada"); wait <= 0 || wait > time.Minute {
			t.Errorf("server %d allows one more, after %v", i, wait)
		}
	}
	succeeded, wait := begin(1, "192.0.2.1", "Bob")
	if wait > 0 {
		t.Fatalf("another account waits %v", wait)
	}
	must(t, succeeded())

	// Guesses at tokens.
	limits := account.Limits{PerAccount: 2, PerAddress: 2}
	for i, server := range servers {
		server.SetLimits(limits)
		must(t, server.RecordToken(t.Context(), "192.0.2.9", account.Hash(string(rune('a'+i))), false))
	}
	for i, server := range servers {
		if wait, err := server.TokenWait(t.Context(), "192.0.2.9", account.Hash("guess")); err != nil || wait <= 0 {
			t.Errorf("server %d: %v, %v", i, wait, err)
		}
	}

	// An hour later everything is forgotten, and its rows are deleted.
	db := outside(t, dsn)
	exec(t, db, "UPDATE sign_in_failures SET failed_at = failed_at - 3600000000")
	if _, wait := begin(0, "192.0.2.1", "Ada"); wait > 0 {
		t.Errorf("after an hour: %v", wait)
	}
	var left int
	must(t, db.QueryRow(t.Context(), "SELECT count(*) FROM sign_in_failures").Scan(&left))
	if left != 3 {
		t.Errorf("%d rows are left", left)
	}
}

// TestCeremoniesOfAllServers: servers of a database have one key, and what one has finished no other does,
// also once its row is gone.
func TestCeremoniesOfAllServers(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	a, b := openPatient(t, dsn), openPatient(t, dsn)
	key, err := a.CeremonyKey(ctx)
	must(t, err)
	if other, err := b.CeremonyKey(ctx); err != nil || other != key {
		t.Errorf("the key of another server: %v, %v", other == key, err)
	}
	expiry := time.Now().Add(time.Minute)
	for i, st := range []*postgres.Store{a, b, a} {
		if first, err := st.FinishCeremony(ctx, []byte("one"), expiry); err != nil || first != (i == 0) {
			t.Errorf("call %d: %v, %v", i, first, err)
		}
	}
	db := outside(t, dsn)
	exec(t, db, "UPDATE ceremonies SET expires_at = 1")
	if first, err := b.FinishCeremony(ctx, []byte("two"), expiry); err != nil || !first {
		t.Errorf("another one: %v, %v", first, err)
	}
	var left int
	must(t, db.QueryRow(t.Context(), "SELECT count(*) FROM ceremonies").Scan(&left))
	if left != 1 {
		t.Errorf("%d rows are left", left)
	}
}
