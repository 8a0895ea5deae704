package command

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// Result is the stored outcome of a command.
type Result struct {
	Status  int          `json:"status"`
	Outcome wire.Outcome `json:"outcome"`

	Retry     time.Duration `json:"-"` // with 429 and 503
	temporary bool          // the outcome may differ next time, so it is not stored
}

// onceOnly runs each command of a user once. It responds to a repetition with the stored outcome.
type onceOnly struct {
	store Store

	mu      sync.Mutex          // protects following
	running map[string]*running // by user id and command id
}

type running struct {
	done chan struct{} // closed when end is set
	end  Result
}

func newOnceOnly(store Store) *onceOnly {
	return &onceOnly{store: store, running: map[string]*running{}}
}

// do runs a command, or returns the outcome of an earlier or concurrent run. With
// withoutStore, it also runs while the store fails.
func (o *onceOnly) do(ctx context.Context, userID, commandID string, withoutStore bool, run func() Result) Result {
	key := userID + "/" + commandID
	o.mu.Lock()
	if r, ok := o.running[key]; ok {
		o.mu.Unlock()
		select {
		case <-r.done:
			return r.end
		case <-ctx.Done():
			return unavailable()
		}
	}
	r := &running{done: make(chan struct{}), end: unavailable()}
	o.running[key] = r
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.running, key)
		o.mu.Unlock()
		close(r.done)
	}()
	r.end = o.lookUpOrRun(ctx, userID, commandID, withoutStore, run)
	return r.end
}

func (o *onceOnly) lookUpOrRun(ctx context.Context, userID, commandID string, withoutStore bool, run func() Result) Result {
	var end Result
	asking, done := storeContext(ctx, withoutStore)
	stored, err := o.store.Command(asking, userID, commandID)
	done()
	switch {
	case err == nil && json.Unmarshal(stored, &end) == nil:
		return end
	case err != nil && !errors.Is(err, account.ErrNotFound) && !withoutStore:
		return unavailable()
	}
	end = run()
	if end.temporary {
		return end
	}
	// The command has run even if its ack cannot be stored. The ids derived from it make a
	// repetition harmless.
	saving, done := storeContext(ctx, withoutStore)
	defer done()
	kept, err := o.store.SaveCommand(saving, userID, commandID, wire.Encode(end), time.Now())
	var first Result
	if err == nil && json.Unmarshal(kept, &first) == nil {
		return first
	}
	return end
}

// storeContext returns the context of a store call. If the command can run without the store,
// the call ends after storeTimeout.
func storeContext(ctx context.Context, withoutStore bool) (context.Context, context.CancelFunc) {
	if !withoutStore {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, storeTimeout)
}

func unavailable() Result {
	r := refusal.GoingAway()
	return Result{Status: r.Status, temporary: true, Retry: r.Retry, Outcome: wire.Outcome{Result: wire.Rejected, Error: &r.Body}}
}
