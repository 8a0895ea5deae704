package account

import (
	"cmp"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

// Limits are how many sign-ins may fail in a minute; in an hour it is HourlyFactor
// times as many.
type Limits struct {
	// PerAccount is for one account from one address. From all addresses together it
	// is AccountFactor times as many, so that somebody elsewhere who guesses does not
	// soon shut its owner out.
	PerAccount int
	// PerAddress is for all accounts from one address, which a whole office may share.
	PerAddress int
}

// DefaultLimits are the [Limits] of a limiter that was given none.
var DefaultLimits = Limits{PerAccount: 2, PerAddress: 30}

// What follows from the [Limits].
const (
	HourlyFactor  = 6
	AccountFactor = 5
)

// maxAddresses bounds the memory of a [SignInLimiter]. Beyond it the addresses
// and accounts whose failures are oldest are forgotten.
const maxAddresses = 10_000

// A SignInLimiter slows down whoever guesses. It counts failures for each
// address, an IPv6 network of 64 bits being one, for each account, and for each
// account from each address. An account is the canonical form of its name. The zero
// value is ready and has the [DefaultLimits]; all methods may be called from any
// goroutine.
type SignInLimiter struct {
	mu       sync.Mutex
	limits   Limits                 // a zero is that of DefaultLimits
	failures map[string][]time.Time // oldest first, within the last hour
	good     map[string]bool        // hashes of secrets that opened something since the start
	wrong    map[string]time.Time   // address and hash of a secret that did not → when it was counted
}

// secrets ends the key under which the failed secrets of an address are counted
// once more: whoever only guesses at passwords holds back nobody who has a token.
const secrets = " secrets"

// SetLimits changes the limits from now on.
func (l *SignInLimiter) SetLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

// perMinute is the limit of a key. It is called with mu held.
func (l *SignInLimiter) perMinute(kind keyKind) int {
	limits := Limits{PerAccount: cmp.Or(l.limits.PerAccount, DefaultLimits.PerAccount), PerAddress: cmp.Or(l.limits.PerAddress, DefaultLimits.PerAddress)}
	switch kind {
	case ofPair:
		return limits.PerAccount
	case ofAccount:
		return limits.PerAccount * AccountFactor
	default:
		return limits.PerAddress
	}
}

// keyKind says what the failures of a key are counted for.
type keyKind int

const (
	ofAddress keyKind = iota
	ofAccount
	ofPair
)

// TokenWait says how long a secret of 256 bits that opened nothing must wait before the
// next, 0 for not at all. One that opens something is never asked about: others'
// failures at its address hold back nobody who has a token. Nor does one wait whose
// failure is counted already.
func (l *SignInLimiter) TokenWait(address string, hash []byte) time.Duration {
	key, now := network(address), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.good[string(hash)] || now.Sub(l.wrong[key+" "+string(hash)]) < time.Hour {
		return 0
	}
	return l.wait(key+secrets, ofAddress, now)
}

// TokenTried tells what became of a secret that was looked up. The same wrong one again
// is no further guess, so that a script with a token that ended shuts nobody out.
func (l *SignInLimiter) TokenTried(address string, hash []byte, good bool) {
	key, now := network(address), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[string][]time.Time{}
	}
	if l.good == nil {
		l.good, l.wrong = map[string]bool{}, map[string]time.Time{}
	}
	pair := key + " " + string(hash)
	switch {
	case l.good[string(hash)], now.Sub(l.wrong[pair]) < time.Hour:
	case good:
		if len(l.good) >= maxAddresses {
			clear(l.good) // they are good again when they come again
		}
		l.good[string(hash)] = true
	default:
		if len(l.wrong) >= maxAddresses {
			clear(l.wrong)
		}
		l.wrong[pair] = now
		for _, k := range []string{key, key + secrets} {
			l.failures[k] = append(since(l.failures[k], now.Add(-time.Hour)), now)
		}
		if len(l.failures) > maxAddresses {
			l.forget(now)
		}
	}
}

// wait says how long a key must wait for its failures.
func (l *SignInLimiter) wait(key string, kind keyKind, now time.Time) (wait time.Duration) {
	list, most := since(l.failures[key], now.Add(-time.Hour)), l.perMinute(kind)
	if n := len(list); n >= most*HourlyFactor {
		wait = max(wait, list[n-most*HourlyFactor].Add(time.Hour).Sub(now))
	}
	if minute := since(list, now.Add(-time.Minute)); len(minute) >= most {
		wait = max(wait, minute[len(minute)-most].Add(time.Minute).Sub(now))
	}
	return wait
}

// Begin counts an attempt as failed before it is made, so that attempts made at
// once cannot outrun the limit. account is the name that is tried, "" for none.
// ok is false when the address or the account must wait; else call succeeded if
// the attempt was a good one, which takes it back.
func (l *SignInLimiter) Begin(address, account string) (succeeded func(), wait time.Duration, ok bool) {
	keys := []string{network(address)} // by keyKind
	if account != "" {
		sum := sha256.Sum256([]byte(CanonicalName(account))) // of any length, and no address
		keys = append(keys, string(sum[:]), keys[0]+" "+string(sum[:]))
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[string][]time.Time{}
	}
	for kind, key := range keys {
		wait = max(wait, l.wait(key, keyKind(kind), now))
	}
	if wait > 0 {
		return nil, wait, false
	}
	for _, key := range keys {
		l.failures[key] = append(since(l.failures[key], now.Add(-time.Hour)), now)
	}
	if len(l.failures) > maxAddresses {
		l.forget(now)
	}
	return func() {
		for _, key := range keys {
			l.uncount(key, now)
		}
	}, 0, true
}

func (l *SignInLimiter) uncount(key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.failures[key]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Equal(at) {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(l.failures, key)
	} else {
		l.failures[key] = list
	}
}

// forget drops what is out of date and then, while there is too much, the
// addresses that were quiet longest.
func (l *SignInLimiter) forget(now time.Time) {
	for _, age := range []time.Duration{time.Hour, time.Minute, 0} {
		for key, list := range l.failures {
			if !list[len(list)-1].After(now.Add(-age)) && len(l.failures) > maxAddresses/2 {
				delete(l.failures, key)
			}
		}
		if len(l.failures) <= maxAddresses {
			return
		}
	}
}

// since returns the end of a list from the first time after t on.
func since(list []time.Time, t time.Time) []time.Time {
	for i, at := range list {
		if at.After(t) {
			return list[i:]
		}
	}
	return nil
}

// network is what counts as one address: a host of IPv4 or a /64 of IPv6.
func network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		prefix, err := addr.Prefix(64)
		if err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}
