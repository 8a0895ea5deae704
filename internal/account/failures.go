package account

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Failures counts the failed sign-ins of the last hour, for all servers that share a database.
type Failures interface {
	// CountFailure counts a failure under all keys. If one of them has reached its limit, it counts
	// nothing and returns the longest wait of the keys. Calls that share a key are serialized.
	CountFailure(ctx context.Context, failureID string, keys ...FailureKey) (wait time.Duration, err error)
	// FailureWait returns how long an attempt under a key must wait, or 0.
	FailureWait(ctx context.Context, key FailureKey) (time.Duration, error)
	// ForgetFailure removes a failure that CountFailure has counted under these keys.
	ForgetFailure(ctx context.Context, failureID string, keys ...FailureKey) error
}

// FailureKey identifies whose failures are counted, such as those of an address or an account.
type FailureKey struct {
	Key string // any bytes
	// PerMinute is how many failures are allowed in a minute; HourlyFactor times as many are
	// allowed in an hour. 0 counts failures without a limit.
	PerMinute int
}

// maxAddresses bounds the memory of a [MemoryFailures] and a [SignInLimiter]: beyond it, the
// addresses and accounts with the oldest failures are dropped.
const maxAddresses = 10_000

// MemoryFailures implements [Failures] in the memory of a single server. The zero value is ready
// to use.
type MemoryFailures struct {
	mu       sync.Mutex
	failures map[string][]failure // key → those within the last hour, oldest first
}

type failure struct {
	id string
	at time.Time
}

// CountFailure implements [Failures]. It does not fail.
func (m *MemoryFailures) CountFailure(_ context.Context, failureID string, keys ...FailureKey) (wait time.Duration, err error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		wait = max(wait, m.waitTime(key, now))
	}
	if wait > 0 {
		return wait, nil
	}
	if m.failures == nil {
		m.failures = map[string][]failure{}
	}
	for _, key := range keys {
		m.failures[key.Key] = append(failuresAfter(m.failures[key.Key], now.Add(-time.Hour)), failure{failureID, now})
	}
	if len(m.failures) > maxAddresses {
		m.evict(now)
	}
	return 0, nil
}

// FailureWait implements [Failures]. It does not fail.
func (m *MemoryFailures) FailureWait(_ context.Context, key FailureKey) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waitTime(key, time.Now()), nil
}

// waitTime returns how long an attempt under a key must wait. The caller holds mu.
func (m *MemoryFailures) waitTime(key FailureKey, now time.Time) (wait time.Duration) {
	if key.PerMinute == 0 {
		return 0
	}
	list, limit := failuresAfter(m.failures[key.Key], now.Add(-time.Hour)), key.PerMinute
	if n := len(list); n >= limit*HourlyFactor {
		wait = max(wait, list[n-limit*HourlyFactor].at.Add(time.Hour).Sub(now))
	}
	if minute := failuresAfter(list, now.Add(-time.Minute)); len(minute) >= limit {
		wait = max(wait, minute[len(minute)-limit].at.Add(time.Minute).Sub(now))
	}
	return wait
}

// ForgetFailure implements [Failures]. It does not fail.
func (m *MemoryFailures) ForgetFailure(_ context.Context, failureID string, keys ...FailureKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		list := slices.DeleteFunc(slices.Clone(m.failures[key.Key]), func(f failure) bool { return f.id == failureID })
		if len(list) == 0 {
			delete(m.failures, key.Key)
		} else {
			m.failures[key.Key] = list
		}
	}
	return nil
}

// evict drops outdated failures and then, while there are too many keys, those with the
// oldest last failure. The caller holds mu.
func (m *MemoryFailures) evict(now time.Time) {
	for _, age := range []time.Duration{time.Hour, time.Minute, 0} {
		for key, list := range m.failures {
			if !list[len(list)-1].at.After(now.Add(-age)) && len(m.failures) > maxAddresses/2 {
				delete(m.failures, key)
			}
		}
		if len(m.failures) <= maxAddresses {
			return
		}
	}
}

// failuresAfter returns the part of a sorted list after t.
func failuresAfter(list []failure, t time.Time) []failure {
	for i, f := range list {
		if f.at.After(t) {
			return list[i:]
		}
	}
	return nil
}
