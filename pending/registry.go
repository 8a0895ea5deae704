package pending

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
)

const (
	// settleTimeout bounds every write that must outlive the context of its caller. It is longer
	// than a busy database or a failover takes, and short enough for a kill.
	settleTimeout = 5 * time.Second
	// settleRetryDelay is the first delay between two attempts to settle.
	settleRetryDelay = 50 * time.Millisecond
	// rereadDelay and maxRereadDelay bound the delays between the reads of a waiter that was
	// woken while the store failed.
	rereadDelay    = time.Second
	maxRereadDelay = 30 * time.Second
	// MaxWait bounds the deadline that [Registry.Extend] sets, from the creation of the
	// request.
	MaxWait = 30 * time.Minute
)

// Notifier announces that a session changed. It is the part of session.Notifier that this
// package needs.
type Notifier interface {
	// Notify must not block on the work of listeners.
	Notify(sessionID string)
}

// Registry is where askers wait and people answer. It has no policy: it never answers on a
// person's behalf.
//
// The row in the [Store] decides. The Registry only holds the waiters of this process, so
// several registries can share one store.
//
// The requests that it returns share memory; treat them as read-only.
type Registry struct {
	store    Store
	notifier Notifier
	// notifyOpened announces a new request.
	notifyOpened func(sessionID, requestID string)
	// notifyDeferred announces a change after the asker here had time to pass it on.
	notifyDeferred func(sessionID string)
	*waiting
}

// waiting is the state that registries with different views of one store share.
type waiting struct {
	mu        sync.Mutex
	byRequest map[string]map[*waiter]struct{}
	bySession map[string]map[*waiter]struct{}

	// unsettled are requests whose asker has stopped waiting while the store failed.
	unsettled map[string]*unsettledEnd

	// held wakes RunHolds for a hold that it may not know. Its capacity is 1.
	held chan struct{}
}

// NewRegistry returns a registry over store that calls notifier after every change. If
// notifier also has NotifyDeferred, the registry calls that for changes that an asker must get
// first; if it has NotifyOpened, the registry calls that for new requests.
func NewRegistry(store Store, notifier Notifier) *Registry {
	notifyDeferred := notifier.Notify
	if n, ok := notifier.(interface{ NotifyDeferred(sessionID string) }); ok {
		notifyDeferred = n.NotifyDeferred
	}
	notifyOpened := func(sessionID, _ string) { notifier.Notify(sessionID) }
	if n, ok := notifier.(interface {
		NotifyOpened(sessionID, requestID string)
	}); ok {
		notifyOpened = n.NotifyOpened
	}
	return &Registry{
		store:          store,
		notifier:       notifier,
		notifyOpened:   notifyOpened,
		notifyDeferred: notifyDeferred,
		waiting: &waiting{
			byRequest: map[string]map[*waiter]struct{}{},
			bySession: map[string]map[*waiter]struct{}{},
			unsettled: map[string]*unsettledEnd{},
			held:      make(chan struct{}, 1),
		},
	}
}

// WithStore returns the same registry for askers that write through another view of the store,
// which refuses their writes once the lease of their runner is lost. An answer reaches the
// waiters of both.
func (r *Registry) WithStore(view Store) *Registry {
	other := *r
	other.store = view
	return &other
}

