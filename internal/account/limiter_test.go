package account_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// What the defaults allow for an account from one address, and in an hour.
var (
	perMinute = account.DefaultLimits.PerAccount
	hourly    = perMinute * account.HourlyFactor
)

// begin begins an attempt. ok is whether it may.
func begin(t *testing.T, l *account.SignInLimiter, address, name string) (succeeded func() error, wait time.Duration, ok bool) {
	t.Helper()
	succeeded, wait, err := l.BeginAttempt(t.Context(), address, name)
	if err != nil {
		t.Error(err)
	}
	return succeeded, wait, wait == 0
}

func tokenWait(t *testing.T, l *account.SignInLimiter, address string, hash []byte) time.Duration {
	t.Helper()
	wait, err := l.TokenWait(t.Context(), address, hash)
	if err != nil {
		t.Error(err)
	}
	return wait
}

func TestSignInLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l account.SignInLimiter
		attempts, allowed := 0, 0
		for range 60 * 60 / 5 { // every five seconds for an hour
			attempts++
			if _, _, ok := begin(t, &l, "192.0.2.1", "Ada"); ok {
				allowed++
			}
			time.Sleep(5 * time.Second)
		}
		if allowed != hourly {
			t.Fatalf("%d of %d attempts in an hour were allowed, want %d", allowed, attempts, hourly)
		}
		if _, _, ok := begin(t, &l, "192.0.2.2", "Ada"); !ok {
			t.Fatal("another address was held back")
		}
	})
}

func TestSignInLimiterSaysHowLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l account.SignInLimiter
		for range perMinute {
			if _, _, ok := begin(t, &l, "192.0.2.1", "Ada"); !ok {
				t.Fatal("held back too early")
			}
			time.Sleep(10 * time.Second)
		}
		_, wait, ok := begin(t, &l, "192.0.2.1", "Ada")
		if ok || wait != 40*time.Second {
			t.Fatalf("got %v, %v, want to wait 40 s", ok, wait)
		}
		time.Sleep(wait)
		if _, _, ok := begin(t, &l, "192.0.2.1", "Ada"); !ok {
			t.Fatal("held back after the wait")
		}
	})
}

func TestSignInLimiterForgivesSuccess(t *testing.T) {
	t.Parallel()
	var l account.SignInLimiter
	for range 100 {
		succeeded, _, ok := begin(t, &l, "192.0.2.1", "Ada")
		if !ok {
			t.Fatal("good sign-ins were held back")
		}
		if err := succeeded(); err != nil {
			t.Error(err)
		}
	}
}

func TestSignInLimiterCountsSimultaneousAttempts(t *testing.T) {
	t.Parallel()
	var l account.SignInLimiter
	var allowed atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, _, ok := begin(t, &l, "2001:db8::1", "Ada"); ok {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if int(allowed.Load()) != perMinute {
		t.Fatalf("%d attempts at once were allowed, want %d", allowed.Load(), perMinute)
	}
	if _, _, ok := begin(t, &l, "2001:db8::ffff", "Ada"); ok {
		t.Error("another address of the same /64 was allowed")
	}
	if _, _, ok := begin(t, &l, "2001:db8:0:1::1", "Ada"); !ok {
		t.Error("an address of another /64 was held back")
	}
}

func TestSignInLimiterIsBounded(t *testing.T) {
	t.Parallel()
	var l account.SignInLimiter
	for i := range 30_000 {
		begin(t, &l, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), "")
	}
	if n := l.Addresses(); n > 10_001 {
		t.Fatalf("remembers %d addresses, want at most 10001", n)
	}
}

func TestSignInLimiterLimitsAnAccountAcrossAddresses(t *testing.T) {
	t.Parallel()
	var l account.SignInLimiter
	for i := range perMinute * account.AccountFactor {
		if _, _, ok := begin(t, &l, fmt.Sprintf("192.0.2.%d", i), []string{"Ada", "ａｄａ", "A\u200bda", "ADA"}[i%4]); !ok {
			t.Fatal("held back too early")
		}
	}
	if _, wait, ok := begin(t, &l, "192.0.2.100", "ADA"); ok || wait <= 0 {
		t.Fatalf("got %v, %v, want the account to wait", ok, wait)
	}
	if _, _, ok := begin(t, &l, "192.0.2.100", "Bob"); !ok {
		t.Fatal("another account was held back, or a refused attempt counted")
	}
}

