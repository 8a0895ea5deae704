package account

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MintAgent creates a token with which the named agent can ask in a session, and
// returns its secret, which is not stored. ttl 0 means no expiry. It returns
// [ErrNotFound] for an unknown session.
func (d *Directory) MintAgent(ctx context.Context, sessionID, name string, ttl time.Duration) (secret string, err error) {
	secret, err = newSecret()
	if err != nil {
		return "", err
	}
	return secret, d.addAgent(ctx, secret, AgentToken{SessionID: sessionID, Name: name}, ttl)
}

func (d *Directory) addAgent(ctx context.Context, secret string, t AgentToken, ttl time.Duration) error {
	now := time.Now()
	t.TokenID, t.Hash, t.CreatedAt = uuid.NewString(), Hash(secret), now
	if ttl > 0 {
		t.ExpiresAt = now.Add(ttl)
	}
	if err := d.store.AddAgentToken(ctx, t); err != nil {
		return fmt.Errorf("account: mint token of an agent: %w", err)
	}
	return nil
}

// MintStream is MintAgent for an agent whose token is the UUID of a stream, valid for
// one project. It is as hard to guess, but appears in URLs, so it should expire.
func (d *Directory) MintStream(ctx context.Context, sessionID, name string, project int64, ttl time.Duration) (streamToken string, err error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("account: mint stream: %w", err)
	}
	return id.String(), d.addAgent(ctx, id.String(), AgentToken{SessionID: sessionID, Name: name, StreamProject: &project}, ttl)
}

// ParseStreamProject parses the project number of a stream from the values of a URL
// parameter; ok is false unless there is exactly one number.
func ParseStreamProject(values []string) (number int64, ok bool) {
	if len(values) != 1 || values[0] == "" || strings.Trim(values[0], "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseInt(values[0], 10, 64)
	return number, err == nil
}

// Agent returns the live token of a secret, or [ErrRefused].
func (d *Directory) Agent(ctx context.Context, secret string) (AgentToken, error) {
	hash := Hash(secret)
	t, err := d.store.AgentToken(ctx, hash, time.Now())
	if err != nil {
		return AgentToken{}, refusedError("identify agent", err)
	}
	if subtle.ConstantTimeCompare(t.Hash, hash) != 1 {
		return AgentToken{}, fmt.Errorf("account: identify agent: %w", ErrRefused)
	}
	return t, nil
}

// RevokeAgents revokes all tokens of a session.
func (d *Directory) RevokeAgents(ctx context.Context, sessionID string) error {
	if _, err := d.store.RevokeAgentTokens(ctx, sessionID, time.Now()); err != nil {
		return fmt.Errorf("account: revoke tokens of agents: %w", err)
	}
	return nil
}