// Ask opens the request, or finds it if it was asked before, and blocks until it is resolved.
// Every Ask of one request returns the same resolution, even if the request is already resolved.
//
// The error is nil if and only if something other than the end of ctx resolved the returned row.
// Its Status may then still be [Withdrawn] or [Expired], without an Answer.
//
// If ctx ends first, its cause decides the status of the row, and is returned as the error:
// [ErrDeadline] and [context.DeadlineExceeded] make it [Expired]; [ErrAskerDied] makes it,
// and the other open requests of its session, [Orphaned]; [ErrDetached] leaves it unchanged;
// any other cause makes it [Withdrawn], with the cause as the reason. A caller that ends Asks
// with ErrAskerDied must let them return before the session gets another process. If the store
// keeps failing for settleTimeout, its error is joined and the row stays open until
// [Registry.Recover].
//
// A row that the database has lost is stored again: see [Registry.Recover].
//
// A request with an ExpiresAt expires at that time, which [Registry.Extend] can move. Ask
// returns [ErrConflict] if another request has the id, and [ErrNotFound] if the row was
// deleted meanwhile.
func (r *Registry) Ask(ctx context.Context, req Request) (Request, error) {
	if req.RequestID == "" || req.SessionID == "" {
		return Request{}, errors.New("pending: ask: request and session need an id")
	}
	req.InputHash = HashInput(req.ToolInput)
	req.Status, req.Delivery, req.Resolution = Open, NotDelivered, nil
	if req.CreatedAt.IsZero() {
		req.CreatedAt = time.Now()
	}

	// Added before the row exists, so that an answer right after the row becomes visible
	// finds the waiter.
	w := r.addWaiter(req.SessionID, req.RequestID)
	defer r.removeWaiter(w)

	row, err := r.open(ctx, req)
	if err != nil {
		return Request{}, fmt.Errorf("pending: ask %s: %w", req.RequestID, err)
	}

	var reread <-chan time.Time
	expiry := time.NewTimer(forever)
	defer expiry.Stop()
	var armed time.Time // the deadline of the expiry timer
	pause := rereadDelay
	for !row.Status.Final() {
		if !row.ExpiresAt.Equal(armed) {
			armed = row.ExpiresAt
			expiry.Reset(timeUntil(armed))
		}
		select {
		case row = <-w.handed:
			continue
		case <-ctx.Done():
			return r.settle(ctx, w, row, context.Cause(ctx))
		case <-expiry.C:
			// The deadline may have been moved without notice to this registry.
			if now, err := r.store.Request(ctx, req.RequestID); err == nil && !now.Status.Final() && !now.ExpiresAt.Equal(armed) {
				row = now
				continue
			}
			row, err := r.settle(ctx, w, row, ErrDeadline)
			if row.Status.Final() {
				return row, nil
			}
			return row, err
		case <-w.woken:
			pause = rereadDelay
		case <-reread:
			pause = min(2*pause, maxRereadDelay)
		}
		reread = nil
		now, err := r.store.Request(ctx, req.RequestID)
		if errors.Is(err, ErrNotFound) {
			// Deleted with its session, or lost because the database was restored from an
			// earlier state. In the latter case it is stored again, because its asker still waits.
			missing := err
			if now, err = r.open(ctx, req); err != nil && !IsTemporary(err) && ctx.Err() == nil {
				return row, fmt.Errorf("pending: ask %s: %w", req.RequestID, missing)
			}
		}
		if err == nil {
			row = now
		} else {
			// Nothing may wake this waiter again for a change that this read missed.
			reread = time.After(pause)
		}
	}
	return row, nil
}

