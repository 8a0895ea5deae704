package account

import (
	"context"
	"errors"
	"time"
)

const (
	// recallTTL is how long an identity stays valid while the store fails, so that
	// people who are signed in can end sessions.
	recallTTL = 10 * time.Minute
	// recallTimeout is how long the store may take to confirm a recalled identity.
	recallTimeout = 300 * time.Millisecond
	// maxRecalled bounds the recalled identities.
	maxRecalled = 10_000
)

// recalledIdentity is the holder of a credential as the store returned it at a time.
type recalledIdentity struct {
	id Identity
	at time.Time
}

// remember stores the holder of a credential, by its hash.
func (d *Directory) remember(hash []byte, id Identity, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.recalled) >= maxRecalled {
		clear(d.recalled)
	}
	d.recalled[string(hash)] = recalledIdentity{id, at}
}

// forget removes the recalled holder of a credential.
func (d *Directory) forget(hash []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.recalled, string(hash))
}

// forgetAll removes all recalled identities, after a credential was revoked or a user
// changed.
func (d *Directory) forgetAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.recalled)
}

// recall returns the recent holder of a credential.
func (d *Directory) recall(kind CredentialKind, hash []byte, now time.Time) (Identity, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.recalled[string(hash)]
	return k.id, ok && k.id.Credential.Kind == kind && k.id.Credential.isLive(now) && now.Sub(k.at) < recallTTL
}

// identify returns the holder of a credential. While the store fails, it returns the
// recalled one.
func (d *Directory) identify(ctx context.Context, kind CredentialKind, hash []byte) (Identity, error) {
	now := time.Now()
	recalled, isRecalled := d.recall(kind, hash, now)
	lookUpCtx := ctx
	if isRecalled {
		var cancel context.CancelFunc
		lookUpCtx, cancel = context.WithTimeout(ctx, recallTimeout)
		defer cancel()
	}
	id, err := d.lookUp(lookUpCtx, kind, hash, now)
	switch {
	case err == nil:
		d.remember(hash, id, now)
	case errors.Is(err, ErrRefused):
		d.forget(hash)
	case isRecalled && ctx.Err() == nil:
		return recalled, nil
	}
	return id, err
}
