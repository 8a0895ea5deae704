package account_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is an account.Store without a disk. The engines have a contract suite
// of their own; this one serves the rules above them.
type memory struct {
	mu          sync.Mutex
	users       []account.User
	credentials []account.Credential
	agents      []account.AgentToken
	passwords   map[string]string
	passkeys    []account.Passkey
	incidents   [][]byte
	links       []account.Link
	touches     int
	hangs       atomic.Bool // credentials are never found, nor missed
}

func (m *memory) PutUser(_ context.Context, u account.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.users {
		if m.users[i].UserID == u.UserID {
			m.users[i] = u
			return nil
		}
	}
	m.users = append(m.users, u)
	return nil
}

func (m *memory) User(_ context.Context, userID string) (account.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user(userID)
}

func (m *memory) user(userID string) (account.User, error) {
	for _, u := range m.users {
		if u.UserID == userID {
			return u, nil
		}
	}
	return account.User{}, account.ErrNotFound
}

func (m *memory) Users(context.Context) ([]account.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]account.User(nil), m.users...), nil
}

func (m *memory) AddCredential(_ context.Context, c account.Credential) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credentials = append(m.credentials, c)
	return nil
}

// endBound ends what is bound to a credential that has ended.
func (m *memory) endBound() {
	for again := true; again; {
		again = false
		for i, c := range m.credentials {
			ended := slices.ContainsFunc(m.credentials, func(p account.Credential) bool {
				return p.CredentialID == c.ParentID && p.Revoked && (p.Kind != account.SignInLink || m.ended(p.ParentID))
			})
			if c.Bound && !c.Revoked && ended {
				m.credentials[i].Revoked, again = true, true
			}
		}
	}
}

func (m *memory) ended(credentialID string) bool {
	return slices.ContainsFunc(m.credentials, func(c account.Credential) bool { return c.CredentialID == credentialID && c.Revoked })
}

func (m *memory) CredentialByID(_ context.Context, credentialID string) (account.Credential, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.credentials {
		if c.CredentialID == credentialID {
			return c, nil
		}
	}
	return account.Credential{}, account.ErrNotFound
}

func (m *memory) live(kind account.CredentialKind, hash []byte, now time.Time) *account.Credential {
	for i := range m.credentials {
		c := &m.credentials[i]
		if c.Kind == kind && bytes.Equal(c.Hash, hash) && !c.Revoked && (c.ExpiresAt.IsZero() || now.Before(c.ExpiresAt)) {
			if u, _ := m.user(c.UserID); u.Disabled {
				return nil
			}
			return c
		}
	}
	return nil
}

func (m *memory) ChangeUser(_ context.Context, userID string, c account.UserChange) (account.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.endBound()
	u, err := m.user(userID)
	if err != nil {
		return u, err
	}
	if c.Name != nil {
		u.Name = *c.Name
	}
	if c.Role != nil {
		u.Role = *c.Role
	}
	if c.Disabled != nil {
		u.Disabled = *c.Disabled
	}
	admins := 0
	for i, other := range m.users {
		if other.UserID == userID {
			defer func() { m.users[i] = u }()
			other = u
		}
		if other.Role == account.Admin && !other.Disabled {
			admins++
		}
	}
	if before, _ := m.user(userID); admins == 0 && before.Role == account.Admin {
		u = before
		return account.User{}, account.ErrLastAdmin
	}
	first := !slices.ContainsFunc(m.passkeys, func(p account.Passkey) bool { return p.UserID == userID }) && m.passwords[userID] == ""
	if p := c.Password; c.Unclaimed && !first || p != nil && p.From != nil && *p.From != m.passwords[userID] {
		u, _ = m.user(userID)
		return account.User{}, account.ErrChanged
	}
	endSignIns := func(keep string) {
		for i, other := range m.credentials {
			if other.UserID == userID && other.Kind != account.APIToken && other.CredentialID != keep {
				m.credentials[i].Revoked = true
			}
		}
	}
	if p := c.Passkey; p != nil {
		m.passkeys = append(m.passkeys, p.Passkey)
		endSignIns(p.KeepCredentialID)
	}
	if p := c.Password; p != nil {
		if m.passwords == nil {
			m.passwords = map[string]string{}
		}
		m.passwords[userID], u.HasPassword = p.To, p.To != ""
		u.PasswordBy, u.PasswordAt = p.By, p.At
		endSignIns(p.KeepCredentialID)
	}
	for i, other := range m.credentials {
		if other.UserID == userID && u.Disabled {
			m.credentials[i].Revoked = true
		}
	}
	return u, nil
}

func (m *memory) Password(_ context.Context, userID string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.user(userID); err != nil {
		return "", err
	}
	return m.passwords[userID], nil
}