// open stores the request and notifies. If the store returns an error, it may still have stored
// the request, so open reads the row.
func (r *Registry) open(ctx context.Context, req Request) (Request, error) {
	row, opened, err := r.store.OpenRequest(ctx, req)
	if err != nil && !errors.Is(err, ErrConflict) {
		if ctx.Err() != nil {
			return req, nil // Ask settles the row
		}
		again, cancel := withSettleTimeout(ctx)
		defer cancel()
		found, rerr := r.store.Request(again, req.RequestID)
		switch {
		case rerr == nil:
			row, opened, err = found, true, nil
		case !errors.Is(rerr, ErrNotFound):
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		return Request{}, err
	}
	if row.SessionID != req.SessionID || row.RequestType != req.RequestType ||
		row.ToolName != req.ToolName || row.InputHash != req.InputHash {
		return Request{}, ErrConflict
	}
	if opened {
		r.notifyOpened(req.SessionID, req.RequestID)
	}
	return row, nil
}

// settle ends the row because its asker has stopped waiting. If the request was resolved
// first, that resolution is returned without an error.
func (r *Registry) settle(ctx context.Context, w *waiter, row Request, cause error) (Request, error) {
	select {
	case row = <-w.handed:
		return row, nil
	default:
	}
	failed := fmt.Errorf("pending: ask %s: %w", w.requestID, cause)
	if errors.Is(cause, ErrDetached) {
		return row, failed
	}
	status, reason := ending(cause)
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	for pause := settleRetryDelay; ; pause *= 2 {
		now, mine, err := r.tryEnd(ctx, w, Resolution{Status: status, Reason: reason, At: time.Now()})
		switch {
		case err == nil && now.Status.Final() && !mine:
			return now, nil
		case err == nil:
			return now, failed
		case errors.Is(err, ErrNotFound):
			return row, failed // deleted: nothing to settle
		}
		select {
		case row = <-w.handed:
			return row, nil
		case <-time.After(pause):
		case <-ctx.Done():
			if status != Orphaned { // the caller orphans all requests of a session in one change
				r.leaveUnsettled(w, Resolution{Status: status, Reason: reason, At: time.Now()})
			}
			return row, errors.Join(failed, fmt.Errorf("pending: settle %s: %w", w.requestID, err))
		}
	}
}

// unsettledEnd is the end of a request that could not be stored.
type unsettledEnd struct {
	registry  *Registry // whose store the asker used
	sessionID string
	end       Resolution
}

func (r *Registry) leaveUnsettled(w *waiter, end Resolution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsettled[w.requestID] = &unsettledEnd{r, w.sessionID, end}
}

// Recover catches up after the store has failed. It settles the requests whose askers gave up
// meanwhile, and makes every waiter read its row again and store it if the store has lost it.
func (r *Registry) Recover(ctx context.Context) {
	r.WakeAll()
	r.mu.Lock()
	left := maps.Clone(r.unsettled)
	r.mu.Unlock()
	for requestID, u := range left {
		r.mu.Lock()
		current := r.unsettled[requestID] == u
		r.mu.Unlock()
		if !current {
			continue // asked again while earlier ones were settled
		}
		if _, _, err := u.registry.resolve(ctx, u.sessionID, requestID, u.end); IsTemporary(err) {
			continue // retried by the next Recover
		}
		r.mu.Lock()
		if r.unsettled[requestID] == u {
			delete(r.unsettled, requestID)
		}
		r.mu.Unlock()
	}
}

// tryEnd makes one attempt to settle. It returns the row, and whether this attempt resolved
// it.
func (r *Registry) tryEnd(ctx context.Context, w *waiter, res Resolution) (now Request, mine bool, err error) {
	if res.Status != Orphaned {
		return r.resolve(ctx, w.sessionID, w.requestID, res)
	}
	if _, err := r.Orphan(ctx, w.sessionID, res.Reason); err != nil {
		return Request{}, false, err
	}
	now, err = r.store.Request(ctx, w.requestID)
	return now, false, err
}

// Carry resolves req, which repeats a request of a dead process, with the answer that a person
// gave to that request, whose id is from; see [Store.CarryAnswer]. If there is no such answer,
// carried is false and nothing changes.
func (r *Registry) Carry(ctx context.Context, req Request, from string) (settled Request, carried bool, err error) {
	req.InputHash = HashInput(req.ToolInput)
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	settled, carried, err = r.store.CarryAnswer(ctx, req, from)
	if err != nil {
		// A store may lose its reply after it has committed; repeating the call finds out.
		settled, carried, err = r.store.CarryAnswer(ctx, req, from)
	}
	if err != nil {
		return Request{}, false, fmt.Errorf("pending: carry the answer of %s: %w", from, err)
	}
	if carried {
		r.notifier.Notify(req.SessionID)
	}
	return settled, carried, nil
}

// Answer validates a person's submission against the stored request and resolves it. It
// returns the current row, and
//
//   - nil when the answer was applied, now or earlier by the same command of the same person,
//   - a [NotOpenError] when the request was resolved otherwise,
//   - nil for the first of two approvals, with the row still open; [ErrAnotherNeeded] when the
//     same person approves once more,
//   - nil for an answer that is held, with the row still open; a [HeldError] while another
//     answer is held, unless this one denies what that one approves; [ErrUndone] for one that
//     was undone,
//   - [ErrNotFound] for an unknown request or one of another session,
//   - [ErrStale] when the answer was given for another input,
//   - a [problem.Error] that is [ErrInvalid] when it does not match the question.
//
// After any other error it is unknown whether the answer was stored; the same command may be
// repeated.
func (r *Registry) Answer(ctx context.Context, s Submission) (Request, error) {
	row, err := s.Seen, error(nil)
	if row.RequestID != s.RequestID || row.SessionID != s.SessionID {
		row, err = r.read(ctx, s.SessionID, s.RequestID)
	}
	if err != nil {
		return Request{}, fmt.Errorf("pending: answer %s: %w", s.RequestID, err)
	}
	if s.CommandID == "" {
		// Without a key, a write with an unknown outcome could not be distinguished from
		// another person's.
		s.CommandID = uuid.NewString()
	}
	res := Resolution{Status: Answered, Actor: s.Actor, At: time.Now(), CommandID: s.CommandID}
	if row.Status.Final() {
		r.deliver(row)
		if endedWith(row, res) {
			return row, nil
		}
		return row, &NotOpenError{Request: row}
	}
	if done, err := checkHeld(row, s); done || err != nil {
		return row, err
	}
	if s.InputHash != "" && s.InputHash != row.InputHash {
		return row, fmt.Errorf("pending: answer %s: %w", s.RequestID, ErrStale)
	}
	if s.Actor.UserID == "" {
		return row, problem.New("answer_needs_person")
	}
	answer, err := Normalise(row, s)
	if err != nil {
		return row, err
	}
	res.Answer = &answer
	if answer.Decision == Deny {
		res.Status = Denied
	}
	if ctx.Err() != nil {
		return row, fmt.Errorf("pending: answer %s: %w", s.RequestID, context.Cause(ctx))
	}
	if s.RequireSecondApproval && answer.Decision == Allow && row.RequestType == ToolApproval {
		return r.approveFirst(ctx, row, s, res)
	}
	// From here on the answer must survive the connection that it came over.
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	const maxAttempts = 100 // others may hold and undo answers meanwhile
	for range maxAttempts {
		now, err := r.tryAnswer(ctx, row, s, res)
		if !errors.Is(err, errSuperseded) {
			return now, err
		}
		if done, err := checkHeld(now, s); done || err != nil {
			return now, err
		}
		row = now
	}
	return row, fmt.Errorf("pending: answer %s: %w", s.RequestID, ErrUnavailable)
}

// tryAnswer makes one attempt to resolve a request by an answer, or to hold the answer. A
// denial that ends another person's hold counts at once. It returns errSuperseded when a hold
// was added or removed since row was read, or the command was undone.
func (r *Registry) tryAnswer(ctx context.Context, row Request, s Submission, res Resolution) (Request, error) {
	if row.Held.YieldsTo(res.Answer.Decision) {
		res.Overrules = row.Held
	} else if until := res.At.Add(s.Hold); s.Hold > 0 && (row.ExpiresAt.IsZero() || until.Before(row.ExpiresAt)) {
		return r.storeHold(ctx, row, Held{Actor: s.Actor, At: res.At, Until: until, CommandID: s.CommandID, Answer: *res.Answer, CredentialID: s.CredentialID})
	}
	now, mine, err := r.resolve(ctx, row.SessionID, row.RequestID, res)
	switch {
	case errors.Is(err, ErrNotFound):
		return Request{}, fmt.Errorf("pending: answer %s: %w", s.RequestID, ErrNotFound)
	case errors.Is(err, errSuperseded):
		return now, err
	case err != nil:
		return row, fmt.Errorf("pending: answer %s: %w", s.RequestID, err)
	case !mine:
		return now, &NotOpenError{Request: now}
	}
	return now, nil
}

func wrapIf(err error, wrap func(error) error) error {
	if err == nil {
		return nil
	}
	return wrap(err)
}

// errSuperseded: the row is still answerable, but not by this resolution: the first approval
// is gone, or another answer is held.
var errSuperseded = errors.New("the request was changed meanwhile")

// Extend moves the deadline of a request by a duration, to at most [MaxWait] after its
// creation, and returns the new deadline, which also applies to its waiters. It returns a
// [NotOpenError] for a resolved request, and a [problem.Error] that is [problem.CannotExtend]
// if the deadline cannot be moved.
func (r *Registry) Extend(ctx context.Context, requestID string, by time.Duration) (time.Time, error) {
	row, err := r.store.Request(ctx, requestID)
	if err != nil {
		return time.Time{}, fmt.Errorf("pending: extend %s: %w", requestID, err)
	}
	to, last := row.ExpiresAt.Add(by), row.CreatedAt.Add(MaxWait)
	if to.After(last) {
		to = last
	}
	switch {
	case row.Status.Final():
		return time.Time{}, &NotOpenError{Request: row}
	case row.ExpiresAt.IsZero():
		return time.Time{}, problem.New("no_deadline")
	case !to.After(row.ExpiresAt):
		return row.ExpiresAt, problem.New("deadline_at_maximum")
	}
	now, extended, err := r.store.ExtendRequest(ctx, requestID, to)
	if extended || err != nil {
		r.notifier.Notify(row.SessionID) // after an error too, because the change may be stored
	}
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("pending: extend %s: %w", requestID, err)
	case now.Status.Final():
		r.deliver(now)
		return time.Time{}, &NotOpenError{Request: now}
	}
	r.wake(requestID)
	return now.ExpiresAt, nil
}

