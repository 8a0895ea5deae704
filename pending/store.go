package pending

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Errors of this package. The APIs map them to wire codes; ErrNotOpen and ErrInvalid come
// with details, see [NotOpenError] and [problem.Error].
var (
	ErrNotFound       = errors.New("no such request")
	ErrNotOpen        = errors.New("request is no longer open")
	ErrInvalid  error = problem.InvalidAnswer // the answer does not match the question
	// ErrAnotherNeeded: this person has approved, and a second person must approve too.
	ErrAnotherNeeded = errors.New("another person must approve it, too")
	// ErrNotApproved: this person has given no approval to undo.
	ErrNotApproved = errors.New("no approval to undo")
	// ErrUndone: the answer was held and then undone; its command has no effect.
	ErrUndone = errors.New("the answer was undone")
	// ErrNothingHeld: this person has no held answer to undo.
	ErrNothingHeld = errors.New("no answer to undo")
	// ErrConflict: the asker reused the id of a request for another input.
	ErrConflict = errors.New("request id was used for a different input")
	// ErrStale: the answer was given for another input than the request's.
	ErrStale = errors.New("answer belongs to another input")
	// ErrUnavailable: the store changed nothing, and the same call may succeed later.
	ErrUnavailable = errors.New("the store cannot do it now, try again")
	// ErrUnknownOutcome: the store did not reply, so the change may be stored or not.
	ErrUnknownOutcome = errors.New("it is unknown whether the store took the change")
)

// IsTemporary reports whether the same call to the store may succeed later.
func IsTemporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome)
}

// NotOpenError contains the request that was resolved first. It is an [ErrNotOpen].
type NotOpenError struct{ Request Request }

func (e *NotOpenError) Error() string        { return ErrNotOpen.Error() + ": " + string(e.Request.Status) }
func (e *NotOpenError) Is(target error) bool { return target == ErrNotOpen }

// HeldError contains the held answer that blocks this one.
type HeldError struct{ Held Held }

func (e *HeldError) Error() string {
	return "an answer is held until " + e.Held.Until.Format(time.RFC3339Nano)
}

// Store stores requests. Both engines pass the contract of store/storetest.
type Store interface {
	// OpenRequest stores a new request with status Open and increments the version of its
	// session. If the id is known, it changes nothing and returns the stored row with opened
	// false, or ErrConflict if that row has another InputHash. The row may be lost in a power
	// cut.
	OpenRequest(ctx context.Context, r Request) (stored Request, opened bool, err error)

	// ResolveRequest is the compare-and-set: it moves a request that is Open or Orphaned to
	// res.Status and increments the version of its session. Exactly one caller ever gets won
	// true; all get the current row. It changes nothing unless these conditions hold:
	//
	// - with res.SecondTo, that user's approval is in the row;
	// - with res.HeldSince, the hold of res.CommandID is active;
	// - with res.Overrules, the hold of that command is active;
	// - Answered and Denied without either: no hold is active, and their command was not
	//   undone.
	//
	// A resolved row has no hold. With Status Answered or Denied the delivery becomes Queued
	// and the change is on disk when the call returns. It returns ErrNotFound for an unknown
	// id.
	ResolveRequest(ctx context.Context, requestID string, res Resolution) (now Request, won bool, err error)

	// ApproveRequest stores the first of two approvals of a request that is Open or Orphaned,
	// and increments the version of its session. It changes nothing, and done is false, if
	// there is an approval already or the request is resolved. It returns the current row, or
	// ErrNotFound. The change and its audit record are on disk when it returns.
	ApproveRequest(ctx context.Context, requestID string, a Approval) (now Request, done bool, err error)

	// UnapproveRequest removes the first approval if this user gave it, with the same results
	// as ApproveRequest. by is the person for the audit record.
	UnapproveRequest(ctx context.Context, requestID, userID string, by Actor) (now Request, done bool, err error)

	// HoldRequest stores the held answer h in an answerable request, if no hold is active and
	// its command was never undone, and increments the version; the status stays. The change
	// is on disk when it returns. Otherwise it changes nothing and done is false. It returns
	// the current row, or ErrNotFound.
	HoldRequest(ctx context.Context, requestID string, h Held) (now Request, done bool, err error)

	// UnholdRequest ends the hold of a command in an answerable request without an answer:
	// with why "", because by, the author, undid it, and otherwise because it was dropped for
	// the reason why, a sentence that the row keeps until the next hold. The command cannot
	// be held again. It increments the version and adds an audit record, both on disk when it
	// returns. If the command holds no answer, nothing changes and done is false. It returns
	// the current row, or ErrNotFound.
	UnholdRequest(ctx context.Context, requestID, commandID string, by Actor, why string) (now Request, done bool, err error)

	// HeldRequests returns the answerable requests of all sessions with an active hold,
	// oldest first.
	HeldRequests(ctx context.Context) ([]Request, error)

	// OrphanRequests moves every Open request of a session to Orphaned with the given reason
	// and, if there are any, increments the version once. It returns their number.
	OrphanRequests(ctx context.Context, sessionID, reason string) (int, error)

	// CarryAnswer opens the new request r and gives it the answer of another request, whose
	// id is from. In one transaction, on disk when it returns:
	//
	// - r is stored with the status, answer and actor of from, resolved at r.CreatedAt, with
	//   CarriedFrom set and delivery Queued;
	// - the delivery of from becomes Carried;
	// - the version of the session increases.
	//
	// This needs a request from that a person answered or denied, whose delivery is Queued,
	// in the same session and of another process; a request without a ProcessID never
	// qualifies. Otherwise nothing changes, carried is false and stored is zero.
	//
	// If the id of r is known, nothing changes either. Then stored is the row with that id,
	// and carried reports whether its answer was carried from from. It returns ErrConflict if
	// that row has another InputHash.
	CarryAnswer(ctx context.Context, r Request, from string) (stored Request, carried bool, err error)

	// SetDelivery moves the delivery of a resolved request forward; a move back changes
	// nothing. The change may be lost in a power cut.
	SetDelivery(ctx context.Context, requestID string, d Delivery) error

	// ExtendRequest moves the deadline of an answerable request to expiresAt and increments
	// the version. It changes nothing, and extended is false, if the request is resolved, has
	// no deadline, or a later one. It returns the current row, or ErrNotFound. The change may
	// be lost in a power cut.
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

	// ConsumedRequests returns up to limit requests of one process of a session whose
	// delivery is Consumed, the latest resolved first.
	ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]Request, error)
}
