package wsapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
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

// commandSpec says how a command is treated, over REST and on the socket.
type commandSpec struct {
	role  account.Role
	limit int64
	make  func() wire.Command
	// do carries the command out for a person who may do so. It is nil for the
	// commands about the tab that gives them.
	do func(ctx context.Context, s *Server, c wire.Command, who account.Identity) (wire.Outcome, error)
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
	"pending_request_response": {role: account.Member, limit: answerLimit, make: func() wire.Command { return new(wire.PendingRequestResponse) }, do: action((*Server).answer)},
	"send_message":             {role: account.Member, limit: speechLimit, action: project.Run, make: func() wire.Command { return new(wire.SendMessage) }, do: action((*Server).sendMessage), kept: true, slow: true, ordered: true, process: true},
	"create_session":           {role: account.Member, limit: speechLimit, make: func() wire.Command { return new(wire.CreateSession) }, do: action((*Server).createSession), kept: true, slow: true},
	"resume_session":           {role: account.Member, action: project.Run, make: func() wire.Command { return new(wire.ResumeSession) }, do: action((*Server).resumeSession), kept: true, slow: true, ordered: true, process: true},
	"fork_session":             {role: account.Member, action: project.Start, make: func() wire.Command { return new(wire.ForkSession) }, do: action((*Server).forkSession), kept: true, slow: true, process: true},
	"interrupt":                {role: account.Member, action: project.Tend, make: func() wire.Command { return new(wire.Interrupt) }, do: action((*Server).interrupt), kept: true, slow: true, process: true},
	"kill_process":             {role: account.Member, action: project.End, make: func() wire.Command { return new(wire.KillProcess) }, do: action((*Server).killProcess), kept: true, slow: true, process: true},
	"set_model":                {role: account.Member, action: project.Run, make: func() wire.Command { return new(wire.SetModel) }, do: action((*Server).setModel), kept: true, slow: true, ordered: true, process: true},
	"set_permission_mode":      {role: account.Member, action: project.Tend, make: func() wire.Command { return new(wire.SetPermissionMode) }, do: action((*Server).setPermissionMode), kept: true, slow: true, ordered: true, process: true},
	"extend":                   {role: account.Member, make: func() wire.Command { return new(wire.Extend) }, do: action((*Server).extend), kept: true},
	"undo":                     {role: account.Member, make: func() wire.Command { return new(wire.Undo) }, do: action((*Server).undo), kept: true},
	"withdraw_approval":        {role: account.Member, make: func() wire.Command { return new(wire.WithdrawApproval) }, do: action((*Server).withdrawApproval)},
	"draft":                    {role: account.Member, make: func() wire.Command { return new(wire.Draft) }, do: action((*Server).saveDraft)},
	"subscribe":                {role: account.Viewer, action: project.See, make: func() wire.Command { return new(wire.Subscribe) }},
	"unsubscribe":              {role: account.Viewer, make: func() wire.Command { return new(wire.Unsubscribe) }},
	"typing":                   {role: account.Viewer, action: project.See, make: func() wire.Command { return new(wire.Typing) }},
	"looking":                  {role: account.Viewer, make: func() wire.Command { return new(wire.Looking) }},
	"noticed":                  {role: account.Viewer, make: func() wire.Command { return new(wire.Noticed) }},
	"ping":                     {role: account.Viewer, make: func() wire.Command { return new(wire.Ping) }},
}

// action adapts a method for one type of command.
func action[C wire.Command](do func(*Server, context.Context, C, account.Identity) (wire.Outcome, error)) func(context.Context, *Server, wire.Command, account.Identity) (wire.Outcome, error) {
	return func(ctx context.Context, s *Server, c wire.Command, who account.Identity) (wire.Outcome, error) {
		return do(s, ctx, c.(C), who)
	}
}

func (spec commandSpec) most() int64 { return max(spec.limit, smallLimit) }

// perform checks a command and carries it out, once.
func (s *Server) perform(ctx context.Context, spec commandSpec, c wire.Command, who account.Identity) settled {
	commandID := c.ID()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	run := func() settled {
		out, err := s.carryOut(ctx, spec, c, who)
		if err != nil {
			return s.refused(ctx, commandID, err)
		}
		out.Result = wire.Applied
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
	if _, ok := c.(*wire.PendingRequestResponse); ok {
		s.counts.countAnswer(end.Outcome.Result)
	}
	end.Outcome.CommandID = commandID
	return end
}

// carryOut does what a command says, if the person may have it done, unless it
// needs a process where none can be.
func (s *Server) carryOut(ctx context.Context, spec commandSpec, c wire.Command, who account.Identity) (wire.Outcome, error) {
	if spec.action != "" {
		ses, err := s.may(ctx, who, spec.action, wire.SessionOf(c))
		switch {
		case err != nil:
			return wire.Outcome{}, err
		case spec.process && ses.Kind != session.Ours:
			return wire.Outcome{}, notOurs(ses.Kind)
		}
	}
	return spec.do(ctx, s, c, who)
}

// admit checks role and shape.
func (s *Server) admit(spec commandSpec, c wire.Command, who account.Identity) error {
	if !who.User.Role.AtLeast(spec.role) {
		return forbidden(spec.role)
	}
	return wire.CheckShape(c)
}

func (s *Server) refused(ctx context.Context, commandID string, err error) settled {
	r := s.code(err)
	report(ctx, s.o.Log, "command refused", r)
	body := r.body
	return settled{Status: r.status, retry: r.retry, passing: !r.final(),
		Outcome: wire.Outcome{CommandID: commandID, Result: r.result, Error: &body, Resolved: r.resolved}}
}