// Request returns one request of a session, or [ErrNotFound], also for one of another
// session.
func (r *Registry) Request(ctx context.Context, sessionID, requestID string) (Request, error) {
	row, err := r.read(ctx, sessionID, requestID)
	if err != nil {
		return Request{}, fmt.Errorf("pending: request %s: %w", requestID, err)
	}
	return row, nil
}

// Open returns the requests of a session that can be answered ([Open] and [Orphaned]), oldest
// first. An empty sessionID selects all sessions.
func (r *Registry) Open(ctx context.Context, sessionID string) ([]Request, error) {
	rows, err := r.store.AnswerableRequests(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("pending: open requests of %q: %w", sessionID, err)
	}
	return rows, nil
}

// HasOpen reports whether a live asker of the session waits for a person. Orphaned requests
// do not count, because they block nobody.
func (r *Registry) HasOpen(ctx context.Context, sessionID string) (bool, error) {
	rows, err := r.Open(ctx, sessionID)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if row.Status == Open {
			return true, nil
		}
	}
	return false, nil
}

// read returns a request of this session. It does not reveal that a request exists in another
// session.
func (r *Registry) read(ctx context.Context, sessionID, requestID string) (Request, error) {
	row, err := r.store.Request(ctx, requestID)
	if err != nil {
		return Request{}, err
	}
	if row.SessionID != sessionID {
		return Request{}, ErrNotFound
	}
	return row, nil
}

