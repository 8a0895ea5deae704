package pending

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Errors of this package. The APIs map them to wire codes; ErrNotOpen and
// ErrInvalid come with details, see [NotOpenError] and [problem.Error].
var (
	ErrNotFound       = errors.New("no such request")
	ErrNotOpen        = errors.New("request is no longer open")
	ErrInvalid  error = problem.InvalidAnswer // the answer does not fit the question
	// ErrAnotherNeeded: this person has approved, and another must, too.
	ErrAnotherNeeded = errors.New("another person must approve it, too")
	// ErrNotApproved: there is no approval of this person to take back.
	ErrNotApproved = errors.New("no approval to take back")
	// ErrUndone: the answer was held and taken back; its command does nothing.
	ErrUndone = errors.New("the answer was taken back")
	// ErrNothingHeld: no answer of this person is held that they could take back.
	ErrNothingHeld = errors.New("no answer to take back")
	// ErrConflict: the asker used one id for two different requests.
	ErrConflict = errors.New("request id was used for a different input")
	// ErrStale: the answer names another input than the one that is asked.
	ErrStale = errors.New("answer belongs to another input")
	// ErrUnavailable: the store changed nothing, and the same call may succeed
	// later.
	ErrUnavailable = errors.New("the store cannot do it now, try again")
	// ErrUnknownOutcome: the change was sent to the store and no answer came; it
	// may be stored or not.
	ErrUnknownOutcome = errors.New("it is unknown whether the store took the change")
)

// IsTemporary reports whether the same call to the store may succeed later.
func IsTemporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome)
}

// NotOpenError says who resolved the request first. It is an [ErrNotOpen].
type NotOpenError struct{ Request Request }

func (e *NotOpenError) Error() string        { return ErrNotOpen.Error() + ": " + string(e.Request.Status) }
func (e *NotOpenError) Is(target error) bool { return target == ErrNotOpen }

// HeldError says whose answer is held, so that nobody else can give this one.
type HeldError struct{ Held Held }

func (e *HeldError) Error() string {
	return "an answer is held until " + e.Held.Until.Format(time.RFC3339Nano)
}

// Store remembers requests. Both engines pass the contract of store/storetest.
type Store interface {
	// OpenRequest stores a new request with status Open and bumps the version of
	// its session. When the id is known already it changes nothing and returns
	// the stored row with opened false; ErrConflict when that row has another
	// InputHash. It need not survive a power cut.
	OpenRequest(ctx context.Context, r Request) (stored Request, opened bool, err error)

	// ResolveRequest is the compare-and-set: it moves a request that is Open or
	// Orphaned to res.Status and bumps the version of its session. Exactly one
	// caller ever gets won true; everybody gets the row as it now stands. With
	// res.SecondTo nobody wins unless that user's approval stands in the row. With
	// res.HeldSince nobody wins unless the hold of res.CommandID stands; with
	// res.Overrules, unless the hold of that command does. Answered and Denied without
	// either lose while any hold stands, and without HeldSince when their command was
	// taken back. What was held is gone from a row that is resolved. With
	// Status Answered or Denied the delivery becomes Queued and the change is on
	// disk when the call returns. ErrNotFound when there is no such row.
	ResolveRequest(ctx context.Context, requestID string, res Resolution) (now Request, won bool, err error)

	// ApproveRequest notes the first of two approvals of a request that is Open or
	// Orphaned, and bumps the version of its session. It changes nothing, and done is
	// false, when somebody has approved already or the request is resolved. It returns
	// the row as it stands, or ErrNotFound. It is on disk, and on record, when the call
	// returns.
	ApproveRequest(ctx context.Context, requestID string, a Approval) (now Request, done bool, err error)

	// UnapproveRequest takes the first approval back, if it is the one of this user,
	// as ApproveRequest gives it. by says who did so, for the record.
	UnapproveRequest(ctx context.Context, requestID, userID string, by Actor) (now Request, done bool, err error)

	// HoldRequest notes the answer h in an answerable request in which no held answer
	// stands and whose command was never taken back, bumps the version and leaves the
	// request as it is. It is on disk when the call returns. Otherwise it changes
	// nothing and done is false. It returns the row as it stands, or ErrNotFound.
	HoldRequest(ctx context.Context, requestID string, h Held) (now Request, done bool, err error)

	// UnholdRequest ends the hold of a command in an answerable request, lets that
	// command never be held again, bumps the version and puts it on record. why is
	// the sentence of a hold that is dropped, which the row keeps until the next
	// hold; "" when by, who gave the answer, took it back. It is on disk when the call
	// returns. When no such hold stands it changes nothing and done is false. It
	// returns the row as it stands, or ErrNotFound.
	UnholdRequest(ctx context.Context, requestID, commandID string, by Actor, why string) (now Request, done bool, err error)

	// HeldRequests returns the answerable requests of all sessions in which a held
	// answer stands, oldest first.
	HeldRequests(ctx context.Context) ([]Request, error)

	// OrphanRequests moves every Open request of a session to Orphaned with the
	// given reason and bumps the version once if there was any. It returns how
	// many there were.
	OrphanRequests(ctx context.Context, sessionID, reason string) (int, error)

	// CarryAnswer stores r, which is new, as resolved by the person who resolved
	// the request from: with the same status, answer and actor, at r.CreatedAt,
	// CarriedFrom set and delivery Queued; from becomes Carried. It bumps the
	// version of the session. It happens, in one transaction and on disk when the
	// call returns, only while from is Answered or Denied by a person, Queued, of
	// the same session and of another process (none is not another); otherwise
	// nothing changes, carried is false and stored is zero. When r is known already
	// the stored row is returned and carried tells whether it was carried from
	// from; ErrConflict when that row has another InputHash.
	CarryAnswer(ctx context.Context, r Request, from string) (stored Request, carried bool, err error)

	// SetDelivery moves the delivery of a resolved request forward; moving it
	// back changes nothing. It need not survive a power cut.
	SetDelivery(ctx context.Context, requestID string, d Delivery) error

	// ExtendRequest moves the deadline of an answerable request to expiresAt and
	// bumps the version. It changes nothing, and extended is false, when the request
	// is resolved, has no deadline, or one that is not earlier. It returns the row as
	// it stands, or ErrNotFound. It need not survive a power cut.
	ExtendRequest(ctx context.Context, requestID string, expiresAt time.Time) (now Request, extended bool, err error)

	// Request returns one request, or ErrNotFound.
	Request(ctx context.Context, requestID string) (Request, error)

	// AnswerableRequests returns the Open and Orphaned requests of a session, or
	// of all sessions when sessionID is "", oldest first.
	AnswerableRequests(ctx context.Context, sessionID string) ([]Request, error)

	// UndeliveredRequests returns the resolved requests of a session whose
	// delivery is Queued, oldest first.
	UndeliveredRequests(ctx context.Context, sessionID string) ([]Request, error)

	// UnconsumedRequests returns the resolved requests of a session whose delivery
	// is Queued or Delivered, oldest first.
	UnconsumedRequests(ctx context.Context, sessionID string) ([]Request, error)

	// ConsumedRequests returns the requests of one process of a session whose delivery
	// is Consumed, those that were resolved last first, at most so many.
	ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]Request, error)
}
