package wsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// answer passes an answer on. A repetition is recognised by pending, which stores
// the command with the answer; so the ack needs no row of its own.
func (s *Server) answer(ctx context.Context, c *wire.PendingRequestResponse, who account.Identity) (wire.Outcome, error) {
	if err := givenBy(c.UserID, who); err != nil {
		return wire.Outcome{}, err
	}
	row, ses, book, err := s.seeRequest(ctx, who, project.See, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	if c.SessionID == "" { // over REST: the address names the request
		c.SessionID = row.SessionID
	}
	if c.Batch || len(c.Together) > 0 {
		if err := s.mayBatch(ctx, who, c, row, ses); err != nil {
			return wire.Outcome{}, err
		}
	}
	var two bool
	var mistrusted string
	if !row.Status.Final() && c.SessionID == row.SessionID {
		given := pending.Answer{Decision: c.Decision, UpdatedInput: unlessNull(c.UpdatedInput), UpdatedPermissions: unlessNull(c.UpdatedPermissions)}
		if two, mistrusted, err = s.mayAnswer(ctx, book, access.Person(who), given, row, ses); err != nil {
			return wire.Outcome{}, err
		}
	}
	sub := pending.Submission{
		Seen: row, RequestID: c.RequestID, SessionID: c.SessionID, RequestType: c.RequestType, InputHash: c.InputHash,
		CommandID: c.CommandID, Actor: access.Actor(who), CredentialID: who.Credential.CredentialID,
		Decision: c.Decision, Message: c.Message, Interrupt: c.Interrupt,
		UpdatedInput: unlessNull(c.UpdatedInput), UpdatedPermissions: unlessNull(c.UpdatedPermissions),
		Answers: c.Answers, Two: two, Mistrusted: mistrusted,
		MayJoin: func(first pending.Approval) error { return s.mayJoin(ctx, who, first) },
		Hold:    time.Duration(c.UndoMS) * time.Millisecond,
	}
	if c.Responses != nil {
		sub.Responses = []pending.Response{} // an empty answer is not none
	}
	for _, r := range c.Responses {
		sub.Responses = append(sub.Responses, pending.Response{ID: r.ID, Values: r.Values, Text: r.Text})
	}
	if err := failpoint.Hit("answer.received"); err != nil {
		return wire.Outcome{}, err
	}
	now, err := s.o.Requests.Answer(ctx, sub)
	var out wire.Outcome
	if err == nil && now.Held.Stands() {
		out.HeldUntil = wire.SecondsOrNull(now.Held.Until)
	}
	if err == nil {
		s.learnFrom(ctx, who, c)
	}
	return out, failpoint.After("answer.handled", err)
}

// givenBy refuses what one person decided or wrote and another one's browser sends,
// as it may after somebody else signed in there. A command that names nobody is of
// whoever sends it.
func givenBy(userID string, who account.Identity) error {
	if userID == "" || userID == who.User.UserID {
		return nil
	}
	return refuse(http.StatusForbidden, "other_person", "Somebody else gave this answer or wrote this message before you signed in. It was not used.")
}

// mostTogether is what one confirmation approves at most: no more than a person
// reads.
const mostTogether = 20

// mayBatch refuses an answer that is one of several given at once, and needs a look
// of its own.
func (s *Server) mayBatch(ctx context.Context, who account.Identity, c *wire.PendingRequestResponse, row pending.Request, ses session.Session) error {
	switch {
	case !c.Batch:
		return refuseField("together", `The field "together" goes with "batch".`)
	case row.RequestType != pending.ToolApproval || c.Decision != pending.Allow || len(unlessNull(c.UpdatedInput)) > 0 || len(unlessNull(c.UpdatedPermissions)) > 0:
		return refuseField("batch", "Together with others a tool can only be approved, as it was asked and this once. Answer this request on its own.")
	case row.Policy.Restricts():
		return refuse(http.StatusUnprocessableEntity, "not_in_a_batch", "Claude Code demands that this is decided on its own. Open it, and decide about it there.")
	case s.levels.Of(row, ses.CWD) != review.Low:
		return refuse(http.StatusUnprocessableEntity, "not_low_risk", "This is not of low risk, so it cannot be approved together with others. Open it, and decide about it on its own.")
	case len(c.Together) == 0:
		return nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(c.Together)))
	one := len(c.Together) <= mostTogether && len(ids) == len(c.Together) && slices.Contains(ids, row.RequestID)
	for i := 0; one && i < len(ids); i++ {
		other, _, err := s.mayRequest(ctx, who, project.See, ids[i])
		switch {
		case errors.Is(err, pending.ErrNotFound): // its session was deleted since; the others stand
		case err != nil:
			return err
		default:
			one = other.ToolName == row.ToolName
		}
	}
	if !one {
		return refuse(http.StatusUnprocessableEntity, "not_one_batch", "Only requests of the same tool can be approved together, 20 at most, each named once. Open this one, and decide about it on its own.")
	}
	return nil
}