func (m *memory) Credential(ctx context.Context, kind account.CredentialKind, hash []byte, now time.Time) (account.Credential, account.User, error) {
	if m.hangs.Load() {
		<-ctx.Done()
		return account.Credential{}, account.User{}, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.live(kind, hash, now)
	if c == nil {
		return account.Credential{}, account.User{}, account.ErrNotFound
	}
	u, err := m.user(c.UserID)
	return *c, u, err
}

func (m *memory) UseOnce(_ context.Context, kind account.CredentialKind, hash []byte, now time.Time) (account.Credential, account.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.live(kind, hash, now)
	if c == nil {
		return account.Credential{}, account.User{}, account.ErrNotFound
	}
	c.Revoked = true
	u, err := m.user(c.UserID)
	return *c, u, err
}

func (m *memory) Credentials(_ context.Context, userID string) ([]account.Credential, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []account.Credential
	for _, c := range m.credentials {
		if userID == "" || c.UserID == userID {
			list = append(list, c)
		}
	}
	return list, nil
}

func (m *memory) RevokeCredential(_ context.Context, credentialID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.credentials {
		if m.credentials[i].CredentialID == credentialID {
			m.credentials[i].Revoked = true
			m.endBound()
			return nil
		}
	}
	return account.ErrNotFound
}

func (m *memory) Touch(context.Context, string, time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touches++
	return nil
}

func (m *memory) AddAgentToken(_ context.Context, t account.AgentToken) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents = append(m.agents, t)
	return nil
}

func (m *memory) AgentToken(_ context.Context, hash []byte, now time.Time) (account.AgentToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.agents {
		if bytes.Equal(t.Hash, hash) && t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)) {
			return t, nil
		}
	}
	return account.AgentToken{}, account.ErrNotFound
}

func (m *memory) AgentTokens(context.Context, string) ([]account.AgentToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]account.AgentToken(nil), m.agents...), nil
}

func (m *memory) RevokeAgentTokens(_ context.Context, sessionID string, at time.Time) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.agents {
		if t := &m.agents[i]; t.SessionID == sessionID && t.RevokedAt.IsZero() {
			t.RevokedAt = at
			n++
		}
	}
	return n, nil
}

func (m *memory) Command(context.Context, string, string) ([]byte, error) {
	return nil, account.ErrNotFound
}

func (m *memory) SaveCommand(_ context.Context, _, _ string, ack []byte, _ time.Time) ([]byte, error) {
	return ack, nil
}

func (m *memory) AddPasskey(_ context.Context, p account.Passkey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.passkeys {
		if bytes.Equal(known.KeyID, p.KeyID) {
			return account.ErrExists
		}
	}
	m.passkeys = append(m.passkeys, p)
	return nil
}

func (m *memory) Passkeys(_ context.Context, userID string) (list []account.Passkey, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.passkeys {
		if userID == "" || p.UserID == userID {
			list = append(list, p)
		}
	}
	return list, nil
}

func (m *memory) UsePasskey(_ context.Context, passkeyID string, signCount uint32, data []byte, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.passkeys {
		p := &m.passkeys[i]
		if p.PasskeyID != passkeyID {
			continue
		}
		if signCount <= p.SignCount && (signCount != 0 || p.SignCount != 0) {
			return account.ErrCloned
		}
		p.SignCount, p.Data, p.LastUsedAt = signCount, data, at
		return nil
	}
	return account.ErrNotFound
}

func (m *memory) RemovePasskey(_ context.Context, userID, passkeyID, keep string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range m.passkeys {
		if p.PasskeyID == passkeyID && p.UserID == userID {
			m.passkeys = append(m.passkeys[:i:i], m.passkeys[i+1:]...)
			for j := range m.credentials {
				if c := &m.credentials[j]; c.MethodID == passkeyID && c.CredentialID != keep {
					c.Revoked = true
				}
			}
			return nil
		}
	}
	return account.ErrNotFound
}

func (m *memory) AddIncident(_ context.Context, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incidents = append(m.incidents, body)
	return nil
}

func (m *memory) LinkedUser(_ context.Context, issuer, subject string) (account.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		if l.Issuer == issuer && l.Subject == subject {
			return m.user(l.UserID)
		}
	}
	return account.User{}, account.ErrNotFound
}

func (m *memory) AddLinkedUser(_ context.Context, u account.User, l account.Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.links {
		if known.Issuer == l.Issuer && known.Subject == l.Subject {
			return account.ErrExists
		}
	}
	m.users, m.links = append(m.users, u), append(m.links, l)
	return nil
}

func (m *memory) AddLink(_ context.Context, l account.Link, _ []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.links {
		if known.Issuer == l.Issuer && known.Subject == l.Subject {
			return account.ErrExists
		}
	}
	m.links = append(m.links, l)
	return nil
}

func (m *memory) Links(_ context.Context, userID string) (list []account.Link, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		if l.UserID == userID {
			list = append(list, l)
		}
	}
	return list, nil
}

func (m *memory) RemoveLink(_ context.Context, l account.Link, _ string, _ []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.links)
	m.links = slices.DeleteFunc(m.links, func(known account.Link) bool { return known == l })
	if len(m.links) == before {
		return account.ErrNotFound
	}
	return nil
}

func (m *memory) Linked(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.links) > 0, nil
}
