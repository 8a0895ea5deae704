package pending

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxHold is for how long an answer is held at most.
const MaxHold = 10 * time.Second

// holdRetry is how long RunHolds waits before it tries again what the store
// would not do.
const holdRetry = time.Second

// checkHeld compares an answer that comes in with the one that is held: done when it is
// the same, an error when the held one bars it. A denial is barred by a denial alone.
func checkHeld(row Request, s Submission) (done bool, err error) {
	if slices.Contains(row.Undone, s.CommandID) {
		return false, fmt.Errorf("pending: answer %s: %w", s.RequestID, ErrUndone)
	}
	switch h := row.Held; {
	case row.Status.Final() || !h.Stands():
		return false, nil
	case h.CommandID == s.CommandID && h.Actor.UserID == s.Actor.UserID:
		return true, nil
	case h.Yields(s.Decision):
		return false, nil
	default:
		return false, &HeldError{Held: *h}
	}
}

// hold stores an answer that does not count yet. The error is errSuperseded when another
// hold came or went meanwhile that does not bar this answer.
func (r *Registry) hold(ctx context.Context, row Request, h Held) (Request, error) {
	failed := func(err error) error { return fmt.Errorf("pending: hold the answer to %s: %w", row.RequestID, err) }
	now, done, err := r.store.HoldRequest(ctx, row.RequestID, h)
	if done || err != nil {
		// After an error too: it may have been done.
		r.notifier.Notify(row.SessionID)
		r.wakeHolds()
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		// A store may lose its reply after it has committed.
		again, cancel := bounded(ctx)
		defer cancel()
		found, rerr := r.store.Request(again, row.RequestID)
		if rerr == nil && found.Held.Stands() && found.Held.CommandID == h.CommandID {
			return found, nil
		}
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return Request{}, failed(ErrNotFound)
	case err != nil:
		return row, failed(err)
	case done:
		return now, nil
	case now.Status.Final():
		r.deliver(now)
		if endedWith(now, Resolution{CommandID: h.CommandID, Actor: h.Actor}) {
			return now, nil
		}
		return now, &NotOpenError{Request: now}
	}
	return now, errSuperseded
}

// Undo takes back an answer of a person while it is held; the request is open
// again. commandID names the answer that is meant, by the command that gave it: what
// was given since stays, and to take it back once more does nothing and is no error.
// "" means whichever is held. The error is [ErrNothingHeld] when there is none of theirs, [ErrNotFound]
// for a request of another session, or a [NotOpenError] when it counts already.
func (r *Registry) Undo(ctx context.Context, sessionID, requestID, commandID string, by Actor) error {
	row, err := r.read(ctx, sessionID, requestID)
	if err == nil && commandID != "" && slices.Contains(row.Undone, commandID) {
		return nil
	}
	if err == nil && !row.Status.Final() {
		h := row.Held
		if !h.Stands() || h.Actor.UserID != by.UserID || commandID != "" && h.CommandID != commandID {
			return fmt.Errorf("pending: undo %s: %w", requestID, ErrNothingHeld)
		}
		ctx, cancel := bounded(ctx)
		defer cancel()
		var done bool
		row, done, err = r.unhold(ctx, row, by, "")
		if err != nil {
			// A store may lose its reply after it has committed.
			now, rerr := r.store.Request(ctx, requestID)
			if rerr == nil && slices.Contains(now.Undone, h.CommandID) {
				row, done, err = now, true, nil
			}
		}
		if err == nil && !done && !row.Status.Final() {
			err = ErrNothingHeld
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("pending: undo %s: %w", requestID, err)
	case row.Status.Final():
		r.deliver(row)
		return &NotOpenError{Request: row}
	}
	return nil
}

func (r *Registry) unhold(ctx context.Context, row Request, by Actor, why string) (Request, bool, error) {
	now, done, err := r.store.UnholdRequest(ctx, row.RequestID, row.Held.CommandID, by, why)
	if done || err != nil {
		r.notifier.Notify(row.SessionID) // after an error too: it may have been done
	}
	return now, done, err
}

func (r *Registry) wakeHolds() {
	select {
	case r.held <- struct{}{}:
	default:
	}
}

// HoldRules decides about held answers.
type HoldRules interface {
	// WhyHeldEnds returns "" for a held answer that may count, or the sentence for which
	// it never will, such as that its giver may not answer here any more. An error
	// leaves it for another try.
	WhyHeldEnds(ctx context.Context, r Request) (why string, err error)
}

// RunHolds lets held answers count when their time has passed and the rules allow it,
// also those that it finds stored, until ctx ends.
func (r *Registry) RunHolds(ctx context.Context, rules HoldRules) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.held:
		case <-timer.C:
		}
		timer.Reset(r.countHolds(ctx, rules))
	}
}

// countHolds lets all count whose time has passed, and says when to look again.
func (r *Registry) countHolds(ctx context.Context, rules HoldRules) time.Duration {
	rows, err := r.store.HeldRequests(ctx)
	if err != nil {
		return holdRetry
	}
	next := forever
	for _, row := range rows {
		wait := time.Until(row.Held.Until)
		// A clock that was set back must not keep anybody waiting.
		if wait <= 0 || wait > MaxHold {
			if err := r.release(ctx, row, rules); err == nil {
				continue
			}
			wait = holdRetry
		}
		next = min(next, wait)
	}
	return next
}

// release makes a held answer count, or drops it. Nothing happens to one that was
// taken back meanwhile, or whose question is gone.
func (r *Registry) release(ctx context.Context, row Request, rules HoldRules) error {
	why, err := rules.WhyHeldEnds(ctx, row)
	if err != nil {
		return err
	}
	h := row.Held
	if why != "" {
		_, _, err := r.unhold(ctx, row, h.Actor, why)
		return err
	}
	res := Resolution{Status: Answered, Answer: &h.Answer, Actor: h.Actor, At: time.Now(), CommandID: h.CommandID, HeldSince: h.At}
	if h.Answer.Decision == Deny {
		res.Status = Denied
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, _, err = r.resolve(ctx, row.SessionID, row.RequestID, res)
	if errors.Is(err, errSuperseded) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
