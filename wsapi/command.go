package wsapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/failpoint"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/review"
	"github.com/sayso-dev/sayso/session"
)

// Largest messages and bodies, in bytes. What is not named has smallLimit.
const (
	smallLimit  = 256 << 10
	answerLimit = 8 << 20  // an edited tool input can be a whole file
	speechLimit = 48 << 20 // about 32 MB of attachments, in base64
)

// commandTimeout bounds a command; a kill that needs every step of its order is
// the longest.
const commandTimeout = time.Minute

// A command is one of the structs of commands.go.
type command interface {
	// id returns the command_id and the session it is about, "" when none.
	id() (commandID, sessionID string)
}

// A deed is a command that both doors take. The others are about the tab that
// gives them.
type deed interface {
	command
	// do carries the command out for a person who may do so.
	do(ctx context.Context, s *Server, who account.Identity) (Outcome, error)
}

// commandSpec says how a command is treated, over REST and on the socket.
type commandSpec struct {
	role  account.Role
	limit int64
	make  func() command
	// kept: its ack is stored, so that a repetition gets the same one. The others
	// may be repeated as they are.
	kept bool
	// slow: it may take longer than an answer should wait on the same socket.
	// ordered: those of one session are carried out one after the other.
	slow, ordered bool
	// action is what the person must be allowed to do in the session of the command;
	// "" when do finds out itself.
	action project.Action
	// process: it is about the process of its session, so it must be one of ours.
	process bool
}

var commandSpecs = map[string]commandSpec{
	"pending_request_response": {role: account.Member, limit: answerLimit, make: func() command { return new(PendingRequestResponse) }},
	"send_message":             {role: account.Member, limit: speechLimit, action: project.Run, make: func() command { return new(SendMessage) }, kept: true, slow: true, ordered: true, process: true},
	"create_session":           {role: account.Member, limit: speechLimit, make: func() command { return new(CreateSession) }, kept: true, slow: true},
	"resume_session":           {role: account.Member, action: project.Run, make: func() command { return new(ResumeSession) }, kept: true, slow: true, ordered: true, process: true},
	"fork_session":             {role: account.Member, action: project.Start, make: func() command { return new(ForkSession) }, kept: true, slow: true, process: true},
	"interrupt":                {role: account.Member, action: project.Tend, make: func() command { return new(Interrupt) }, kept: true, slow: true, process: true},
	"kill_process":             {role: account.Member, action: project.End, make: func() command { return new(KillProcess) }, kept: true, slow: true, process: true},
	"set_model":                {role: account.Member, action: project.Run, make: func() command { return new(SetModel) }, kept: true, slow: true, ordered: true, process: true},
	"set_permission_mode":      {role: account.Member, action: project.Tend, make: func() command { return new(SetPermissionMode) }, kept: true, slow: true, ordered: true, process: true},
	"extend":                   {role: account.Member, make: func() command { return new(Extend) }, kept: true},
	"undo":                     {role: account.Member, make: func() command { return new(Undo) }, kept: true},
	"withdraw_approval":        {role: account.Member, make: func() command { return new(WithdrawApproval) }},
	"draft":                    {role: account.Member, make: func() command { return new(Draft) }},
	"subscribe":                {role: account.Viewer, action: project.See, make: func() command { return new(Subscribe) }},
	"unsubscribe":              {role: account.Viewer, make: func() command { return new(Unsubscribe) }},
	"typing":                   {role: account.Viewer, action: project.See, make: func() command { return new(Typing) }},
	"looking":                  {role: account.Viewer, make: func() command { return new(Looking) }},
	"ping":                     {role: account.Viewer, make: func() command { return new(Ping) }},
}

func (spec commandSpec) most() int64 { return max(spec.limit, smallLimit) }

// perform checks a command and carries it out, once.
func (s *Server) perform(ctx context.Context, spec commandSpec, c deed, who account.Identity) settled {
	commandID, _ := c.id()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	run := func() settled {
		out, err := s.carryOut(ctx, spec, c, who)
		if err != nil {
			return s.refused(ctx, commandID, err)
		}
		out.Result = Applied
		return settled{Status: http.StatusOK, Outcome: out}
	}
	var end settled
	switch err := s.admit(spec, c, who); {
	case err != nil:
		end = s.refused(ctx, commandID, err)
	case spec.kept && commandID != "":
		end = s.commands.do(ctx, who.User.UserID, commandID, run)
	default:
		end = run()
	}
	if _, ok := c.(*PendingRequestResponse); ok {
		s.counts.countAnswer(end.Outcome.Result)
	}
	end.Outcome.CommandID = commandID
	return end
}

