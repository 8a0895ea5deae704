package wsapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
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
	"noticed":                  {role: account.Viewer, make: func() command { return new(Noticed) }},
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
func (c *Noticed) id() (string, string)                { return c.CommandID, "" }
func (c *Ping) id() (string, string)                   { return c.CommandID, "" }
