package pending

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxHold bounds how long an answer is held.
const MaxHold = 10 * time.Second

// holdRetryDelay is the pause after the store failed.
const holdRetryDelay = time.Second

// checkHeld compares a new answer with the held one. done is true when they are the same; the
// error is not nil when the held one blocks it, or when the new one was undone. Only a held
// denial blocks a denial.
func checkHeld(row Request, s Submission) (done bool, err error) {
	if slices.Contains(row.Undone, s.CommandID) {
		return false, fmt.Errorf("pending: answer %s: %w", s.RequestID, ErrUndone)
	}
	switch h := row.Held; {
	case row.Status.Final() || !h.Active():
		return false, nil
	case h.CommandID == s.CommandID && h.Actor.UserID == s.Actor.UserID:
		return true, nil
	case h.YieldsTo(s.Decision):
		return false, nil
	default:
		return false, &HeldError{Held: *h}
	}
}

// storeHold stores an answer that does not count yet. It returns errSuperseded when another
// hold that does not block this answer was added or removed meanwhile.
func (r *Registry) storeHold(ctx context.Context, row Request, h Held) (Request, error) {
	failed := func(err error) error { return fmt.Errorf("pending: hold the answer to %s: %w", row.RequestID, err) }
	now, done, err := r.store.HoldRequest(ctx, row.RequestID, h)
	if done || err != nil {
		// After an error too, because the change may be stored.
		r.notifier.Notify(row.SessionID)
		r.WakeHolds()
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		// A store may lose its reply after it has committed.
		again, cancel := withSettleTimeout(ctx)
		defer cancel()
		found, rerr := r.store.Request(again, row.RequestID)
		if rerr == nil && found.Held.Active() && found.Held.CommandID == h.CommandID {
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

// Undo removes a person's held answer, so that the request can be answered again. commandID
// selects the answer by the command that gave it, so a later answer stays, and undoing twice is
// not an error. "" selects whichever answer is held. Undo returns [ErrNothingHeld] when the
// person has no held answer, [ErrNotFound] for a request of another session, or a
// [NotOpenError] when the answer already counts.
func (r *Registry) Undo(ctx context.Context, sessionID, requestID, commandID string, by Actor) error {
	row, err := r.read(ctx, sessionID, requestID)
	if err == nil && commandID != "" && slices.Contains(row.Undone, commandID) {
		return nil
	}
	if err == nil && !row.Status.Final() {
		h := row.Held
		if !h.Active() || h.Actor.UserID != by.UserID || commandID != "" && h.CommandID != commandID {
			return fmt.Errorf("pending: undo %s: %w", requestID, ErrNothingHeld)
		}
		ctx, cancel := withSettleTimeout(ctx)
		defer cancel()
		var done bool
		row, done, err = r.removeHold(ctx, row, by, "")
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

func (r *Registry) removeHold(ctx context.Context, row Request, by Actor, why string) (Request, bool, error) {
	now, done, err := r.store.UnholdRequest(ctx, row.RequestID, row.Held.CommandID, by, why)
	if done || err != nil {
		r.notifier.Notify(row.SessionID) // after an error too, because the change may be stored
	}
	return now, done, err
}

// WakeHolds makes RunHolds look for held answers that another server stored. It never blocks.
func (r *Registry) WakeHolds() {
	select {
	case r.held <- struct{}{}:
	default:
	}
}

// HoldRules decides whether held answers count.
type HoldRules interface {
	// WhyHeldEnds returns "" if a held answer counts, or a sentence that explains why it never
	// will, for example because its author may no longer answer. After an error it is called
	// again.
	WhyHeldEnds(ctx context.Context, r Request) (why string, err error)
}

// RunHolds releases held answers when their undo window has ended and the rules allow it,
// including those that earlier servers stored. It blocks until ctx ends.
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
		timer.Reset(r.releaseDue(ctx, rules))
	}
}

// releaseDue releases all answers whose undo window has ended, and returns the time until it must
// run again.
func (r *Registry) releaseDue(ctx context.Context, rules HoldRules) time.Duration {
	rows, err := r.store.HeldRequests(ctx)
	if err != nil {
		return holdRetryDelay
	}
	next := forever
	for _, row := range rows {
		wait := time.Until(row.Held.Until)
		// If the clock was set back, an answer must not wait much longer. The clock of the
		// server that stored it may be ahead of this one, so it may wait a little longer.
		if wait <= 0 || wait > 2*MaxHold {
			if err := r.release(ctx, row, rules); err == nil {
				continue
			}
			wait = holdRetryDelay
		}
		next = min(next, wait)
	}
	return next
}

// release makes a held answer count, or drops it. It does nothing if the answer was undone or
// the request no longer exists.
func (r *Registry) release(ctx context.Context, row Request, rules HoldRules) error {
	why, err := rules.WhyHeldEnds(ctx, row)
	if err != nil {
		return err
	}
	h := row.Held
	if why != "" {
		_, _, err := r.removeHold(ctx, row, h.Actor, why)
		return err
	}
	res := Resolution{Status: Answered, Answer: &h.Answer, Actor: h.Actor, At: time.Now(), CommandID: h.CommandID, HeldSince: h.At}
	if h.Answer.Decision == Deny {
		res.Status = Denied
	}
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	_, _, err = r.resolve(ctx, row.SessionID, row.RequestID, res)
	if errors.Is(err, errSuperseded) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
