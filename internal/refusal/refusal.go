// Package refusal turns the errors of all packages into responses: an HTTP status, a code
// for programs and a message for people.
package refusal

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// A Refusal is an error as clients see it. Its cause goes only to the log.
type Refusal struct {
	Status   int
	Result   wire.AckResult // Rejected by default
	Body     wire.ErrorBody
	Resolved *wire.Resolved
	Retry    time.Duration // with 429 and 503
	Allow    string        // with 405
	Cause    error
}

func (r *Refusal) Error() string {
	if r.Cause != nil {
		return r.Cause.Error()
	}
	return r.Body.Message
}

func (r *Refusal) Unwrap() error { return r.Cause }

// New returns the refusal of a reason in the table of [problem].
func New(reason string, params ...any) *Refusal { return From(problem.New(reason, params...)) }

// For returns the refusal of a reason, with the invalid field.
func For(field, reason string, params ...any) *Refusal {
	return From(problem.For(field, reason, params...))
}

// From returns the refusal for an error that people read.
func From(p *problem.Error) *Refusal {
	c := p.Class()
	return &Refusal{Status: c.Status, Result: wire.Rejected, Body: wire.ErrorBody{
		Code: c.Code, Message: p.Message, Field: p.Field, Reason: p.Reason, Params: p.Params,
	}}
}

// NotSignedIn refuses a request without a valid credential.
func NotSignedIn() *Refusal {
	return New("not_signed_in")
}

// Forbidden refuses a person whose role is too low.
func Forbidden(need account.Role) *Refusal {
	return New("role_needed", "role", need)
}

// NoSuchSession refuses access to a session that does not exist or is hidden.
func NoSuchSession() *Refusal {
	return New("session_not_found")
}

// NotOurs refuses a command that needs a process, in a session whose agent runs outside of
// sayso.
func NotOurs(kind session.Kind) *Refusal {
	if kind == session.Terminal {
		return New("session_of_terminal")
	}
	return New("session_of_agent")
}

// GoingAway refuses requests while the server starts or stops.
func GoingAway() *Refusal {
	r := New("going_away")
	r.Retry = time.Second
	return r
}

// A Table turns errors into refusals.
type Table struct {
	// ClassifyStoreError returns the code of a store error that affects all writes, "" for
	// any other. It may be nil.
	ClassifyStoreError func(error) wire.NoticeCode
	// OnStoreProblem is called when a write failed. It must not block, and may be nil.
	OnStoreProblem func()
}

// StoreProblem returns the code of a store error that affects all writes, "" for any other
// error.
func (t *Table) StoreProblem(err error) wire.NoticeCode {
	if err == nil || t.ClassifyStoreError == nil {
		return ""
	}
	return t.ClassifyStoreError(err)
}

var dependentReasons = map[decision.Link]string{
	decision.LinkMadeYours:  "approver_resets_you",
	decision.LinkMadeTheirs: "you_reset_approver",
	decision.LinkMadeBoth:   "same_token_maker",
}

