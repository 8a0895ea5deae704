// Package command runs the commands that people send for sessions and requests, in the same
// way over REST and the WebSocket: it checks each command and runs it once, and a repetition
// gets the same response.
package command

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Store stores the effects and acks of commands.
type Store interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Attachment(ctx context.Context, attachmentID string) (session.StoredAttachment, error)
	Command(ctx context.Context, userID, commandID string) (ack []byte, err error)
	SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) (kept []byte, err error)
	PutDraft(ctx context.Context, d account.Draft) error
	LearnTemplate(ctx context.Context, t account.Template) error
}

// Requests accepts answers; see pending.Registry.
type Requests interface {
	Answer(ctx context.Context, s pending.Submission) (pending.Request, error)
	Unapprove(ctx context.Context, sessionID, requestID string, by pending.Actor) error
	Undo(ctx context.Context, sessionID, requestID, commandID string, by pending.Actor) error
	Extend(ctx context.Context, requestID string, by time.Duration) (time.Time, error)
}

// Driver runs Claude; see orchestrator.Orchestrator.
type Driver interface {
	Start(ctx context.Context, r orchestrator.StartRequest) (sessionID string, err error)
	Send(ctx context.Context, m session.Message) error
	Interrupt(ctx context.Context, sessionID string, by pending.Actor) error
	// Running returns the session of a running process, without reading the store.
	Running(sessionID string) (session.Session, bool)
	Kill(ctx context.Context, sessionID string, force bool, reason string) error
	Resume(ctx context.Context, sessionID string, by pending.Actor) error
	Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (newSessionID string, err error)
	SetModel(ctx context.Context, sessionID, model string) error
	SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error
	Consent(ctx context.Context, sessionID string, c orchestrator.Consent, by pending.Actor) error
}

// Options configures an [Executor]. Fields are required unless they say that they may be
// nil.
type Options struct {
	Guard    *access.Guard
	Rules    *decision.Rules
	Store    Store
	Requests Requests
	Driver   Driver
	Refusals *refusal.Table
	// Attachments stores uploaded files; nil if the server accepts none.
	Attachments *attachment.Shelf `optional:"true"`
	Log         *slog.Logger
}

// An Executor runs commands. It is safe for concurrent use.
type Executor struct {
	o       Options
	once    *onceOnly
	large   *slots
	onDraft func(d account.Draft, commandID string) // nil until OnDraft
	answers [4]atomic.Int64                         // by Results
}

// New returns an executor, or an error that names a missing option.
func New(o Options) (*Executor, error) {
	if err := options.Check("command", o); err != nil {
		return nil, err
	}
	return &Executor{o: o, once: newOnceOnly(o.Store), large: newSlots()}, nil
}

// OnDraft registers f, which the executor calls after it has stored a draft, with the id of the
// command that changed the draft. f must not block. Call OnDraft before the first command.
func (e *Executor) OnDraft(f func(d account.Draft, commandID string)) { e.onDraft = f }

// AcquireLarge waits until a person may send a large message or body. ok is false if ctx
// ends first. release may be called more than once.
func (e *Executor) AcquireLarge(ctx context.Context, userID string) (release func(), ok bool) {
	return e.large.acquire(ctx, userID)
}

// Results lists the possible outcomes of a command.
var Results = [4]wire.AckResult{wire.Applied, wire.AlreadyResolved, wire.Stale, wire.Rejected}

// Answers returns how many answers had an outcome since the start.
func (e *Executor) Answers(result wire.AckResult) int64 {
	for i, r := range Results {
		if r == result {
			return e.answers[i].Load()
		}
	}
	return 0
}

func (e *Executor) countAnswer(result wire.AckResult) {
	for i, r := range Results {
		if r == result {
			e.answers[i].Add(1)
		}
	}
}

// Perform checks a command and runs it once. It blocks until the command has ended. The end
// of ctx, or of [Timeout], also ends the command.
func (e *Executor) Perform(ctx context.Context, spec Spec, c wire.Command, who account.Identity) Result {
	commandID := c.ID()
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	run := func() Result {
		out, err := e.execute(ctx, spec, c, who)
		if err != nil {
			return e.refused(ctx, commandID, err)
		}
		out.Result = wire.Applied
		return Result{Status: http.StatusOK, Outcome: out}
	}
	var end Result
	switch err := e.Admit(spec, c, who); {
	case err != nil:
		end = e.refused(ctx, commandID, err)
	case spec.storesAck && commandID != "":
		end = e.once.do(ctx, who.User.UserID, commandID, spec.withoutStore, run)
	default:
		end = run()
	}
	if _, ok := c.(*wire.PendingRequestResponse); ok {
		e.countAnswer(end.Outcome.Result)
	}
	end.Outcome.CommandID = commandID
	return end
}

// execute runs a command if the person may perform its action. It refuses a command that
// needs a process in a session without one.
func (e *Executor) execute(ctx context.Context, spec Spec, c wire.Command, who account.Identity) (wire.Outcome, error) {
	if spec.action != "" {
		ses, err := e.sessionFor(ctx, spec, wire.SessionOf(c), who)
		switch {
		case err != nil:
			return wire.Outcome{}, err
		case spec.process && ses.Kind != session.Ours:
			return wire.Outcome{}, refusal.NotOurs(ses.Kind)
		}
	}
	return spec.do(ctx, e, c, who)
}

// storeTimeout bounds the wait for the store of a command that can run without it.
const storeTimeout = 300 * time.Millisecond

// sessionFor returns the session of a command if the person may perform its action there.
func (e *Executor) sessionFor(ctx context.Context, spec Spec, sessionID string, who account.Identity) (session.Session, error) {
	if !spec.withoutStore {
		ses, _, err := e.o.Guard.Session(ctx, who, spec.action, sessionID)
		return ses, err
	}
	asking, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ses, _, err := e.o.Guard.Session(asking, who, spec.action, sessionID)
	if pending.IsTemporary(err) || err != nil && asking.Err() != nil {
		if running, ok := e.o.Driver.Running(sessionID); ok {
			return running, e.o.Guard.Recall(who, spec.action, running)
		}
	}
	return ses, err
}

// Admit checks the role of a person and the shape of a command.
func (e *Executor) Admit(spec Spec, c wire.Command, who account.Identity) error {
	if !who.User.Role.AtLeast(spec.Role) {
		return refusal.Forbidden(spec.Role)
	}
	return wire.CheckShape(c)
}

func (e *Executor) refused(ctx context.Context, commandID string, err error) Result {
	r := e.o.Refusals.Of(err)
	refusal.Report(ctx, e.o.Log, "command refused", r)
	body := r.Body
	return Result{Status: r.Status, Retry: r.Retry, temporary: !r.Final(),
		Outcome: wire.Outcome{CommandID: commandID, Result: r.Result, Error: &body, Resolved: r.Resolved}}
}

// derivedNamespace separates the ids derived from commands from all other version 5 UUIDs.
var derivedNamespace = uuid.MustParse("0f1c8a52-7a86-5d0f-8a8e-5f4f7d0b6c21")

// derivedID returns the id of an object that a command creates. It depends only on the user
// and the command, so that repeating the command after a crash creates nothing new. Without
// a command id it is random.
func derivedID(what, userID, commandID string) string {
	if commandID == "" {
		return uuid.NewString()
	}
	return uuid.NewSHA1(derivedNamespace, []byte(what+"/"+userID+"/"+commandID)).String()
}
