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

// HeldOutcome says whether a held answer counts once its undo window has passed.
type HeldOutcome int

// The outcomes of a held answer.
const (
	HeldCounts           HeldOutcome = iota
	HeldGiverGone                    // its giver was deleted or disabled
	HeldCredentialEnded              // the sign-in or token it was given with has ended
	HeldRoleLost                     // its giver may answer nothing any more
	HeldRightLost                    // its giver may not answer this request any more
	HeldNeedsSecondGiver             // two people must approve it now
)

// Reason returns the sentence for which an answer will never count, "" for
// [HeldCounts].
func (o HeldOutcome) Reason() string {
	switch o {
	case HeldGiverGone:
		return statement.New("held_giver_gone")
	case HeldCredentialEnded:
		return statement.New("held_credential_ended")
	case HeldRoleLost:
		return statement.New("held_role_lost")
	case HeldRightLost:
		return statement.New("held_right_lost")
	case HeldNeedsSecondGiver:
		return statement.New("held_two_people")
	}
	return ""
}

// Held decides whether a held answer counts: whoever gave it must be there and be
// allowed to, as when they gave it. An error leaves it open.
func (r *Rules) Held(ctx context.Context, row pending.Request) (HeldOutcome, error) {
	h := row.Held
	user, err := r.directory.User(ctx, h.Actor.UserID)
	if errors.Is(err, account.ErrNotFound) || err == nil && user.Disabled {
		return HeldGiverGone, nil
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
		return HeldNeedsSecondGiver, nil
	}
	return HeldCounts, nil
}

// WhyHeldEnds returns the sentence for which a held answer will never count, "" when
// it counts. It implements [pending.HoldRules].
func (r *Rules) WhyHeldEnds(ctx context.Context, row pending.Request) (why string, err error) {
	o, err := r.Held(ctx, row)
	return o.Reason(), err
}