// Of returns the refusal for any error. An error that is not in this table is a defect of
// the server.
func (t *Table) Of(err error) *Refusal {
	var (
		ready    *Refusal
		notOpen  *pending.NotOpenError
		held     *pending.HeldError
		r        *Refusal
		distrust *orchestrator.UntrustedError
		known    *problem.Error
		linked   *decision.DependentError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &known):
		r = From(known)
	case errors.Is(err, access.ErrOtherPerson):
		r = New("other_person")
	case errors.Is(err, decision.ErrBatchPlain):
		r = For("batch", "batch_decision")
	case errors.Is(err, decision.ErrBatchAlone):
		r = New("not_in_a_batch")
	case errors.Is(err, decision.ErrBatchRisk):
		r = New("not_low_risk")
	case errors.Is(err, decision.ErrBatchMixed):
		r = New("not_one_batch")
	case errors.As(err, &linked):
		r = New(dependentReasons[linked.Link], "person", linked.First)
	case errors.As(err, &notOpen):
		r = New("already_resolved")
		r.Result = wire.AlreadyResolved
		if status := notOpen.Request.Status; status != pending.Answered && status != pending.Denied {
			r = New("request_closed")
			r.Result = wire.Stale
		}
		r.Resolved = wire.NewResolved(notOpen.Request)
		if r.Resolved != nil {
			r.Body.Message = wire.Sentence(r.Resolved.Summary) + " Your answer was not sent."
		}
	case errors.Is(err, pending.ErrStale):
		r = New("request_changed")
		r.Result = wire.Stale
	case errors.Is(err, pending.ErrAnotherNeeded):
		r = New("another_needed")
	case errors.As(err, &held):
		r = New("held_approved", "person", held.Held.Actor.Name)
		if held.Held.Answer.Decision == pending.Deny {
			r = New("held_denied", "person", held.Held.Actor.Name)
		}
	case errors.Is(err, pending.ErrUndone):
		r = New("taken_back")
	case errors.Is(err, pending.ErrNothingHeld):
		r = New("nothing_held")
	case errors.Is(err, pending.ErrNotApproved):
		r = New("not_approved")
	case errors.Is(err, pending.ErrNotFound):
		r = New("request_not_found")
		r.Result = wire.Stale
	case errors.Is(err, project.ErrHidden), errors.Is(err, project.ErrNotFound):
		r = New("project_not_found")
	case errors.Is(err, project.ErrChanged):
		r = New("project_changed")
	case errors.Is(err, project.ErrExists):
		r = For("name", "project_name_taken")
	case errors.Is(err, project.ErrFolderTaken):
		r = For("folders", "folder_taken")
	case errors.As(err, &distrust):
		r = From(distrust.Problem())
		r.Body.FolderTrust = NewFolderTrust(distrust)
	case errors.Is(err, session.ErrNoAttachment):
		r = For("attachments", "no_attachment")
	case errors.Is(err, session.ErrNotFound):
		r = NoSuchSession()
	case errors.Is(err, session.ErrCursor):
		r = For("cursor", "cursor_unknown")
	case errors.Is(err, session.ErrExists):
		r = New("session_exists")
	case errors.Is(err, orchestrator.ErrNotRunning):
		r = New("not_running")
	case errors.Is(err, orchestrator.ErrRunning):
		r = New("running")
	case errors.Is(err, orchestrator.ErrClosing):
		r = GoingAway()
	case errors.Is(err, orchestrator.ErrRunnerLost):
		r = New("runner_lost")
		r.Retry = time.Second
	case errors.Is(err, account.ErrRefused):
		r = NotSignedIn()
	case errors.Is(err, account.ErrChanged):
		r = New("changed")
	case errors.Is(err, account.ErrNotFound), errors.Is(err, alert.ErrNotFound), errors.Is(err, session.ErrNoRunner):
		r = New("not_found")
	case errors.Is(err, pending.ErrUnknownOutcome) && t.StoreProblem(err) != wire.Broken:
		// It may have been completed, so the message must not say that nothing was changed.
		r = New("not_in_time")
		r.Retry = time.Second
		if t.OnStoreProblem != nil {
			t.OnStoreProblem()
		}
	case t.StoreProblem(err) != "":
		r = notStored(t.StoreProblem(err))
		if t.OnStoreProblem != nil {
			t.OnStoreProblem()
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r = New("not_in_time")
		r.Retry = time.Second
	default:
		r = New("internal")
	}
	r.Cause = err
	return r
}

// Final reports whether the same command would always be refused for the same reason.
func (r *Refusal) Final() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return r.Status < 500
}

// Report logs the cause of a refusal, which clients do not see.
func Report(ctx context.Context, log *slog.Logger, what string, r *Refusal) {
	if r.Status >= 500 {
		log.ErrorContext(ctx, what, "status", r.Status, "code", r.Body.Code, "error", r.Error())
		return
	}
	log.DebugContext(ctx, what, "status", r.Status, "code", r.Body.Code, "error", r.Error())
}

// FromDecodeError returns the refusal of an error of [wire.Decode].
func FromDecodeError(err error) *Refusal {
	var known *problem.Error
	if errors.As(err, &known) {
		return From(known)
	}
	r := New("body_not_json")
	r.Cause = err
	return r
}
