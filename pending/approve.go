package pending

import (
	"context"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/internal/problem"
)

// approve takes one of the two approvals that a request needs. The first is noted
// and leaves the request open; the second, of another person, resolves it.
func (r *Registry) approve(ctx context.Context, row Request, s Submission, res Resolution) (Request, error) {
	if res.Answer.UpdatedInput != nil || res.Answer.UpdatedPermissions != nil {
		return row, problem.New("two_people_plain")
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	failed := func(err error) error { return fmt.Errorf("pending: approve %s: %w", s.RequestID, err) }
	const tries = 5 // somebody may approve and take it back meanwhile
	for range tries {
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
				r.notifier.Notify(row.SessionID) // after an error too: it may have been done
			}
			if done || err != nil {
				return now, wrapped(err, failed)
			}
			row = now
		case first.Actor.UserID == s.Actor.UserID && first.CommandID == s.CommandID:
			return row, nil // the same command again
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

// Unapprove takes back the first approval that a person gave. The error is
// [ErrNotApproved] when there is none of theirs, [ErrNotFound] for a request of
// another session, or a [NotOpenError].
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
		return fmt.Errorf("pending: take approval of %s back: %w", requestID, err)
	case row.Status.Final():
		return &NotOpenError{Request: row}
	}
	return nil
}