// carryOut does what a command says, if the person may have it done, unless it
// needs a process where none can be.
func (s *Server) carryOut(ctx context.Context, spec commandSpec, c deed, who account.Identity) (Outcome, error) {
	if spec.action != "" {
		_, sessionID := c.id()
		ses, err := s.may(ctx, who, spec.action, sessionID)
		switch {
		case err != nil:
			return Outcome{}, err
		case spec.process && ses.Kind != session.Ours:
			return Outcome{}, notOurs(ses.Kind)
		}
	}
	return c.do(ctx, s, who)
}

// admit checks role and shape.
func (s *Server) admit(spec commandSpec, c command, who account.Identity) error {
	if !who.User.Role.AtLeast(spec.role) {
		return forbidden(spec.role)
	}
	return checkShape(c)
}

func (s *Server) refused(ctx context.Context, commandID string, err error) settled {
	r := s.code(err)
	report(ctx, s.o.Log, "command refused", r)
	body := r.body
	return settled{Status: r.status, retry: r.retry, passing: !r.final(),
		Outcome: Outcome{CommandID: commandID, Result: r.result, Error: &body, Resolved: r.resolved}}
}

// settled is how a command ended, as it is stored.
type settled struct {
	Status  int     `json:"status"`
	Outcome Outcome `json:"outcome"`

	retry   time.Duration
	passing bool // the same command may end otherwise next time, so it is not stored
}

// onceOnly carries out a command of a user once and answers repetitions from
// what is stored.
type onceOnly struct {
	store Store

	mu      sync.Mutex          // protects following
	running map[string]*running // by user and command
}

type running struct {
	done chan struct{} // closed when end is set
	end  settled
}

func newOnceOnly(store Store) *onceOnly {
	return &onceOnly{store: store, running: map[string]*running{}}
}

func (o *onceOnly) do(ctx context.Context, userID, commandID string, run func() settled) settled {
	key := userID + "/" + commandID
	o.mu.Lock()
	if r, ok := o.running[key]; ok {
		o.mu.Unlock()
		select {
		case <-r.done:
			return r.end
		case <-ctx.Done():
			return unavailable()
		}
	}
	r := &running{done: make(chan struct{}), end: unavailable()}
	o.running[key] = r
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.running, key)
		o.mu.Unlock()
		close(r.done)
	}()
	r.end = o.lookUpOrRun(ctx, userID, commandID, run)
	return r.end
}

func (o *onceOnly) lookUpOrRun(ctx context.Context, userID, commandID string, run func() settled) settled {
	var end settled
	stored, err := o.store.Command(ctx, userID, commandID)
	switch {
	case err == nil && json.Unmarshal(stored, &end) == nil:
		return end
	case err != nil && !errors.Is(err, account.ErrNotFound):
		return unavailable()
	}
	end = run()
	if end.passing {
		return end
	}
	// What was done is done, also when its ack cannot be kept: the ids that
	// follow from the command make a repetition harmless.
	kept, err := o.store.SaveCommand(ctx, userID, commandID, encode(end), time.Now())
	var first settled
	if err == nil && json.Unmarshal(kept, &first) == nil {
		return first
	}
	return end
}

func unavailable() settled {
	r := goingAway()
	return settled{Status: r.status, passing: true, retry: r.retry, Outcome: Outcome{Result: Rejected, Error: &r.body}}
}