// resolve is the only way in which a request ends: the compare-and-set, then the hand-over to
// the waiters here, then the notifier. It returns the final row, and whether res is its
// resolution. errSuperseded means that nothing changed; after any other error except
// [ErrNotFound] the outcome is unknown.
func (r *Registry) resolve(ctx context.Context, sessionID, requestID string, res Resolution) (now Request, mine bool, err error) {
	now, won, err := r.store.ResolveRequest(ctx, requestID, res)
	switch {
	case errors.Is(err, ErrNotFound):
		return Request{}, false, err
	case err != nil:
		// A store may lose its reply after it has committed.
		defer r.notifier.Notify(sessionID)
		again, cancel := withSettleTimeout(ctx)
		defer cancel()
		var rerr error
		now, rerr = r.store.Request(again, requestID)
		if rerr != nil {
			r.wake(requestID)
			return Request{}, false, errors.Join(err, rerr)
		}
		if !now.Status.Final() {
			return now, false, err
		}
		won = endedWith(now, res)
	case !now.Status.Final() && res.Answer != nil:
		return now, false, errSuperseded
	case !now.Status.Final():
		return now, false, fmt.Errorf("store left request %s %s", requestID, now.Status)
	case won:
		notify := r.notifier.Notify
		if r.hasWaiter(requestID) {
			notify = r.notifyDeferred
		}
		defer notify(sessionID)
	}
	r.deliver(now)
	// Let the waiter run here and now, before the listeners are notified: on another processor
	// it would first have to wait for that processor to wake up.
	runtime.Gosched()
	return now, won || res.CommandID != "" && endedWith(now, res), nil
}

// endedWith reports whether the row ended with res: by the same command or, without a person,
// in the same way.
func endedWith(row Request, res Resolution) bool {
	if row.Resolution == nil {
		return false
	}
	if res.CommandID == "" {
		return row.Status == res.Status
	}
	return row.Resolution.CommandID == res.CommandID && row.Resolution.Actor.UserID == res.Actor.UserID
}

// forever is longer than any server runs.
const forever = 100 * 365 * 24 * time.Hour

// timeUntil returns the time to a deadline; a zero deadline never comes.
func timeUntil(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return forever
	}
	return time.Until(deadline)
}

// withSettleTimeout returns a context for work that must finish even if the caller is gone.
func withSettleTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}
