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
	// settleTime bounds every write that must outlive the context of its caller:
	// longer than a busy database or a failover of one, short enough for a kill.
	settleTime = 5 * time.Second
	// settlePause is the first pause between two attempts to settle.
	settlePause = 50 * time.Millisecond
	// rereadPause and rereadPauseMax space the reads of a waiter that was woken
	// while the store was out of order.
	rereadPause    = time.Second
	rereadPauseMax = 30 * time.Second
	// MaxWait is how long after its creation a request may end at the latest by
	// [Registry.Extend].
	MaxWait = 30 * time.Minute
)

// Notifier announces that a session changed; the part of session.Notifier that this package
// needs.
type Notifier interface {
	// Notify never blocks on a listener's work.
	Notify(sessionID string)
}

// Registry is where askers wait and people answer. It has no policy: nobody
// answers on a person's behalf here.
//
// The row in the [Store] is the truth. The Registry keeps only who waits in this
// process, so that any number of them can share one store.
//
// Requests that it returns share memory with each other; treat them as read-only.
type Registry struct {
	store    Store
	notifier Notifier
	// notifyDeferred announces what an asker who waits here has first to pass on.
	notifyDeferred func(sessionID string)

	mu        sync.Mutex
	byRequest map[string]map[*waiter]struct{}
	bySession map[string]map[*waiter]struct{}

	// unsettled are requests whose asker waits no longer, and whose row the store could
	// not take that from.
	unsettled map[string]*unsettled

	// held says that an answer is held that RunHolds may not know. A buffer of one.
	held chan struct{}
}

// NewRegistry returns a registry over store that calls notifier after every
// change. One that also has NotifyDeferred gets by that what an asker hears first.
func NewRegistry(store Store, notifier Notifier) *Registry {
	notifyDeferred := notifier.Notify
	if n, ok := notifier.(interface{ NotifyDeferred(sessionID string) }); ok {
		notifyDeferred = n.NotifyDeferred
	}
	return &Registry{
		store:          store,
		notifier:       notifier,
		notifyDeferred: notifyDeferred,
		byRequest:      map[string]map[*waiter]struct{}{},
		bySession:      map[string]map[*waiter]struct{}{},
		unsettled:      map[string]*unsettled{},
		held:           make(chan struct{}, 1),
	}
}

// Ask opens the request, or finds it when it was asked before, and blocks until
// it is resolved. Every Ask of one request gets the same resolution, also one
// that comes after it.
//
// The error is nil exactly when the returned row is resolved and it was not the
// end of ctx that did so; its Status may then still be [Withdrawn] or [Expired]
// with no Answer.
//
// When ctx ends first, the row is settled by the cause of ctx and the error is
// that cause: [ErrDeadline] or [context.DeadlineExceeded] make it [Expired];
// [ErrAskerDied] makes it, and the other open requests of its session,
// [Orphaned]; [ErrDetached] leaves it as it is; anything else makes it
// [Withdrawn] for the reason that the cause states. Whoever ends Asks with
// ErrAskerDied lets them return before the session gets another process. If the
// store cannot settle the row for some seconds, its error is joined and the row
// is left open until [Registry.Recover].
//
// A row that the database has lost is stored again: see [Registry.Recover].
//
// An ExpiresAt expires the request by itself, at the time that it has then: see
// [Registry.Extend]. [ErrConflict] says that the id
// belongs to another request, [ErrNotFound] that the row was deleted meanwhile.
func (r *Registry) Ask(ctx context.Context, req Request) (Request, error) {
	if req.RequestID == "" || req.SessionID == "" {
		return Request{}, errors.New("pending: ask: request and session need an id")
	}
	req.InputHash = HashInput(req.ToolInput)
	req.Status, req.Delivery, req.Resolution = Open, NotDelivered, nil
	if req.CreatedAt.IsZero() {
		req.CreatedAt = time.Now()
	}

	// Enlisted before the row exists: an answer given in the instant after the
	// row is visible finds the waiter.
	w := r.addWaiter(req.SessionID, req.RequestID)
	defer r.removeWaiter(w)

	row, err := r.open(ctx, req)
	if err != nil {
		return Request{}, fmt.Errorf("pending: ask %s: %w", req.RequestID, err)
	}

	var reread <-chan time.Time
	expiry := time.NewTimer(forever)
	defer expiry.Stop()
	var armed time.Time // the deadline that expiry is set to
	pause := rereadPause
	for !row.Status.Final() {
		if !row.ExpiresAt.Equal(armed) {
			armed = row.ExpiresAt
			expiry.Reset(until(armed))
		}
		select {
		case row = <-w.handed:
			continue
		case <-ctx.Done():
			return r.settle(ctx, w, row, context.Cause(ctx))
		case <-expiry.C:
			// Somebody may have moved the deadline where this registry did not see it.
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
			pause = rereadPause
		case <-reread:
			pause = min(2*pause, rereadPauseMax)
		}
		reread = nil
		now, err := r.store.Request(ctx, req.RequestID)
		if errors.Is(err, ErrNotFound) {
			// Deleted with its session, or lost by a database that was set back to an
			// earlier state: then it is stored again, for its asker waits for it.
			missing := err
			if now, err = r.open(ctx, req); err != nil && !IsTemporary(err) && ctx.Err() == nil {
				return row, fmt.Errorf("pending: ask %s: %w", req.RequestID, missing)
			}
		}
		if err == nil {
			row = now
		} else {
			// Nobody may notify again for a change that this read missed.
			reread = time.After(pause)
		}
	}
	return row, nil
}