func (c *PendingRequestResponse) id() (string, string) { return c.CommandID, c.SessionID }
func (c *Extend) id() (string, string)                 { return c.CommandID, c.SessionID }
func (c *Undo) id() (string, string)                   { return c.CommandID, c.SessionID }
func (c *WithdrawApproval) id() (string, string)       { return c.CommandID, c.SessionID }
func (c *SendMessage) id() (string, string)            { return c.CommandID, c.SessionID }
func (c *CreateSession) id() (string, string)          { return c.CommandID, "" }
func (c *ResumeSession) id() (string, string)          { return c.CommandID, c.SessionID }
func (c *ForkSession) id() (string, string)            { return c.CommandID, c.SessionID }
func (c *Interrupt) id() (string, string)              { return c.CommandID, c.SessionID }
func (c *KillProcess) id() (string, string)            { return c.CommandID, c.SessionID }
func (c *SetModel) id() (string, string)               { return c.CommandID, c.SessionID }
func (c *SetPermissionMode) id() (string, string)      { return c.CommandID, c.SessionID }
func (c *Draft) id() (string, string)                  { return c.CommandID, c.SessionID }
func (c *Subscribe) id() (string, string)              { return c.CommandID, c.SessionID }
func (c *Unsubscribe) id() (string, string)            { return c.CommandID, c.SessionID }
func (c *Typing) id() (string, string)                 { return c.CommandID, c.SessionID }
func (c *Looking) id() (string, string)                { return c.CommandID, "" }
func (c *Ping) id() (string, string)                   { return c.CommandID, "" }

// do passes the answer on. A repetition is recognised by pending, which stores
// the command with the answer; so the ack needs no row of its own.
func (c *PendingRequestResponse) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	if c.RequestID == "" {
		return Outcome{}, refuseField("request_id", `The field "request_id" is missing.`)
	}
	row, ses, book, err := s.seeRequest(ctx, who, project.See, c.RequestID)
	if err != nil {
		return Outcome{}, err
	}
	if c.SessionID == "" {
		c.SessionID = row.SessionID
	}
	if c.RequestType == "" {
		c.RequestType = row.RequestType
	}
	if c.Batch || len(c.Together) > 0 {
		if err := s.mayBatch(ctx, who, c, row, ses); err != nil {
			return Outcome{}, err
		}
	}
	var two bool
	var mistrusted string
	if !row.Status.Final() && c.SessionID == row.SessionID {
		given := pending.Answer{Decision: c.Decision, UpdatedInput: unlessNull(c.UpdatedInput), UpdatedPermissions: unlessNull(c.UpdatedPermissions)}
		if two, mistrusted, err = s.mayAnswer(ctx, book, person(who), given, row, ses); err != nil {
			return Outcome{}, err
		}
	}
	sub := pending.Submission{
		Seen: row, RequestID: c.RequestID, SessionID: c.SessionID, RequestType: c.RequestType, InputHash: c.InputHash,
		CommandID: c.CommandID, Actor: actor(who),
		Decision: c.Decision, Message: c.Message, Interrupt: c.Interrupt,
		UpdatedInput: unlessNull(c.UpdatedInput), UpdatedPermissions: unlessNull(c.UpdatedPermissions),
		Answers: c.Answers, Two: two, Mistrusted: mistrusted,
		Hold: time.Duration(c.UndoMS) * time.Millisecond,
	}
	for _, r := range c.Responses {
		sub.Responses = append(sub.Responses, pending.Response{ID: r.ID, Values: r.Values, Text: r.Text})
	}
	if err := failpoint.Hit("answer.received"); err != nil {
		return Outcome{}, err
	}
	now, err := s.o.Requests.Answer(ctx, sub)
	var out Outcome
	if err == nil && now.Held.Stands() {
		out.HeldUntil = optionalSeconds(now.Held.Until)
	}
	if err == nil {
		s.learnFrom(ctx, who, c)
	}
	return out, failpoint.After("answer.handled", err)
}

// mostTogether is what one confirmation approves at most: no more than a person
// reads.
const mostTogether = 20