// TestGuessedTokensAreDelayed: what was good once, and the same wrong secret again, are
// no guesses.
func TestGuessedTokensAreDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l account.SignInLimiter
		l.SetLimits(account.Limits{PerAccount: 2, PerAddress: 2})
		const here = "192.0.2.1"
		try := func(secret string, good bool) time.Duration {
			hash := account.Hash(secret)
			wait := tokenWait(t, &l, here, hash)
			if wait == 0 {
				if err := l.RecordToken(t.Context(), here, hash, good); err != nil {
					t.Error(err)
				}
			}
			return wait
		}
		try("tab", true)
		for range 10 {
			if wait := try("ended", false); wait != 0 {
				t.Fatalf("the same again waits %s", wait)
			}
		}
		if wait := try("guess", false); wait != 0 {
			t.Fatalf("the second guess waits %s", wait)
		}
		if wait := try("another", true); wait != time.Minute {
			t.Errorf("the third waits %s, want a minute, good or not", wait)
		}
		if tokenWait(t, &l, "192.0.2.2", account.Hash("another")) != 0 {
			t.Error("another address waits")
		}
		if try("tab", true) != 0 || try("ended", false) != 0 {
			t.Error("what is no guess waits")
		}
		if _, _, ok := begin(t, &l, here, ""); ok {
			t.Error("a password may be tried")
		}
		time.Sleep(time.Minute + time.Second)
		if wait := try("another", true); wait != 0 {
			t.Errorf("after a minute it waits %s", wait)
		}
	})
}

// TestASharedAddressIsNotLockedOut: an office behind one address makes typing errors,
// and its people and tokens go on, while guessing stays slow.
func TestASharedAddressIsNotLockedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l account.SignInLimiter
		const office = "192.0.2.1"
		for range perMinute {
			if _, _, ok := begin(t, &l, office, "Ada"); !ok {
				t.Fatal("held back too early")
			}
		}
		if _, _, ok := begin(t, &l, office, "ada"); ok {
			t.Error("Ada may go on to guess")
		}
		if _, _, ok := begin(t, &l, "192.0.2.2", "Ada"); !ok {
			t.Error("Ada is shut out elsewhere")
		}
		for i := range 8 {
			if succeeded, _, ok := begin(t, &l, office, fmt.Sprint("colleague ", i)); !ok {
				t.Errorf("colleague %d is shut out", i)
			} else {
				if err := succeeded(); err != nil {
					t.Error(err)
				}
			}
		}
		if wait := tokenWait(t, &l, office, account.Hash("a token that was never used")); wait != 0 {
			t.Errorf("a token waits %s", wait)
		}
		// An hour of guessing at one account, from everywhere: no more than the limit.
		time.Sleep(2 * time.Hour)
		allowed := 0
		for i := range 3600 {
			if _, _, ok := begin(t, &l, fmt.Sprintf("10.0.%d.%d", i/250, i%250), "Ada"); ok {
				allowed++
			}
			time.Sleep(time.Second)
		}
		if most := hourly * account.AccountFactor; allowed > most {
			t.Errorf("%d guesses in an hour at one account, want at most %d", allowed, most)
		}
	})
}

func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	var l account.SignInLimiter
	l.SetLimits(account.Limits{PerAccount: 5, PerAddress: 7})
	for _, row := range []struct {
		account string
		want    int
	}{{"Ada", 5}, {"Bob", 2}} {
		allowed := 0
		for range 20 {
			if _, _, ok := begin(t, &l, "192.0.2.1", row.account); ok {
				allowed++
			}
		}
		if allowed != row.want {
			t.Errorf("%s: %d attempts were allowed, want %d", row.account, allowed, row.want)
		}
	}
}
