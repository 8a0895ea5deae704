package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/grants"
	"github.com/sayso-dev/sayso/pending"
)

// revokedWithin is how long after its commit a revocation is still noticed. It includes the
// difference between the clocks of servers.
const revokedWithin = time.Hour

// revocations keeps a running CLI from using grants that were revoked since it started.
type revocations struct {
	o        *node
	log      *slog.Logger
	client   func() *claude.Client // nil while none is connected
	applying chan struct{}         // held while the CLI receives the revoked rules; capacity 1, never closed

	mu   sync.Mutex
	list grants.Revoked // revoked grants that the CLI may still apply
}

func (rv *revocations) add(g pending.Grant) {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	rv.list.Add(g)
}

func (rv *revocations) len() int {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	return rv.list.Len()
}

// approval is [grants.Revoked.Approval].
func (rv *revocations) approval(updates json.RawMessage, granted []pending.Grant) (json.RawMessage, []pending.Grant) {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	return rv.list.Approval(updates, granted)
}

// askAgain makes the CLI ask for what the revoked rules allowed.
func (rv *revocations) askAgain(ctx context.Context) error {
	client := rv.client()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, rv.o.rules().Limits.Reply)
	defer cancel()
	select { // one call at a time, so that an older list never arrives last
	case rv.applying <- struct{}{}:
		defer func() { <-rv.applying }()
	case <-ctx.Done():
		return ctx.Err()
	}
	rv.mu.Lock()
	settings := rv.list.Settings()
	rv.mu.Unlock()
	if err := client.ApplySettings(ctx, settings); err != nil {
		return fmt.Errorf("orchestrator: make Claude ask again: %w", err)
	}
	return nil
}

// settle records that the CLI has received an approval that makes it forget grants.
func (rv *revocations) settle(ctx context.Context, settled []pending.Grant) {
	if len(settled) == 0 {
		return
	}
	rv.mu.Lock()
	rv.list.Settle(settled)
	rv.mu.Unlock()
	if err := rv.askAgain(ctx); err != nil && !errors.Is(err, claude.ErrClosed) && !errors.Is(err, ErrNotRunning) {
		rv.log.WarnContext(ctx, "cannot update the rules of a session; Claude may ask for what is granted", "error", err)
	}
}

// restore makes an adopted process ask again for what was revoked since it started, which only the
// earlier server remembered. The clock of the server that revoked a grant may have been behind that
// of the server that started the process, so restore includes grants that seem to have been revoked
// up to revokedWithin before.
func (rv *revocations) restore(ctx context.Context, started time.Time, p grants.Process) {
	if started.IsZero() {
		return
	}
	list, err := rv.o.o.Store.Grants(ctx, pending.GrantQuery{RevokedSince: started.Add(-revokedWithin)})
	if err != nil {
		rv.log.ErrorContext(ctx, "cannot read which grants were revoked", "error", err)
		return
	}
	for _, g := range list {
		if g.Kind == pending.GrantMode {
			continue
		}
		if obeys, err := p.Obeys(ctx, g); obeys || err != nil { // if that is unknown, Claude asks
			rv.add(g)
		}
	}
	if rv.len() == 0 {
		return
	}
	if err := rv.askAgain(ctx); err != nil {
		rv.log.WarnContext(ctx, "Claude may still apply revoked rules", "error", err)
	}
}

// grantUses counts uses of grants until the store has recorded them.
type grantUses struct {
	mu     sync.Mutex
	counts map[string]int // by grant id
}

func (u *grantUses) add(grantIDs []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range grantIDs {
		if u.counts == nil {
			u.counts = map[string]int{}
		}
		u.counts[id]++
	}
}

// take returns the uses counted since the last call, with now as their time.
func (u *grantUses) take(now time.Time) (uses []pending.GrantUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, n := range u.counts {
		uses = append(uses, pending.GrantUse{GrantID: id, Uses: n, LastAt: now})
	}
	u.counts = nil
	return uses
}