// learnFrom keeps the words of an answer for the next time.
func (s *Server) learnFrom(ctx context.Context, who account.Identity, c *wire.PendingRequestResponse) {
	err := error(nil)
	if c.Decision == pending.Deny {
		err = s.learn(ctx, who, account.ReasonPlace, c.Message)
	}
	for _, r := range c.Responses {
		err = errors.Join(err, s.learn(ctx, who, account.AnswerPlace, r.Text))
	}
	if err != nil {
		s.o.Log.WarnContext(ctx, "what was said is not kept for the next time", "error", err)
	}
}

// mayAnswer holds an answer against the rights and rules of the project. two says
// that another person must approve, too; mistrusted is whoever has approved and may
// no longer.
func (s *Server) mayAnswer(ctx context.Context, book *project.Book, me project.Person, given pending.Answer, row pending.Request, ses session.Session) (two bool, mistrusted string, err error) {
	in := access.PlaceOf(ses)
	if row.RequestType != pending.ToolApproval || given.Decision != pending.Allow {
		return false, "", book.May(me, project.Answer, in)
	}
	call := project.Call{Tool: row.ToolName, Input: row.ToolInput, CWD: ses.CWD}
	ruling := book.Approval(in, call, given.UpdatedInput)
	if err := book.MayApprove(me, in, ruling, row.ToolName); err != nil {
		return false, "", err
	}
	for _, g := range granted(given.UpdatedPermissions) {
		if err := book.MayGrant(me, in, g.reach, ses.CWD, g.mode, g.tools); err != nil {
			return false, "", err
		}
	}
	if first := row.Approval; first != nil {
		user, err := s.o.Directory.User(ctx, first.Actor.UserID)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return false, "", err
		}
		them := project.Person{UserID: user.UserID, Role: user.Role}
		alive, problem := s.credentialLives(ctx, first.CredentialID)
		if problem != nil {
			return false, "", problem
		}
		if !alive || err != nil || user.Disabled || book.MayApprove(them, in, ruling, row.ToolName) != nil {
			mistrusted = first.Actor.UserID
		}
	}
	return ruling.Effect == project.TwoPeople, mistrusted, nil
}

// mayJoin says why the approval of a person does not count as the second one beside
// another's: one of the two can act as the other, or somebody else as both, because they
// made a way to sign in.
func (s *Server) mayJoin(ctx context.Context, who account.Identity, first pending.Approval) error {
	mine, err := s.o.Directory.CredentialMakers(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	theirs, err := s.o.Directory.CredentialMakers(ctx, first.Actor.UserID)
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		return err
	}
	no := func(format string, args ...any) error {
		return refuse(http.StatusConflict, "not_independent", fmt.Sprintf(format, args...))
	}
	const instead = "so this does not count as the second approval. Ask another person, or approve again when that is a day ago and no such token is left."
	made := who.Credential.CreatedBy
	switch {
	case slices.Contains(mine, first.Actor.UserID):
		return no("%s made or reset your password, a token or another way to sign in as you, %s", first.Actor.Name, instead)
	case slices.Contains(theirs, who.User.UserID):
		return no("You made or reset the password, a token or another way to sign in as %s, who approved first, %s", first.Actor.Name, instead)
	case (who.Credential.Kind == account.APIToken || who.Credential.Bound) && made != "" && slices.Contains(theirs, made):
		return no("Whoever made this token also made a way to sign in as %s, who approved first, %s", first.Actor.Name, instead)
	}
	return nil
}

// grantGiven is what Claude is spared asking by a permission that goes with an approval.
type grantGiven struct {
	reach project.Reach
	mode  string
	tools []string
}