// mayBatch refuses an answer that is one of several given at once, and needs a look
// of its own.
func (s *Server) mayBatch(ctx context.Context, who account.Identity, c *PendingRequestResponse, row pending.Request, ses session.Session) error {
	switch {
	case !c.Batch:
		return refuseField("together", `The field "together" goes with "batch".`)
	case row.RequestType != pending.ToolApproval || c.Decision != pending.Allow || len(unlessNull(c.UpdatedInput)) > 0 || len(unlessNull(c.UpdatedPermissions)) > 0:
		return refuseField("batch", "Together with others a tool can only be approved, as it was asked and this once. Answer this request on its own.")
	case s.levels.of(row, ses.CWD) != review.Low:
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
func (s *Server) learnFrom(ctx context.Context, who account.Identity, c *PendingRequestResponse) {
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
	in := placeOf(ses)
	if row.RequestType != pending.ToolApproval || given.Decision != pending.Allow {
		return false, "", book.May(me, project.Answer, in)
	}
	call := project.Call{Tool: row.ToolName, Input: row.ToolInput, CWD: ses.CWD}
	ruling := book.Approval(in, call, given.UpdatedInput)
	if err := book.MayApprove(me, in, ruling, row.ToolName); err != nil {
		return false, "", err
	}
	mode, tools := granted(given.UpdatedPermissions)
	if err := book.MayLoosen(me, in, mode, tools); err != nil {
		return false, "", err
	}
	if first := row.Approval; first != nil {
		user, err := s.o.Directory.User(ctx, first.Actor.UserID)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return false, "", err
		}
		them := project.Person{UserID: user.UserID, Role: user.Role}
		if err != nil || user.Disabled || book.MayApprove(them, in, ruling, row.ToolName) != nil {
			mistrusted = first.Actor.UserID
		}
	}
	return ruling.Effect == project.TwoPeople, mistrusted, nil
}

// do takes back the first of two approvals.
func (c *WithdrawApproval) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	r, _, err := s.mayRequest(ctx, who, project.See, c.RequestID)
	switch {
	case err != nil:
		return Outcome{}, err
	case c.SessionID != "" && r.SessionID != c.SessionID:
		return Outcome{}, pending.ErrNotFound
	}
	return Outcome{}, s.o.Requests.Unapprove(ctx, r.SessionID, c.RequestID, actor(who))
}

// do takes back an answer that is held.
func (c *Undo) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	r, _, err := s.mayRequest(ctx, who, project.See, c.RequestID)
	switch {
	case err != nil:
		return Outcome{}, err
	case c.SessionID != "" && r.SessionID != c.SessionID:
		return Outcome{}, pending.ErrNotFound
	}
	return Outcome{}, s.o.Requests.Undo(ctx, r.SessionID, c.RequestID, c.Answer, actor(who))
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
		return closed(r.body.Message), nil
	}
	return "", err
}

// granted is what Claude is spared asking by permissions that go with an
// approval. What has a wrong shape is refused behind this.
func granted(permissions json.RawMessage) (mode string, tools []string) {
	var list []struct {
		Type  string `json:"type"`
		Mode  string `json:"mode"`
		Rules []struct {
			ToolName string `json:"toolName"`
		} `json:"rules"`
	}
	_ = json.Unmarshal(permissions, &list)
	for _, p := range list {
		if p.Type == "setMode" && mode != "bypassPermissions" && p.Mode != "default" && p.Mode != "plan" {
			mode = p.Mode
		}
		for _, r := range p.Rules {
			tools = append(tools, r.ToolName)
		}
	}
	return mode, tools
}

// unknown reports whether an error says that a session is not known here at all.
func (s *Server) unknown(ctx context.Context, sessionID string, err error) bool {
	if !errors.Is(err, session.ErrNotFound) {
		return false
	}
	_, err = s.o.Store.Session(ctx, sessionID)
	return errors.Is(err, session.ErrNotFound)
}

// extendBy is how much longer one press waits.
const extendBy = 5 * time.Minute

func (c *Extend) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	r, _, err := s.mayRequest(ctx, who, project.Tend, c.RequestID)
	switch {
	case err != nil:
		return Outcome{}, err
	case c.SessionID != "" && r.SessionID != c.SessionID:
		return Outcome{}, pending.ErrNotFound
	}
	to, err := s.o.Requests.Extend(ctx, c.RequestID, extendBy)
	var no *pending.InvalidError
	var over *pending.NotOpenError
	switch {
	case errors.As(err, &no):
		return Outcome{}, refuse(http.StatusUnprocessableEntity, "cannot_extend", no.Sentence)
	case errors.As(err, &over):
		r := s.code(err)
		r.body.Message = "This request is no longer open, so it cannot wait longer."
		return Outcome{}, r
	}
	return Outcome{ExpiresAt: optionalSeconds(to)}, err
}