// open stores the request and notifies. A store that fails may have stored it all
// the same, so the row decides.
func (r *Registry) open(ctx context.Context, req Request) (Request, error) {
	row, opened, err := r.store.OpenRequest(ctx, req)
	if err != nil && !errors.Is(err, ErrConflict) {
		if ctx.Err() != nil {
			return req, nil // Ask settles what there is
		}
		again, cancel := bounded(ctx)
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
		r.notifier.Notify(req.SessionID)
	}
	return row, nil
}

// settle ends the row because its asker waits no longer. A resolution that was
// first is returned without an error.
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
	ctx, cancel := bounded(ctx)
	defer cancel()
	for pause := settlePause; ; pause *= 2 {
		now, mine, err := r.end(ctx, w, Resolution{Status: status, Reason: reason, At: time.Now()})
		switch {
		case err == nil && now.Status.Final() && !mine:
			return now, nil
		case err == nil:
			return now, failed
		case errors.Is(err, ErrNotFound):
			return row, failed // deleted: nothing is left to settle
		}
		select {
		case row = <-w.handed:
			return row, nil
		case <-time.After(pause):
		case <-ctx.Done():
			if status != Orphaned { // the orphans of a session are one change, for who drives it
				r.leaveUnsettled(w, Resolution{Status: status, Reason: reason, At: time.Now()})
			}
			return row, errors.Join(failed, fmt.Errorf("pending: settle %s: %w", w.requestID, err))
		}
	}
}

// unsettled is how a request ended for its asker.
type unsettled struct {
	sessionID string
	end       Resolution
}

func (r *Registry) leaveUnsettled(w *waiter, end Resolution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsettled[w.requestID] = &unsettled{w.sessionID, end}
}

// Recover makes up for the time in which the store was out of order: what askers gave up
// meanwhile is settled, and everybody who waits looks at their row again, which is stored
// once more where the store has lost it.
func (r *Registry) Recover(ctx context.Context) {
	r.mu.Lock()
	left := maps.Clone(r.unsettled)
	for _, waiters := range r.byRequest {
		for w := range waiters {
			w.wake()
		}
	}
	r.mu.Unlock()
	for requestID, u := range left {
		if _, _, err := r.resolve(ctx, u.sessionID, requestID, u.end); IsTemporary(err) {
			continue // the next recovery
		}
		r.mu.Lock()
		if r.unsettled[requestID] == u {
			delete(r.unsettled, requestID)
		}
		r.mu.Unlock()
	}
}

// end makes one attempt to settle. It reports the row as it stands and whether
// this attempt made it so.
func (r *Registry) end(ctx context.Context, w *waiter, res Resolution) (now Request, mine bool, err error) {
	if res.Status != Orphaned {
		return r.resolve(ctx, w.sessionID, w.requestID, res)
	}
	if _, err := r.Orphan(ctx, w.sessionID, res.Reason); err != nil {
		return Request{}, false, err
	}
	now, err = r.store.Request(ctx, w.requestID)
	return now, false, err
}

