package account

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Limits are the failed sign-ins allowed in a minute. In an hour, HourlyFactor times as
// many are allowed.
type Limits struct {
	// PerAccount applies to one account from one address. From all addresses together,
	// AccountFactor times as many are allowed, so that somebody who guesses from another
	// address does not quickly lock out the owner.
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

// A SignInLimiter slows down guessing. It counts failures for each address (for IPv6,
// each /64 network), each account, and each account from each address. Accounts are
// compared by canonical name. The zero value is ready to use, with [DefaultLimits].
// Methods are safe for concurrent use.
type SignInLimiter struct {
	// Failures counts the failures; nil counts them in the memory of this server. It must not
	// change.
	Failures Failures

	memory   MemoryFailures
	mu       sync.Mutex           // protects following
	limits   Limits               // zero fields default to DefaultLimits
	accepted map[string]bool      // hashes of secrets that were accepted
	refused  map[string]time.Time // address and hash of a refused secret → when it was counted
}

// secretsSuffix marks the key that counts only the refused secrets from an address, so that
// guessing passwords does not delay holders of tokens.
const secretsSuffix = " secrets"

// SetLimits replaces the limits.
func (l *SignInLimiter) SetLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

func (l *SignInLimiter) counter() Failures {
	if l.Failures != nil {
		return l.Failures
	}
	return &l.memory
}

// key returns a key with its limit.
func (l *SignInLimiter) key(key string, kind keyKind) FailureKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	limits := Limits{PerAccount: cmp.Or(l.limits.PerAccount, DefaultLimits.PerAccount), PerAddress: cmp.Or(l.limits.PerAddress, DefaultLimits.PerAddress)}
	switch kind {
	case pairKey:
		return FailureKey{key, limits.PerAccount}
	case accountKey:
		return FailureKey{key, limits.PerAccount * AccountFactor}
	default:
		return FailureKey{key, limits.PerAddress}
	}
}

// keyKind is whose failures a key counts, which decides its limit.
type keyKind int

const (
	addressKey keyKind = iota
	accountKey
	pairKey
)

// TokenWait returns how long a refused 256-bit secret must wait, or 0. Callers do not call it
// for accepted secrets, so failures of other people at the same address delay no valid token.
// A secret whose failure this server has already counted need not wait either.
func (l *SignInLimiter) TokenWait(ctx context.Context, address string, hash []byte) (time.Duration, error) {
	network := networkOf(address)
	if l.knows(network, hash) {
		return 0, nil
	}
	return l.counter().FailureWait(ctx, l.key(network+secretsSuffix, addressKey))
}

// knows reports whether a secret was accepted, or refused at this address within the last hour.
func (l *SignInLimiter) knows(network string, hash []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accepted[string(hash)] || time.Since(l.refused[network+" "+string(hash)]) < time.Hour
}

// RecordToken records whether a secret was valid. Each server counts the same wrong secret from
// an address once an hour, so that a script with an expired token locks out nobody.
func (l *SignInLimiter) RecordToken(ctx context.Context, address string, hash []byte, isValid bool) error {
	network := networkOf(address)
	if l.knows(network, hash) {
		return nil
	}
	l.mu.Lock()
	if l.accepted == nil {
		l.accepted, l.refused = map[string]bool{}, map[string]time.Time{}
	}
	if isValid {
		if len(l.accepted) >= maxAddresses {
			clear(l.accepted) // secrets are added again when used
		}
		l.accepted[string(hash)] = true
	} else {
		if len(l.refused) >= maxAddresses {
			clear(l.refused)
		}
		l.refused[network+" "+string(hash)] = time.Now()
	}
	l.mu.Unlock()
	if isValid {
		return nil
	}
	_, err := l.counter().CountFailure(ctx, uuid.NewString(), FailureKey{Key: network}, FailureKey{Key: network + secretsSuffix})
	return err
}

// BeginAttempt counts an attempt as failed in advance, so that parallel attempts cannot
// exceed the limit. account is the given name, or "". If wait is not 0, the caller must
// wait. Otherwise it calls succeeded after a success, which removes the failure. If that
// call fails, the failure only counts toward the limits of the next hour.
func (l *SignInLimiter) BeginAttempt(ctx context.Context, address, account string) (succeeded func() error, wait time.Duration, err error) {
	network := networkOf(address)
	keys := []FailureKey{l.key(network, addressKey)}
	if account != "" {
		sum := sha256.Sum256([]byte(CanonicalName(account))) // of fixed length, and never equal to an address
		keys = append(keys, l.key(string(sum[:]), accountKey), l.key(network+" "+string(sum[:]), pairKey))
	}
	id := uuid.NewString()
	wait, err = l.counter().CountFailure(ctx, id, keys...)
	if err != nil || wait > 0 {
		return nil, wait, err
	}
	return func() error { return l.counter().ForgetFailure(context.WithoutCancel(ctx), id, keys...) }, 0, nil
}

// networkOf returns the network that counts as one address: an IPv4 host or an IPv6 /64.
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
