package account

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// CeremonyKeySize is the size of the key of ceremonies, in bytes.
const CeremonyKeySize = 32

// Ceremonies are the sign-ins in two steps of all servers of a database. What the second step needs is in
// the browser, sealed with a key that every server has.
type Ceremonies interface {
	// CeremonyKey returns the key.
	CeremonyKey(ctx context.Context) ([CeremonyKeySize]byte, error)
	// FinishCeremony reports whether a ceremony is finished for the first time, and before it expires.
	// One clock decides that for all servers.
	FinishCeremony(ctx context.Context, ceremonyID []byte, expiresAt time.Time) (first bool, err error)
}

// MemoryCeremonies are the Ceremonies of a single server, in its memory: a restart ends all. The zero value
// is ready.
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