// learnedMessage is how long a message is that may be said again, in bytes.
const learnedMessage = 200

func (c *SendMessage) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	if err := s.consent(ctx, c.SessionID, c.Trust, c.WithoutSettings, who); err != nil {
		return Outcome{}, err
	}
	attached, err := s.attached(ctx, c.Attachments, c.SessionID, c.CommandID, who)
	if err != nil {
		return Outcome{}, err
	}
	m := session.Message{
		MessageID: derivedID("message", who.User.UserID, c.CommandID), SessionID: c.SessionID,
		Text: c.Text, Attachments: attached, By: actor(who), CreatedAt: time.Now(),
	}
	err = s.o.Driver.Send(ctx, m)
	// What is said again and again is short.
	if err == nil && len(c.Text) <= learnedMessage && !strings.ContainsAny(c.Text, "\n\r") {
		if err := s.learn(ctx, who, account.MessagePlace, c.Text); err != nil {
			s.o.Log.WarnContext(ctx, "what was said is not kept for the next time", "error", err)
		}
	}
	return Outcome{MessageID: m.MessageID}, err
}

func (c *CreateSession) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	if c.Resume != "" {
		// A conversation that is known here is resumed and forked by who may see it.
		if _, err := s.may(ctx, who, project.See, c.Resume); err != nil && !s.unknown(ctx, c.Resume, err) {
			return Outcome{}, err
		}
	}
	attached, err := s.attached(ctx, c.Attachments, "", c.CommandID, who)
	if err != nil {
		return Outcome{}, err
	}
	sessionID, err := s.o.Driver.Start(ctx, orchestrator.StartRequest{
		SessionID: derivedID("session", who.User.UserID, c.CommandID),
		CWD:       c.CWD, Prompt: c.Prompt, Title: c.Title, Model: c.Model, PermissionMode: c.PermissionMode,
		Attachments: attached, AllowedTools: c.AllowedTools,
		Resume: c.Resume, Fork: c.Fork, Demo: c.Demo, By: actor(who),
		Consent: orchestrator.Consent{Trust: c.Trust, LeaveOut: c.WithoutSettings},
		Permit:  func(folder, mode string) error { return s.mayStart(ctx, who, folder, mode, c.AllowedTools) },
	})
	return Outcome{SessionID: sessionID}, err
}

func (c *ResumeSession) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	if err := s.consent(ctx, c.SessionID, c.Trust, c.WithoutSettings, who); err != nil {
		return Outcome{}, err
	}
	return Outcome{SessionID: c.SessionID}, s.o.Driver.Resume(ctx, c.SessionID, actor(who))
}

func (c *ForkSession) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	from, err := s.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return Outcome{}, err
	}
	if err := s.mayStart(ctx, who, from.CWD, from.PermissionMode, from.AllowedTools); err != nil {
		return Outcome{}, err
	}
	if err := s.consent(ctx, c.SessionID, c.Trust, c.WithoutSettings, who); err != nil {
		return Outcome{}, err
	}
	sessionID, err := s.o.Driver.Fork(ctx, c.SessionID, actor(who))
	return Outcome{SessionID: sessionID}, err
}

func (c *Interrupt) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	return Outcome{}, s.o.Driver.Interrupt(ctx, c.SessionID, actor(who))
}

func (c *KillProcess) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	return Outcome{}, s.o.Driver.Kill(ctx, c.SessionID, c.Force, "Ended by "+who.User.Name+".")
}

func (c *SetModel) do(ctx context.Context, s *Server, _ account.Identity) (Outcome, error) {
	return Outcome{}, s.o.Driver.SetModel(ctx, c.SessionID, c.Model)
}

func (c *SetPermissionMode) do(ctx context.Context, s *Server, who account.Identity) (Outcome, error) {
	ses, err := s.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return Outcome{}, err
	}
	book, err := s.book(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if err := book.MayLoosen(person(who), placeOf(ses), c.PermissionMode, nil); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, s.o.Driver.SetPermissionMode(ctx, c.SessionID, c.PermissionMode, actor(who))
}

func unlessNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
