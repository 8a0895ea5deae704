package wsapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// refusal is an error as a client sees it. The chain that led to it is for the
// log alone.
type refusal struct {
	status   int
	result   wire.AckResult // Rejected unless said
	body     wire.ErrorBody
	resolved *wire.Resolved
	retry    time.Duration // with 429 and 503
	allow    string        // with 405
	cause    error
}

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return r.body.Message
}

func (r *refusal) Unwrap() error { return r.cause }

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, result: wire.Rejected, body: wire.ErrorBody{Code: code, Message: message}}
}

func refuseField(field, message string) *refusal {
	r := refuse(http.StatusBadRequest, "invalid", message)
	r.body.Field = field
	return r
}

// The refusals that more than one place gives.
func notSignedIn() *refusal {
	return refuse(http.StatusUnauthorized, "not_signed_in", "You are not signed in. Sign in, or send an API token.")
}

func forbidden(need account.Role) *refusal {
	return refuse(http.StatusForbidden, "forbidden", fmt.Sprintf("This needs the role %s. Ask an admin for it.", need))
}

func noSuchSession() *refusal {
	return refuse(http.StatusNotFound, "not_found", "There is no such session, or it is not yours to see.")
}

// notOurs refuses what needs a process in a session that holds only what
// outsiders ask.
func notOurs(kind session.Kind) *refusal {
	sentence := "An agent outside sayso asks in this session. It has no process here, so its questions can be answered and nothing else."
	if kind == session.Terminal {
		sentence = "A Claude in somebody's terminal asks in this session. Go to the terminal; here its questions can be answered and nothing else."
	}
	return refuse(http.StatusConflict, "not_ours", sentence)
}

func goingAway() *refusal {
	r := refuse(http.StatusServiceUnavailable, "unavailable", "The server is starting or going away. Try again in a moment.")
	r.retry = time.Second
	return r
}

