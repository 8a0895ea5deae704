package decision

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// HeldOutcome is whether a held answer counts at the end of its undo window, or why not.
type HeldOutcome int

// The outcomes of a held answer.
const (
	HeldCounts              HeldOutcome = iota
	HeldAuthorGone                      // its author was deleted or disabled
	HeldCredentialEnded                 // the sign-in or token it was sent with has ended
	HeldRoleLost                        // its author's role no longer allows any answer
	HeldRightLost                       // its author may no longer answer this request
	HeldNeedsSecondApproval             // it now needs a second approval
)

// Reason returns a sentence that explains why an answer does not count, "" for [HeldCounts].
func (o HeldOutcome) Reason() string {
	switch o {
	case HeldAuthorGone:
		return statement.New("held_giver_gone")
	case HeldCredentialEnded:
		return statement.New("held_credential_ended")
	case HeldRoleLost:
		return statement.New("held_role_lost")
	case HeldRightLost:
		return statement.New("held_right_lost")
	case HeldNeedsSecondApproval:
		return statement.New("held_two_people")
	}
	return ""
}

// Held decides whether a held answer counts. Its author must still exist and still be allowed
// to give it. After an error the outcome is unknown, and the caller must call Held again.
func (r *Rules) Held(ctx context.Context, row pending.Request) (HeldOutcome, error) {
	h := row.Held
	user, err := r.directory.User(ctx, h.Actor.UserID)
	if errors.Is(err, account.ErrNotFound) || err == nil && user.Disabled {
		return HeldAuthorGone, nil
	}
	if err != nil {
		return HeldCounts, err
	}
	alive, err := r.credentialLives(ctx, h.CredentialID)
	switch {
	case err != nil:
		return HeldCounts, err
	case !alive:
		return HeldCredentialEnded, nil
	case !user.Role.AtLeast(account.Member):
		return HeldRoleLost, nil
	}
	ses, book, err := r.guard.SessionOf(ctx, row)
	if err != nil {
		return HeldCounts, err
	}
	p, err := r.MayAnswer(ctx, book, project.Person{UserID: user.UserID, Role: user.Role}, h.Answer, row, ses)
	switch {
	case errors.Is(err, project.ErrHidden), errors.Is(err, problem.Forbidden):
		return HeldRightLost, nil
	case err != nil:
		return HeldCounts, err
	case p.RequireSecondApproval:
		return HeldNeedsSecondApproval, nil
	}
	return HeldCounts, nil
}

// WhyHeldEnds returns a sentence that explains why a held answer does not count, "" when it
// does. It implements [pending.HoldRules].
func (r *Rules) WhyHeldEnds(ctx context.Context, row pending.Request) (why string, err error) {
	o, err := r.Held(ctx, row)
	return o.Reason(), err
}
