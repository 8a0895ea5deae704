// Package refusal turns an error of any package into what a client sees: an HTTP status,
// a code for programs and a sentence for people.
package refusal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// A Refusal is an error as a client sees it. Its cause is for the log alone.
type Refusal struct {
	Status   int
	Result   wire.AckResult // Rejected unless said
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

// New returns a refusal with a status, a code and a sentence.
func New(status int, code, message string) *Refusal {
	return &Refusal{Status: status, Result: wire.Rejected, Body: wire.ErrorBody{Code: code, Message: message}}
}

// Field refuses a field of a command or body.
func Field(field, message string) *Refusal {
	r := New(http.StatusBadRequest, "invalid", message)
	r.Body.Field = field
	return r
}

// NotSignedIn refuses who sends no good credential.
func NotSignedIn() *Refusal {
	return New(http.StatusUnauthorized, "not_signed_in", "You are not signed in. Sign in, or send an API token.")
}

// Forbidden refuses who has not the role that is needed.
func Forbidden(need account.Role) *Refusal {
	return New(http.StatusForbidden, "forbidden", fmt.Sprintf("This needs the role %s. Ask an admin for it.", need))
}

// NoSuchSession refuses a session that is not there or may not be seen.
func NoSuchSession() *Refusal {
	return New(http.StatusNotFound, "not_found", "There is no such session, or it is not yours to see.")
}

// NotOurs refuses what needs a process in a session that holds only what
// outsiders ask.
func NotOurs(kind session.Kind) *Refusal {
	sentence := "An agent outside sayso asks in this session. It has no process here, so its questions can be answered and nothing else."
	if kind == session.Terminal {
		sentence = "A Claude in somebody's terminal asks in this session. Go to the terminal; here its questions can be answered and nothing else."
	}
	return New(http.StatusConflict, "not_ours", sentence)
}

// GoingAway refuses while the server starts or stops.
func GoingAway() *Refusal {
	r := New(http.StatusServiceUnavailable, "unavailable", "The server is starting or going away. Try again in a moment.")
	r.Retry = time.Second
	return r
}

// A Table turns errors into refusals.
type Table struct {
	// ClassifyStoreError names errors of the store that hold for whatever else is to be
	// stored; it returns "" for all others. It may be nil.
	ClassifyStoreError func(error) wire.NoticeCode
	// OnStoreProblem is called when something could not be stored. It must not block, and
	// may be nil.
	OnStoreProblem func()
}

// StoreProblem names what an error of the store means for everything else that must be
// stored, "" for an error that says nothing about it.
func (t *Table) StoreProblem(err error) wire.NoticeCode {
	if err == nil || t.ClassifyStoreError == nil {
		return ""
	}
	return t.ClassifyStoreError(err)
}

// approveInstead says what to do about an approval that does not count as the second.
const approveInstead = "so this does not count as the second approval. Ask another person, or approve again when that is a day ago and no such token is left."

var dependentMessages = map[decision.Link]string{
	decision.LinkMadeYours:  "%s made or reset your password, a token or another way to sign in as you, %s",
	decision.LinkMadeTheirs: "You made or reset the password, a token or another way to sign in as %s, who approved first, %s",
	decision.LinkMadeBoth:   "Whoever made this token also made a way to sign in as %s, who approved first, %s",
}

// Of turns an error of any package below into what a client sees. It is the one table
// of its kind: what is not in it is a fault of ours.
func (t *Table) Of(err error) *Refusal {
	var (
		ready    *Refusal
		notOpen  *pending.NotOpenError
		answer   *pending.InvalidError
		held     *pending.HeldError
		order    *orchestrator.InvalidError
		person   *account.InvalidError
		file     *attachment.InvalidError
		place    *alert.InvalidError
		r        *Refusal
		distrust *orchestrator.UntrustedError
		forbids  *project.ForbiddenError
		shape    *project.InvalidError
		full     *project.LimitError
		field    *wire.FieldError
		linked   *decision.DependentError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &field):
		r = Field(field.Field, field.Sentence)
	case errors.Is(err, access.ErrOtherPerson):
		r = New(http.StatusForbidden, "other_person", "Somebody else gave this answer or wrote this message before you signed in. It was not used.")
	case errors.Is(err, decision.ErrBatchPlain):
		r = Field("batch", "Together with others a tool can only be approved, as it was asked and this once. Answer this request on its own.")
	case errors.Is(err, decision.ErrBatchAlone):
		r = New(http.StatusUnprocessableEntity, "not_in_a_batch", "Claude Code demands that this is decided on its own. Open it, and decide about it there.")
	case errors.Is(err, decision.ErrBatchRisk):
		r = New(http.StatusUnprocessableEntity, "not_low_risk", "This is not of low risk, so it cannot be approved together with others. Open it, and decide about it on its own.")
	case errors.Is(err, decision.ErrBatchMixed):
		r = New(http.StatusUnprocessableEntity, "not_one_batch", "Only requests of the same tool can be approved together, 20 at most, each named once. Open this one, and decide about it on its own.")
	case errors.As(err, &linked):
		r = New(http.StatusConflict, "not_independent", fmt.Sprintf(dependentMessages[linked.Link], linked.First, approveInstead))
	case errors.As(err, &notOpen):
		r = New(http.StatusConflict, "already_resolved", "")
		r.Result, r.Resolved = wire.AlreadyResolved, wire.NewResolved(notOpen.Request)
		if status := notOpen.Request.Status; status != pending.Answered && status != pending.Denied {
			r.Result, r.Body.Code = wire.Stale, "stale"
		}
		r.Body.Message = "This request is no longer open. Your answer was not sent."
		if r.Resolved != nil {
			r.Body.Message = wire.Sentence(r.Resolved.Summary) + " Your answer was not sent."
		}
	case errors.Is(err, pending.ErrStale):
		r = New(http.StatusConflict, "stale", "Claude asks something else now than what was shown to you. Look at the request again.")
		r.Result = wire.Stale
	case errors.Is(err, pending.ErrAnotherNeeded):
		r = New(http.StatusConflict, "another_needed", "You have approved this. One more person must approve it, too.")
	case errors.As(err, &held):
		sentence := "%s has approved this, which takes effect in a moment. You can still deny it."
		if held.Held.Answer.Decision == pending.Deny {
			sentence = "%s has denied this, which takes effect in a moment. Nobody else can answer it meanwhile."
		}
		r = New(http.StatusConflict, "held", fmt.Sprintf(sentence, held.Held.Actor.Name))
	case errors.Is(err, pending.ErrTakenBack):
		r = New(http.StatusConflict, "taken_back", "You took this answer back, so it was not sent. Decide again.")
	case errors.Is(err, pending.ErrNothingHeld):
		r = New(http.StatusConflict, "nothing_held", "There is no answer of yours to take back.")
	case errors.Is(err, pending.ErrNotApproved):
		r = New(http.StatusConflict, "not_approved", "There is no approval of yours to take back.")
	case errors.Is(err, pending.ErrNotFound):
		r = New(http.StatusNotFound, "not_found", "This request is not there, or not yours to see. Nothing was sent.")
		r.Result = wire.Stale
	case errors.As(err, &forbids):
		r = New(http.StatusForbidden, "forbidden", forbids.Sentence)
	case errors.Is(err, project.ErrHidden), errors.Is(err, project.ErrNotFound):
		r = New(http.StatusNotFound, "not_found", "There is nothing of that id, or it is not yours to see.")
	case errors.As(err, &full):
		r = New(http.StatusTooManyRequests, "limit_reached", full.Sentence)
	case errors.As(err, &shape):
		r = Field(shape.Field, shape.Sentence)
	case errors.Is(err, project.ErrChanged):
		r = New(http.StatusConflict, "changed", "Somebody else has changed this project meanwhile. Nothing was done; look again.")
	case errors.Is(err, project.ErrExists):
		r = New(http.StatusConflict, "exists", "There is a project of that name already.")
		r.Body.Field = "name"
	case errors.Is(err, project.ErrFolderTaken):
		r = New(http.StatusConflict, "folder_taken", "One of these folders is that of another project. A folder inside of it can be a project of its own.")
		r.Body.Field = "folders"
	case errors.As(err, &answer):
		r = New(http.StatusUnprocessableEntity, "invalid_answer", answer.Sentence)
		r.Body.Field = answer.QuestionID
	case errors.As(err, &order):
		r = Field(order.Field, order.Sentence)
	case errors.As(err, &distrust):
		r = New(http.StatusConflict, "folder_untrusted", distrust.Sentence())
		r.Body.FolderTrust = NewFolderTrust(distrust)
	case errors.As(err, &person):
		r = Field(person.Field, person.Sentence)
	case errors.As(err, &file):
		r = New(http.StatusUnprocessableEntity, "invalid_attachment", file.Sentence)
		r.Body.Field = "attachments"
	case errors.Is(err, session.ErrNoAttachment):
		r = New(http.StatusNotFound, "no_attachment", "This attachment is not there any more, or not yours to see. Attach the file again.")
		r.Body.Field = "attachments"
	case errors.Is(err, session.ErrNotFound):
		r = NoSuchSession()
	case errors.Is(err, session.ErrCursor):
		r = Field("cursor", "This cursor is none that the server gave. Begin the list again.")
	case errors.Is(err, session.ErrExists):
		r = New(http.StatusConflict, "exists", "There is a session of that id already.")
	case errors.Is(err, orchestrator.ErrNotRunning):
		r = New(http.StatusConflict, "not_running", "Claude is not running in this session. Send a message or resume it first.")
	case errors.Is(err, orchestrator.ErrRunning):
		r = New(http.StatusConflict, "running", "Claude is running in this session already.")
	case errors.Is(err, orchestrator.ErrClosing):
		r = GoingAway()
	case errors.Is(err, account.ErrRefused):
		r = NotSignedIn()
	case errors.Is(err, account.ErrChanged):
		r = New(http.StatusConflict, "changed", "Somebody else has changed this meanwhile. Nothing was done; look again.")
	case errors.As(err, &place):
		r = Field(place.Field, place.Sentence)
	case errors.Is(err, account.ErrNotFound), errors.Is(err, alert.ErrNotFound):
		r = New(http.StatusNotFound, "not_found", "There is nothing of that id.")
	case t.StoreProblem(err) != "":
		r = notStored(t.StoreProblem(err))
		if t.OnStoreProblem != nil {
			t.OnStoreProblem()
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r = New(http.StatusServiceUnavailable, "unavailable", "The server could not finish this in time. It may have been done; look before you try again.")
		r.Retry = time.Second
	default:
		r = New(http.StatusInternalServerError, "internal", "Something went wrong on the server. Try again; its log says more.")
	}
	r.Cause = err
	return r
}

// Final reports whether the same command would be refused for the same reason
// for ever, as far as we promise.
func (r *Refusal) Final() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return r.Status < 500
}

// Report writes to the log what people are not told.
func Report(ctx context.Context, log *slog.Logger, what string, r *Refusal) {
	if r.Status >= 500 {
		log.ErrorContext(ctx, what, "status", r.Status, "code", r.Body.Code, "error", r.Error())
		return
	}
	log.DebugContext(ctx, what, "status", r.Status, "code", r.Body.Code, "error", r.Error())
}

// Misshapen is the refusal of what [wire.Decode] did not take.
func Misshapen(err error) *Refusal {
	var field *wire.FieldError
	if errors.As(err, &field) {
		return Field(field.Field, field.Sentence)
	}
	return New(http.StatusBadRequest, "invalid", err.Error())
}