// granted reads the permissions that go with an approval. What has a wrong shape is
// refused behind this; what nobody knows is taken for what holds everywhere.
func granted(permissions json.RawMessage) (all []grantGiven) {
	var list []struct {
		Type        string        `json:"type"`
		Mode        string        `json:"mode"`
		Behavior    string        `json:"behavior"`
		Destination pending.Scope `json:"destination"`
		Rules       []struct {
			ToolName    string `json:"toolName"`
			RuleContent string `json:"ruleContent"`
		} `json:"rules"`
	}
	_ = json.Unmarshal(permissions, &list)
	for _, p := range list {
		g := grantGiven{reach: project.ReachUser}
		switch p.Destination {
		case pending.ScopeSession:
			g.reach = project.ReachSession
		case pending.ScopeLocal, pending.ScopeProject:
			g.reach = project.ReachFolder
		}
		if p.Type == "setMode" && p.Mode != "default" && p.Mode != "plan" {
			g.mode = p.Mode
		}
		if p.Type == "addRules" && (p.Behavior == "deny" || p.Behavior == "ask") {
			continue
		}
		for _, r := range p.Rules {
			g.tools = append(g.tools, rule.Rule{Tool: r.ToolName, Content: r.RuleContent}.String())
		}
		all = append(all, g)
	}
	return all
}

// named is a request with which who may do this, and of the session, when that is said.
func (s *Server) named(ctx context.Context, who account.Identity, action project.Action, sessionID, requestID string) (pending.Request, error) {
	r, _, err := s.mayRequest(ctx, who, action, requestID)
	if err == nil && sessionID != "" && r.SessionID != sessionID {
		err = pending.ErrNotFound
	}
	return r, err
}

// withdrawApproval takes back the first of two approvals.
func (s *Server) withdrawApproval(ctx context.Context, c *wire.WithdrawApproval, who account.Identity) (wire.Outcome, error) {
	r, err := s.named(ctx, who, project.See, c.SessionID, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, s.o.Requests.Unapprove(ctx, r.SessionID, c.RequestID, access.Actor(who))
}

// undo takes back an answer that is held.
func (s *Server) undo(ctx context.Context, c *wire.Undo, who account.Identity) (wire.Outcome, error) {
	r, err := s.named(ctx, who, project.See, c.SessionID, c.RequestID)
	if err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, s.o.Requests.Undo(ctx, r.SessionID, c.RequestID, c.Answer, access.Actor(who))
}

// MayCount says whether a held answer may count now that its time has passed:
// whoever gave it must be there and be allowed to, as when they gave it. why is a
// sentence when they are not; an error leaves it open.
func (s *Server) MayCount(ctx context.Context, row pending.Request) (why string, err error) {
	h := row.Held
	user, err := s.o.Directory.User(ctx, h.Actor.UserID)
	if errors.Is(err, account.ErrNotFound) || err == nil && user.Disabled {
		return "They can no longer sign in.", nil
	}
	if err != nil {
		return "", err
	}
	ses, err := s.o.Store.Session(ctx, row.SessionID)
	if err != nil {
		return "", err
	}
	alive, err := s.credentialLives(ctx, h.CredentialID)
	if err != nil {
		return "", err
	}
	if !alive {
		return "The sign-in or token it was given with has ended.", nil
	}
	me := project.Person{UserID: user.UserID, Role: user.Role}
	if !user.Role.AtLeast(account.Member) {
		return "They may not answer any more.", nil
	}
	book, err := s.book(ctx)
	if err != nil {
		return "", err
	}
	two, _, err := s.mayAnswer(ctx, book, me, h.Answer, row, ses)
	switch {
	case err == nil && two:
		return "Two people must approve this now.", nil
	case err == nil:
		return "", nil
	}
	switch r := s.code(err); {
	case errors.Is(err, project.ErrHidden), r.status == http.StatusForbidden:
		return "They may not answer this any more.", nil
	case r.status < 500:
		return wire.Sentence(r.body.Message), nil
	}
	return "", err
}

// credentialLives reports whether what somebody came with is still good; what is not
// known is.
func (s *Server) credentialLives(ctx context.Context, credentialID string) (bool, error) {
	if credentialID == "" {
		return true, nil
	}
	return s.o.Directory.Lives(ctx, credentialID)
}

// extendBy is how much longer one press waits.
const extendBy = 5 * time.Minute

func (s *Server) extend(ctx context.Context, c *wire.Extend, who account.Identity) (wire.Outcome, error) {
	if _, err := s.named(ctx, who, project.Tend, c.SessionID, c.RequestID); err != nil {
		return wire.Outcome{}, err
	}
	to, err := s.o.Requests.Extend(ctx, c.RequestID, extendBy)
	var no *pending.InvalidError
	var over *pending.NotOpenError
	switch {
	case errors.As(err, &no):
		return wire.Outcome{}, refuse(http.StatusUnprocessableEntity, "cannot_extend", no.Sentence)
	case errors.As(err, &over):
		r := s.code(err)
		r.body.Message = "This request is no longer open, so it cannot wait longer."
		return wire.Outcome{}, r
	}
	return wire.Outcome{ExpiresAt: wire.SecondsOrNull(to)}, err
}

func unlessNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
