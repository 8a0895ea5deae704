package command

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// answer submits an answer. Package pending stores the command with the answer and
// recognizes a repetition, so its ack needs no row.
func (e *Executor) answer(ctx context.Context, c *wire.PendingRequestResponse, who account.Identity) (wire.Outcome, error) {
	if err := access.CheckSameUser(c.UserID, who); err != nil {
		return wire.Outcome{}, err
	}
	row, ses, book, err := e.o.Guard.Request(ctx, who, project.See, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	if c.SessionID == "" { // over REST, the URL names the request
		c.SessionID = row.SessionID
	}
	switch {
	case c.Batch:
		b := decision.Batch{Decision: c.Decision, Changed: len(nilIfNull(c.UpdatedInput)) > 0 || len(nilIfNull(c.UpdatedPermissions)) > 0, Together: c.Together}
		if err := e.o.Rules.MayBatch(ctx, who, b, row, ses); err != nil {
			return wire.Outcome{}, err
		}
	case len(c.Together) > 0:
		return wire.Outcome{}, problem.For("together", "batch_together")
	}
	var permission decision.Permission
	if !row.Status.Final() && c.SessionID == row.SessionID {
		given := pending.Answer{Decision: c.Decision, UpdatedInput: nilIfNull(c.UpdatedInput), UpdatedPermissions: nilIfNull(c.UpdatedPermissions)}
		if permission, err = e.o.Rules.MayAnswer(ctx, book, access.Person(who), given, row, ses); err != nil {
			return wire.Outcome{}, err
		}
	}
	sub := pending.Submission{
		Seen: row, RequestID: c.RequestID, SessionID: c.SessionID, RequestType: c.RequestType, InputHash: c.InputHash,
		CommandID: c.CommandID, Actor: access.Actor(who), CredentialID: who.Credential.CredentialID,
		Decision: c.Decision, Message: c.Message, Interrupt: c.Interrupt,
		UpdatedInput: nilIfNull(c.UpdatedInput), UpdatedPermissions: nilIfNull(c.UpdatedPermissions),
		Answers: c.Answers, RequireSecondApproval: permission.RequireSecondApproval, InvalidatedApproverID: permission.InvalidatedApproverID,
		Second: e.o.Rules.SecondApproval(who),
		Hold:   time.Duration(c.UndoMS) * time.Millisecond,
	}
	if c.Responses != nil {
		sub.Responses = []pending.Response{} // an empty answer, not a missing one
	}
	for _, r := range c.Responses {
		sub.Responses = append(sub.Responses, pending.Response{ID: r.ID, Values: r.Values, Text: r.Text})
	}
	if err := failpoint.Hit("answer.received"); err != nil {
		return wire.Outcome{}, err
	}
	now, err := e.o.Requests.Answer(ctx, sub)
	var out wire.Outcome
	if err == nil && now.Held.Active() {
		out.HeldUntil = wire.SecondsOrNull(now.Held.Until)
	}
	if err == nil {
		e.learnFrom(ctx, who, c)
	}
	return out, failpoint.After("answer.handled", err)
}

// learnFrom saves the texts of an answer as suggestions for saved replies.
func (e *Executor) learnFrom(ctx context.Context, who account.Identity, c *wire.PendingRequestResponse) {
	err := error(nil)
	if c.Decision == pending.Deny {
		err = e.Learn(ctx, who, account.ReasonPlace, c.Message)
	}
	for _, r := range c.Responses {
		err = errors.Join(err, e.Learn(ctx, who, account.AnswerPlace, r.Text))
	}
	if err != nil {
		e.o.Log.WarnContext(ctx, "cannot save a suggested reply", "error", err)
	}
}

// request returns a request in which a person may perform an action. A sessionID, if given,
// must be that of the request.
func (e *Executor) request(ctx context.Context, who account.Identity, action project.Action, sessionID, requestID string) (pending.Request, error) {
	r, _, _, err := e.o.Guard.Request(ctx, who, action, requestID)
	if err == nil && sessionID != "" && r.SessionID != sessionID {
		err = pending.ErrNotFound
	}
	return r, err
}

// withdrawApproval withdraws the first of two approvals.
func (e *Executor) withdrawApproval(ctx context.Context, c *wire.WithdrawApproval, who account.Identity) (wire.Outcome, error) {
	r, err := e.request(ctx, who, project.See, c.SessionID, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, e.o.Requests.Unapprove(ctx, r.SessionID, c.RequestID, access.Actor(who))
}

// undo undoes a held answer.
func (e *Executor) undo(ctx context.Context, c *wire.Undo, who account.Identity) (wire.Outcome, error) {
	r, err := e.request(ctx, who, project.See, c.SessionID, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, e.o.Requests.Undo(ctx, r.SessionID, c.RequestID, c.Answer, access.Actor(who))
}

// extendBy is how much time one extension adds.
const extendBy = 5 * time.Minute

func (e *Executor) extend(ctx context.Context, c *wire.Extend, who account.Identity) (wire.Outcome, error) {
	if _, err := e.request(ctx, who, project.Tend, c.SessionID, c.RequestID); err != nil {
		return wire.Outcome{}, err
	}
	to, err := e.o.Requests.Extend(ctx, c.RequestID, extendBy)
	if errors.Is(err, pending.ErrNotOpen) {
		r := e.o.Refusals.Of(err)
		r.Body.Message, r.Body.Reason = problem.New("request_closed_extend").Message, "request_closed_extend"
		return wire.Outcome{}, r
	}
	return wire.Outcome{ExpiresAt: wire.SecondsOrNull(to)}, err
}

func nilIfNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
