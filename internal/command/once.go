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

// Result is how a command ended, as it is stored.
type Result struct {
	Status  int          `json:"status"`
	Outcome wire.Outcome `json:"outcome"`

	Retry   time.Duration `json:"-"` // with 429 and 503
	passing bool          // the same command may end otherwise next time, so it is not stored
}

// onceOnly carries out a command of a user once and answers repetitions from
// what is stored.
type onceOnly struct {
	store Store

	mu      sync.Mutex          // protects following
	running map[string]*running // by user and command
}

type running struct {
	done chan struct{} // closed when end is set
	end  Result
}

func newOnceOnly(store Store) *onceOnly {
	return &onceOnly{store: store, running: map[string]*running{}}
}

// do carries out a command, also while the store is out of order if anyway is set.
func (o *onceOnly) do(ctx context.Context, userID, commandID string, anyway bool, run func() Result) Result {
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
	r.end = o.lookUpOrRun(ctx, userID, commandID, anyway, run)
	return r.end
}

func (o *onceOnly) lookUpOrRun(ctx context.Context, userID, commandID string, anyway bool, run func() Result) Result {
	var end Result
	asking, done := patient(ctx, anyway)
	stored, err := o.store.Command(asking, userID, commandID)
	done()
	switch {
	case err == nil && json.Unmarshal(stored, &end) == nil:
		return end
	case err != nil && !errors.Is(err, account.ErrNotFound) && !anyway:
		return unavailable()
	}
	end = run()
	if end.passing {
		return end
	}
	// What was done is done, also when its ack cannot be kept: the ids that
	// follow from the command make a repetition harmless.
	saving, done := patient(ctx, anyway)
	defer done()
	kept, err := o.store.SaveCommand(saving, userID, commandID, wire.Encode(end), time.Now())
	var first Result
	if err == nil && json.Unmarshal(kept, &first) == nil {
		return first
	}
	return end
}

// patient returns the context of a call to the store. Where the command goes on without
// it, the call ends after storePatience.
func patient(ctx context.Context, anyway bool) (context.Context, context.CancelFunc) {
	if !anyway {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, storePatience)
}

func unavailable() Result {
	r := refusal.GoingAway()
	return Result{Status: r.Status, passing: true, Retry: r.Retry, Outcome: wire.Outcome{Result: wire.Rejected, Error: &r.Body}}
}
