package pending

import (
	"context"
	"encoding/json"
	"time"
)

// SecondApproval decides about an approval that would be the second of two.
type SecondApproval interface {
	// MayJoin returns why the approval does not count beside the first, which another
	// person gave; nil when it does.
	MayJoin(ctx context.Context, first Approval) error
}

// Submission is an answer as a person sent it, before it is held against the
// stored request. Answers and Responses are two spellings of the same; Responses
// wins where both name a question.
type Submission struct {
	// Seen is the request as whoever submits has just read it, so that it is not
	// read again; zero when they have not. What became of it since, the store tells.
	Seen        Request
	RequestID   string
	SessionID   string      // must be the request's, else ErrNotFound
	RequestType RequestType // must be the request's, else ErrInvalid
	InputHash   string      // optional; when given it must match, else ErrStale
	CommandID   string      // idempotency key; the same again has the same outcome
	Actor       Actor
	// CredentialID is what the actor came with. What does not count at once does not
	// count when that has ended meanwhile.
	CredentialID string

	// RequireSecondApproval: an approval needs another person's beside.
	// InvalidatedApproverID is a user whose approval does not count any more, "" for
	// nobody.
	RequireSecondApproval bool
	InvalidatedApproverID string
	// Second decides whether the approval counts as the second one; nil when any does.
	Second SecondApproval
	// Hold is for how long the answer is kept back so that it can be taken back; 0
	// for not at all. It has no effect with RequireSecondApproval.
	Hold time.Duration

	Decision           Decision // "" means Allow for questions; required for a tool approval
	Message            string
	Interrupt          bool
	UpdatedInput       json.RawMessage   // tool approvals only
	UpdatedPermissions json.RawMessage   // tool approvals only
	Answers            map[string]string // by question text: labels joined with ", " or free text
	Responses          []Response        // by question id
}
