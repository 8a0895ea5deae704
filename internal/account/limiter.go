package account

import (
	"cmp"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

// Limits are the failed sign-ins allowed in a minute. In an hour, HourlyFactor times as
// many are allowed.
type Limits struct {
	// PerAccount applies to one account from one address. From all addresses together
	// AccountFactor times as many are allowed, so that somebody elsewhere who guesses
	// does not soon lock out the owner.
	PerAccount int
	// PerAddress applies to all accounts from one address, which an office may share.
	PerAddress int
}

// DefaultLimits replace zero fields of [Limits].
var DefaultLimits = Limits{PerAccount: 2, PerAddress: 30}

// Factors for the [Limits].
const (
	HourlyFactor  = 6
	AccountFactor = 5
)

// maxAddresses bounds the memory of a [SignInLimiter]: beyond it, the addresses and
// accounts with the oldest failures are dropped.
const maxAddresses = 10_000

// A SignInLimiter slows down guessing. It counts failures for each address (for IPv6,
// each /64 network), each account, and each account from each address. Accounts are
// compared by canonical name. The zero value is ready and has the [DefaultLimits].
// Methods are safe for concurrent use.
type SignInLimiter struct {
	mu       sync.Mutex
	limits   Limits                 // zero fields mean those of DefaultLimits
	failures map[string][]time.Time // key → times within the last hour, oldest first
	accepted map[string]bool        // hashes of secrets that were accepted
	refused  map[string]time.Time   // address and hash of a refused secret → when it was counted
}

// secretsSuffix marks the key that counts only refused secrets of an address, so that
// guessing passwords does not delay holders of tokens.
const secretsSuffix = " secrets"

// SetLimits replaces the limits.
func (l *SignInLimiter) SetLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

// perMinute returns the limit of a key. The caller holds mu.
func (l *SignInLimiter) perMinute(kind keyKind) int {
	limits := Limits{PerAccount: cmp.Or(l.limits.PerAccount, DefaultLimits.PerAccount), PerAddress: cmp.Or(l.limits.PerAddress, DefaultLimits.PerAddress)}
	switch kind {
	case pairKey:
		return limits.PerAccount
	case accountKey:
		return limits.PerAccount * AccountFactor
	default:
		return limits.PerAddress
	}
}

// keyKind is what a key counts failures of.
type keyKind int

const (
	addressKey keyKind = iota
	accountKey
	pairKey
)

// TokenWait returns how long a refused 256-bit secret must wait, or 0. Callers do not
// ask for accepted secrets, so failures of others at the same address delay no valid
// token. A failure that is already counted does not wait either.
func (l *SignInLimiter) TokenWait(address string, hash []byte) time.Duration {
	key, now := networkOf(address), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.accepted[string(hash)] || now.Sub(l.refused[key+" "+string(hash)]) < time.Hour {
		return 0
	}
	return l.waitTime(key+secretsSuffix, addressKey, now)
}

// RecordToken records whether a secret was valid. The same wrong secret counts once, so
// that a script with an expired token locks out nobody.
func (l *SignInLimiter) RecordToken(address string, hash []byte, isValid bool) {
	key, now := networkOf(address), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[string][]time.Time{}
	}
	if l.accepted == nil {
		l.accepted, l.refused = map[string]bool{}, map[string]time.Time{}
	}
	pair := key + " " + string(hash)
	switch {
	case l.accepted[string(hash)], now.Sub(l.refused[pair]) < time.Hour:
	case isValid:
		if len(l.accepted) >= maxAddresses {
			clear(l.accepted) // they are added again when used
		}
		l.accepted[string(hash)] = true
	default:
		if len(l.refused) >= maxAddresses {
			clear(l.refused)
		}
		l.refused[pair] = now
		for _, k := range []string{key, key + secretsSuffix} {
			l.failures[k] = append(timesAfter(l.failures[k], now.Add(-time.Hour)), now)
		}
		if len(l.failures) > maxAddresses {
			l.evict(now)
		}
	}
}

// waitTime returns how long a key must wait. The caller holds mu.
func (l *SignInLimiter) waitTime(key string, kind keyKind, now time.Time) (waitTime time.Duration) {
	list, limit := timesAfter(l.failures[key], now.Add(-time.Hour)), l.perMinute(kind)
	if n := len(list); n >= limit*HourlyFactor {
		waitTime = max(waitTime, list[n-limit*HourlyFactor].Add(time.Hour).Sub(now))
	}
	if minute := timesAfter(list, now.Add(-time.Minute)); len(minute) >= limit {
		waitTime = max(waitTime, minute[len(minute)-limit].Add(time.Minute).Sub(now))
	}
	return waitTime
}

// BeginAttempt counts an attempt as failed in advance, so that parallel attempts cannot
// exceed the limit. account is the given name, or "". If ok is false, the caller must
// wait; otherwise it calls succeeded after a success, which removes the failure.
func (l *SignInLimiter) BeginAttempt(address, account string) (succeeded func(), wait time.Duration, ok bool) {
	keys := []string{networkOf(address)} // by keyKind
	if account != "" {
		sum := sha256.Sum256([]byte(CanonicalName(account))) // of fixed length, and never equal to an address
		keys = append(keys, string(sum[:]), keys[0]+" "+string(sum[:]))
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[string][]time.Time{}
	}
	for kind, key := range keys {
		wait = max(wait, l.waitTime(key, keyKind(kind), now))
	}
	if wait > 0 {
		return nil, wait, false
	}
	for _, key := range keys {
		l.failures[key] = append(timesAfter(l.failures[key], now.Add(-time.Hour)), now)
	}
	if len(l.failures) > maxAddresses {
		l.evict(now)
	}
	return func() {
		for _, key := range keys {
			l.removeFailure(key, now)
		}
	}, 0, true
}

func (l *SignInLimiter) removeFailure(key string, at time.Time) {
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

// evict drops outdated failures and then, while there are too many keys, those with the
// oldest last failure. The caller holds mu.
func (l *SignInLimiter) evict(now time.Time) {
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

// timesAfter returns the part of a sorted list after t.
func timesAfter(list []time.Time, t time.Time) []time.Time {
	for i, at := range list {
		if at.After(t) {
			return list[i:]
		}
	}
	return nil
}

// networkOf returns what counts as one address: an IPv4 host or an IPv6 /64.
func networkOf(address string) string {
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
