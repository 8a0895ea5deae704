package account

import (
	"context"
	"errors"
	"time"
)

const (
	// recallFor is how long somebody stays known while the store cannot say whether they
	// still may: whoever is signed in can end sessions then.
	recallFor = 10 * time.Minute
	// recallAfter is how long the store may take to say so about somebody who is known.
	recallAfter = 300 * time.Millisecond
	// maxKnown bounds who is known, in credentials.
	maxKnown = 10_000
)

// known is who held a credential when the store was last asked.
type known struct {
	id Identity
	at time.Time
}

// remember notes who holds a credential, by its hash.
func (d *Directory) remember(hash []byte, id Identity, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxKnown {
		clear(d.known)
	}
	d.known[string(hash)] = known{id, at}
}

// forget lets go of what is known of a credential.
func (d *Directory) forget(hash []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, string(hash))
}

// forgetAll lets go of all that is known, after a credential was revoked or a role
// changed.
func (d *Directory) forgetAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.known)
}

// recall returns who held a credential a short time ago.
func (d *Directory) recall(kind CredentialKind, hash []byte, now time.Time) (Identity, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.known[string(hash)]
	return k.id, ok && k.id.Credential.Kind == kind && k.id.Credential.live(now) && now.Sub(k.at) < recallFor
}

// identify returns who holds a credential. While the store is out of order, that is who
// held it a short time ago.
func (d *Directory) identify(ctx context.Context, kind CredentialKind, hash []byte) (Identity, error) {
	now := time.Now()
	before, ok := d.recall(kind, hash, now)
	asking := ctx
	if ok {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, recallAfter)
		defer cancel()
	}
	id, err := d.lookUp(asking, kind, hash, now)
	switch {
	case err == nil:
		d.remember(hash, id, now)
	case errors.Is(err, ErrRefused):
		d.forget(hash)
	case ok && ctx.Err() == nil:
		return before, nil
	}
	return id, err
}