// Carry gives req, which is asked anew, the answer that a person gave to the
// request from and that its asker died without hearing; see [Store.CarryAnswer].
// carried is false when there is no such answer, and then nothing has changed.
func (r *Registry) Carry(ctx context.Context, req Request, from string) (settled Request, carried bool, err error) {
	req.InputHash = HashInput(req.ToolInput)
	ctx, cancel := bounded(ctx)
	defer cancel()
	settled, carried, err = r.store.CarryAnswer(ctx, req, from)
	if err != nil {
		// A store may lose its reply after it has committed: the same again tells.
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

// Answer holds a person's submission against the stored request and resolves
// it. It returns the row as it stands, and
//
//   - nil when the answer was applied, now or before by the same command of the
//     same person,
//   - a [NotOpenError] when the request was resolved otherwise,
//   - nil for the first of two approvals, with the row still open; [ErrAnotherNeeded]
//     when the same person approves once more,
//   - nil for an answer that is held, with the row still open; a [HeldError] while
//     another answer is, unless this one denies what that approves;
//     [ErrUndone] for one that was taken back,
//   - [ErrNotFound] for an unknown request as for one of another session,
//   - [ErrStale] when the answer was given to another input,
//   - a [problem.Error] that is [ErrInvalid] when it does not fit the question.
//
// After any other error it is unknown whether the answer was stored; the same
// command may be repeated.
func (r *Registry) Answer(ctx context.Context, s Submission) (Request, error) {
	row, err := s.Seen, error(nil)
	if row.RequestID != s.RequestID || row.SessionID != s.SessionID {
		row, err = r.read(ctx, s.SessionID, s.RequestID)
	}
	if err != nil {
		return Request{}, fmt.Errorf("pending: answer %s: %w", s.RequestID, err)
	}
	if s.CommandID == "" {
		// Without a key, a write whose outcome the store does not know could not
		// be told from somebody else's.
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
		return r.approve(ctx, row, s, res)
	}
	// From here on the answer is worth more than the connection it came over.
	ctx, cancel := bounded(ctx)
	defer cancel()
	const tries = 100 // somebody may hold answers and take them back meanwhile
	for range tries {
		now, err := r.give(ctx, row, s, res)
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

// give makes one attempt to resolve a request by an answer, or to hold it. A denial
// that ends what somebody holds counts at once. The error is errSuperseded when a hold
// came or went since row was read, or the command was taken back.
func (r *Registry) give(ctx context.Context, row Request, s Submission, res Resolution) (Request, error) {
	if row.Held.Yields(res.Answer.Decision) {
		res.Overrules = row.Held
	} else if until := res.At.Add(s.Hold); s.Hold > 0 && (row.ExpiresAt.IsZero() || until.Before(row.ExpiresAt)) {
		return r.hold(ctx, row, Held{Actor: s.Actor, At: res.At, Until: until, CommandID: s.CommandID, Answer: *res.Answer, CredentialID: s.CredentialID})
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

func wrapped(err error, wrap func(error) error) error {
	if err == nil {
		return nil
	}
	return wrap(err)
}

// errSuperseded: the row is as answerable as before, but not by this resolution: the
// approval to which it is the second is gone, or another answer is held.
var errSuperseded = errors.New("the request was changed meanwhile")

// Extend moves the deadline of a request by a time, at most to [MaxWait] after
// its creation, and returns the new one. Who waits for the request waits as long.
// A resolved request gives a [NotOpenError], one whose deadline cannot be moved an
// [problem.Error] that is [problem.CannotExtend].
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
		r.notifier.Notify(row.SessionID) // after an error too: it may have been done
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

// Request returns one request of a session as it stands; [ErrNotFound] also for
// one of another session.
func (r *Registry) Request(ctx context.Context, sessionID, requestID string) (Request, error) {
	row, err := r.read(ctx, sessionID, requestID)
	if err != nil {
		return Request{}, fmt.Errorf("pending: request %s: %w", requestID, err)
	}
	return row, nil
}

// Open returns the requests of a session that can be answered, [Open] and
// [Orphaned], oldest first; of all sessions when sessionID is "".
func (r *Registry) Open(ctx context.Context, sessionID string) ([]Request, error) {
	rows, err := r.store.AnswerableRequests(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("pending: open requests of %q: %w", sessionID, err)
	}
	return rows, nil
}

// HasOpen reports whether a living asker of the session waits for a person.
// Orphaned requests do not count: they block nobody.
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

// read returns a request of this session. That a request exists in another
// session is not to be learned.
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

// resolve is the one way in which a request ends: the compare-and-set, then the
// hand-over to the waiters here, then the notifier. It returns the row as it stands,
// always final, and whether res is what it ended with. An error leaves the
// outcome open.
func (r *Registry) resolve(ctx context.Context, sessionID, requestID string, res Resolution) (now Request, mine bool, err error) {
	now, won, err := r.store.ResolveRequest(ctx, requestID, res)
	switch {
	case errors.Is(err, ErrNotFound):
		return Request{}, false, err
	case err != nil:
		// A store may lose its reply after it has committed.
		defer r.notifier.Notify(sessionID)
		again, cancel := bounded(ctx)
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
	// Whoever waits goes on here and now, before anybody is told of it: woken on
	// another processor, the answer would wait for that one to wake.
	runtime.Gosched()
	return now, won || res.CommandID != "" && endedWith(now, res), nil
}

// endedWith reports whether the row ended with res: by the same command, or, where no
// person was involved, in the same way.
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

// until is the time to a deadline; the zero time is none.
func until(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return forever
	}
	return time.Until(deadline)
}

// bounded is for work that must be finished although the caller has gone.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTime)
}
