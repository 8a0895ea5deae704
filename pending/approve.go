package pending

import (
	"context"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/internal/problem"
)

// approveFirst adds one of the two approvals that a request needs. The first is stored and
// leaves the request open; the second, by another person, resolves it.
func (r *Registry) approveFirst(ctx context.Context, row Request, s Submission, res Resolution) (Request, error) {
	if res.Answer.UpdatedInput != nil || res.Answer.UpdatedPermissions != nil {
		return row, problem.New("two_people_plain")
	}
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	failed := func(err error) error { return fmt.Errorf("pending: approve %s: %w", s.RequestID, err) }
	const maxAttempts = 5 // others may approve and undo meanwhile
	for range maxAttempts {
		first := row.Approval
		switch {
		case row.Status.Final():
			r.deliver(row)
			if endedWith(row, res) {
				return row, nil
			}
			return row, &NotOpenError{Request: row}
		case first != nil && first.Actor.UserID == s.InvalidatedApproverID:
			now, _, err := r.store.UnapproveRequest(ctx, row.RequestID, s.InvalidatedApproverID, s.Actor)
			if err != nil {
				return row, failed(err)
			}
			row = now
		case first == nil:
			now, done, err := r.store.ApproveRequest(ctx, row.RequestID, Approval{Actor: s.Actor, At: res.At, CommandID: s.CommandID, CredentialID: s.CredentialID})
			if done || err != nil {
				r.notifier.Notify(row.SessionID) // after an error too, because the change may be stored
			}
			if done || err != nil {
				return now, wrapIf(err, failed)
			}
			row = now
		case first.Actor.UserID == s.Actor.UserID && first.CommandID == s.CommandID:
			return row, nil // a repeated command
		case first.Actor.UserID == s.Actor.UserID:
			return row, failed(ErrAnotherNeeded)
		default:
			if s.Second != nil {
				if err := s.Second.MayJoin(ctx, *first); err != nil {
					return row, failed(err)
				}
			}
			res.SecondTo = first.Actor.UserID
			now, mine, err := r.resolve(ctx, row.SessionID, row.RequestID, res)
			switch {
			case errors.Is(err, errSuperseded):
				if done, err := checkHeld(now, s); done || err != nil {
					return now, err
				}
				row = now
				continue
			case err != nil:
				return row, failed(err)
			case !mine:
				return now, &NotOpenError{Request: now}
			}
			return now, nil
		}
	}
	return row, failed(ErrUnavailable)
}

// Unapprove removes the first approval if this person gave it. It returns [ErrNotApproved]
// if they did not, [ErrNotFound] for a request of another session, or a [NotOpenError].
func (r *Registry) Unapprove(ctx context.Context, sessionID, requestID string, by Actor) error {
	row, err := r.read(ctx, sessionID, requestID)
	if err == nil && !row.Status.Final() {
		var done bool
		row, done, err = r.store.UnapproveRequest(ctx, requestID, by.UserID, by)
		if done || err != nil {
			r.notifier.Notify(sessionID)
		}
		if err == nil && !done && !row.Status.Final() {
			err = ErrNotApproved
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("pending: undo approval of %s: %w", requestID, err)
	case row.Status.Final():
		return &NotOpenError{Request: row}
	}
	return nil
}