// code turns an error of any package below into what a client sees. It is the
// one table of its kind: what is not in it is a fault of ours.
func (s *Server) code(err error) *refusal {
	var (
		ready    *refusal
		notOpen  *pending.NotOpenError
		answer   *pending.InvalidError
		held     *pending.HeldError
		order    *orchestrator.InvalidError
		person   *account.InvalidError
		file     *attachment.InvalidError
		place    *alert.InvalidError
		r        *refusal
		distrust *orchestrator.UntrustedError
		forbids  *project.ForbiddenError
		shape    *project.InvalidError
		full     *project.LimitError
		field    *wire.FieldError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &field):
		r = refuseField(field.Field, field.Sentence)
	case errors.As(err, &notOpen):
		r = refuse(http.StatusConflict, "already_resolved", "")
		r.result, r.resolved = wire.AlreadyResolved, wire.NewResolved(notOpen.Request)
		if status := notOpen.Request.Status; status != pending.Answered && status != pending.Denied {
			r.result, r.body.Code = wire.Stale, "stale"
		}
		r.body.Message = "This request is no longer open. Your answer was not sent."
		if r.resolved != nil {
			r.body.Message = wire.Sentence(r.resolved.Summary) + " Your answer was not sent."
		}
	case errors.Is(err, pending.ErrStale):
		r = refuse(http.StatusConflict, "stale", "Claude asks something else now than what was shown to you. Look at the request again.")
		r.result = wire.Stale
	case errors.Is(err, pending.ErrAnotherNeeded):
		r = refuse(http.StatusConflict, "another_needed", "You have approved this. One more person must approve it, too.")
	case errors.As(err, &held):
		sentence := "%s has approved this, which takes effect in a moment. You can still deny it."
		if held.Held.Answer.Decision == pending.Deny {
			sentence = "%s has denied this, which takes effect in a moment. Nobody else can answer it meanwhile."
		}
		r = refuse(http.StatusConflict, "held", fmt.Sprintf(sentence, held.Held.Actor.Name))
	case errors.Is(err, pending.ErrTakenBack):
		r = refuse(http.StatusConflict, "taken_back", "You took this answer back, so it was not sent. Decide again.")
	case errors.Is(err, pending.ErrNothingHeld):
		r = refuse(http.StatusConflict, "nothing_held", "There is no answer of yours to take back.")
	case errors.Is(err, pending.ErrNotApproved):
		r = refuse(http.StatusConflict, "not_approved", "There is no approval of yours to take back.")
	case errors.Is(err, pending.ErrNotFound):
		r = refuse(http.StatusNotFound, "not_found", "This request is not there, or not yours to see. Nothing was sent.")
		r.result = wire.Stale
	case errors.As(err, &forbids):
		r = refuse(http.StatusForbidden, "forbidden", forbids.Sentence)
	case errors.Is(err, project.ErrHidden), errors.Is(err, project.ErrNotFound):
		r = refuse(http.StatusNotFound, "not_found", "There is nothing of that id, or it is not yours to see.")
	case errors.As(err, &full):
		r = refuse(http.StatusTooManyRequests, "limit_reached", full.Sentence)
	case errors.As(err, &shape):
		r = refuseField(shape.Field, shape.Sentence)
	case errors.Is(err, project.ErrChanged):
		r = refuse(http.StatusConflict, "changed", "Somebody else has changed this project meanwhile. Nothing was done; look again.")
	case errors.Is(err, project.ErrExists):
		r = refuse(http.StatusConflict, "exists", "There is a project of that name already.")
		r.body.Field = "name"
	case errors.Is(err, project.ErrFolderTaken):
		r = refuse(http.StatusConflict, "folder_taken", "One of these folders is that of another project. A folder inside of it can be a project of its own.")
		r.body.Field = "folders"
	case errors.As(err, &answer):
		r = refuse(http.StatusUnprocessableEntity, "invalid_answer", answer.Sentence)
		r.body.Field = answer.QuestionID
	case errors.As(err, &order):
		r = refuseField(order.Field, order.Sentence)
	case errors.As(err, &distrust):
		r = refuse(http.StatusConflict, "folder_untrusted", distrust.Sentence())
		r.body.FolderTrust = wireTrust(distrust)
	case errors.As(err, &person):
		r = refuseField(person.Field, person.Sentence)
	case errors.As(err, &file):
		r = refuse(http.StatusUnprocessableEntity, "invalid_attachment", file.Sentence)
		r.body.Field = "attachments"
	case errors.Is(err, session.ErrNoAttachment):
		r = refuse(http.StatusNotFound, "no_attachment", "This attachment is not there any more, or not yours to see. Attach the file again.")
		r.body.Field = "attachments"
	case errors.Is(err, session.ErrNotFound):
		r = noSuchSession()
	case errors.Is(err, session.ErrCursor):
		r = refuseField("cursor", "This cursor is none that the server gave. Begin the list again.")
	case errors.Is(err, session.ErrExists):
		r = refuse(http.StatusConflict, "exists", "There is a session of that id already.")
	case errors.Is(err, orchestrator.ErrNotRunning):
		r = refuse(http.StatusConflict, "not_running", "Claude is not running in this session. Send a message or resume it first.")
	case errors.Is(err, orchestrator.ErrRunning):
		r = refuse(http.StatusConflict, "running", "Claude is running in this session already.")
	case errors.Is(err, orchestrator.ErrClosing):
		r = goingAway()
	case errors.Is(err, account.ErrRefused):
		r = notSignedIn()
	case errors.Is(err, account.ErrChanged):
		r = refuse(http.StatusConflict, "changed", "Somebody else has changed this meanwhile. Nothing was done; look again.")
	case errors.As(err, &place):
		r = refuseField(place.Field, place.Sentence)
	case errors.Is(err, account.ErrNotFound), errors.Is(err, alert.ErrNotFound):
		r = refuse(http.StatusNotFound, "not_found", "There is nothing of that id.")
	case s.trouble(err) != "":
		r = notStored(s.trouble(err))
		poke(s.hub.suspect)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r = refuse(http.StatusServiceUnavailable, "unavailable", "The server could not finish this in time. It may have been done; look before you try again.")
		r.retry = time.Second
	default:
		r = refuse(http.StatusInternalServerError, "internal", "Something went wrong on the server. Try again; its log says more.")
	}
	r.cause = err
	return r
}

// final reports whether the same command would be refused for the same reason
// for ever, as far as we promise.
func (r *refusal) final() bool {
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return r.status < 500
}

// report writes to the log what people are not told.
func report(ctx context.Context, log *slog.Logger, what string, r *refusal) {
	if r.status >= 500 {
		log.ErrorContext(ctx, what, "status", r.status, "code", r.body.Code, "error", r.Error())
		return
	}
	log.DebugContext(ctx, what, "status", r.status, "code", r.body.Code, "error", r.Error())
}

// writeRefusal ends a request with a refusal.
func writeRefusal(w http.ResponseWriter, r *refusal, body any) {
	if r.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((r.retry+time.Second-1)/time.Second)))
	}
	if r.allow != "" {
		w.Header().Set("Allow", r.allow)
	}
	switch r.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	if body == nil {
		body = wire.Refusal{Error: r.body}
	}
	writeJSON(w, r.status, body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data := wire.Encode(v)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has gone needs no answer
}
