package account

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// CeremonyKeySize is the size of the ceremony key, in bytes.
const CeremonyKeySize = 32

// Ceremonies coordinates the two-step sign-ins of all servers that share a database. The browser
// keeps the state between the steps, sealed with a key that the servers share.
type Ceremonies interface {
	// CeremonyKey returns that key.
	CeremonyKey(ctx context.Context) ([CeremonyKeySize]byte, error)
	// FinishCeremony marks a ceremony as finished. first is true if it was not finished before and
	// has not expired, by one clock for all servers.
	FinishCeremony(ctx context.Context, ceremonyID []byte, expiresAt time.Time) (first bool, err error)
}

// MemoryCeremonies implements [Ceremonies] in the memory of a single server: a restart ends all
// ceremonies. The zero value is ready to use.
type MemoryCeremonies struct {
	mu       sync.Mutex // protects following
	key      *[CeremonyKeySize]byte
	finished map[string]time.Time // expiry by id
}

// CeremonyKey implements [Ceremonies]. It does not fail.
func (m *MemoryCeremonies) CeremonyKey(context.Context) ([CeremonyKeySize]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil {
		m.key = new([CeremonyKeySize]byte)
		_, _ = rand.Read(m.key[:]) // never fails
	}
	return *m.key, nil
}

// FinishCeremony implements [Ceremonies]. It does not fail.
func (m *MemoryCeremonies) FinishCeremony(_ context.Context, ceremonyID []byte, expiresAt time.Time) (first bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for id, expiry := range m.finished {
		if !now.Before(expiry) {
			delete(m.finished, id)
		}
	}
	if _, again := m.finished[string(ceremonyID)]; again || !now.Before(expiresAt) {
		return false, nil
	}
	if m.finished == nil {
		m.finished = map[string]time.Time{}
	}
	m.finished[string(ceremonyID)] = expiresAt
	return true, nil
}
