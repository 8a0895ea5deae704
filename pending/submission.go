package pending

import (
	"context"
	"encoding/json"
	"time"
)

// SecondApproval decides whether an approval counts as the second of two.
type SecondApproval interface {
	// MayJoin returns why the approval does not count as the second one, or nil. first is
	// another person's.
	MayJoin(ctx context.Context, first Approval) error
}

// Submission is an answer as a person sent it, before it is validated against the stored
// request. Answers and Responses are two notations of the answers to questions. A submission may
// use both, but not for the same question.
type Submission struct {
	// Seen is the request as the caller has just read it, to save a read; zero if it was not
	// read. The store detects later changes.
	Seen        Request
	RequestID   string
	SessionID   string      // must be the request's, else ErrNotFound
	RequestType RequestType // must be the request's, else ErrInvalid
	InputHash   string      // optional; when given it must match, else ErrStale
	CommandID   string      // idempotency key; a repeated command has the same outcome
	Actor       Actor
	// CredentialID is the credential of the actor. A held answer and a first approval do not
	// count if that credential has ended meanwhile.
	CredentialID string

	// RequireSecondApproval: an approval needs a second one by another person.
	// InvalidatedApproverID is a user whose approval no longer counts, or "".
	RequireSecondApproval bool
	InvalidatedApproverID string
	// Second decides whether the approval counts as the second one; nil accepts any.
	Second SecondApproval
	// Hold is the undo window of the answer; 0 for none. It has no effect with
	// RequireSecondApproval.
	Hold time.Duration

	Decision           Decision // "" means Allow for questions; required for a tool approval
	Message            string
	Interrupt          bool
	UpdatedInput       json.RawMessage   // tool approvals only
	UpdatedPermissions json.RawMessage   // tool approvals only
	Answers            map[string]string // by question text: labels joined with ", " or free text
	Responses          []Response        // by question id
}
