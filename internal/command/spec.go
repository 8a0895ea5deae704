package command

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/wire"
)

// Largest messages and bodies, in bytes. What is not named has SmallLimit.
const (
	SmallLimit  = 256 << 10
	AnswerLimit = 8 << 20  // an edited tool input can be a whole file
	SpeechLimit = 48 << 20 // about 32 MB of attachments, in base64
)

// Timeout bounds a command; a kill that needs every step of its order is
// the longest.
const Timeout = time.Minute

// A Spec says how a command is treated, over REST and on the socket.
type Spec struct {
	Role  account.Role // that is needed at least
	limit int64
	// New returns a command to decode into.
	New func() wire.Command
	// do carries the command out for a person who may do so. It is nil for the
	// commands about the tab that gives them.
	do func(ctx context.Context, e *Executor, c wire.Command, who account.Identity) (wire.Outcome, error)
	// kept: its ack is stored, so that a repetition gets the same one. The others
	// may be repeated as they are.
	kept bool
	// Slow: it may take longer than an answer should wait on the same socket.
	// Ordered: those of one session are carried out one after the other.
	Slow, Ordered bool
	// action is what the person must be allowed to do in the session of the command;
	// "" when do finds out itself.
	action project.Action
	// withoutStore: it is carried out also while the store is out of order, of which it
	// needs nothing. It must be harmless to repeat.
	withoutStore bool
	// process: it is about the process of its session, so it must be one of ours.
	process bool
}

var specs = map[string]Spec{
	"pending_request_response": {Role: account.Member, limit: AnswerLimit, New: func() wire.Command { return new(wire.PendingRequestResponse) }, do: action((*Executor).answer)},
	"send_message":             {Role: account.Member, limit: SpeechLimit, action: project.Run, New: func() wire.Command { return new(wire.SendMessage) }, do: action((*Executor).sendMessage), kept: true, Slow: true, Ordered: true, process: true},
	"create_session":           {Role: account.Member, limit: SpeechLimit, New: func() wire.Command { return new(wire.CreateSession) }, do: action((*Executor).createSession), kept: true, Slow: true},
	"resume_session":           {Role: account.Member, action: project.Run, New: func() wire.Command { return new(wire.ResumeSession) }, do: action((*Executor).resumeSession), kept: true, Slow: true, Ordered: true, process: true},
	"fork_session":             {Role: account.Member, action: project.Start, New: func() wire.Command { return new(wire.ForkSession) }, do: action((*Executor).forkSession), kept: true, Slow: true, process: true},
	"interrupt":                {Role: account.Member, action: project.Tend, New: func() wire.Command { return new(wire.Interrupt) }, do: action((*Executor).interrupt), kept: true, Slow: true, process: true},
	"kill_process":             {Role: account.Member, action: project.End, New: func() wire.Command { return new(wire.KillProcess) }, do: action((*Executor).killProcess), kept: true, Slow: true, process: true, withoutStore: true},
	"set_model":                {Role: account.Member, action: project.Run, New: func() wire.Command { return new(wire.SetModel) }, do: action((*Executor).setModel), kept: true, Slow: true, Ordered: true, process: true},
	"set_permission_mode":      {Role: account.Member, action: project.Tend, New: func() wire.Command { return new(wire.SetPermissionMode) }, do: action((*Executor).setPermissionMode), kept: true, Slow: true, Ordered: true, process: true},
	"extend":                   {Role: account.Member, New: func() wire.Command { return new(wire.Extend) }, do: action((*Executor).extend), kept: true},
	"undo":                     {Role: account.Member, New: func() wire.Command { return new(wire.Undo) }, do: action((*Executor).undo), kept: true},
	"withdraw_approval":        {Role: account.Member, New: func() wire.Command { return new(wire.WithdrawApproval) }, do: action((*Executor).withdrawApproval)},
	"draft":                    {Role: account.Member, New: func() wire.Command { return new(wire.Draft) }, do: action((*Executor).saveDraft)},
	"subscribe":                {Role: account.Viewer, action: project.See, New: func() wire.Command { return new(wire.Subscribe) }},
	"unsubscribe":              {Role: account.Viewer, New: func() wire.Command { return new(wire.Unsubscribe) }},
	"typing":                   {Role: account.Viewer, action: project.See, New: func() wire.Command { return new(wire.Typing) }},
	"looking":                  {Role: account.Viewer, New: func() wire.Command { return new(wire.Looking) }},
	"noticed":                  {Role: account.Viewer, New: func() wire.Command { return new(wire.Noticed) }},
	"ping":                     {Role: account.Viewer, New: func() wire.Command { return new(wire.Ping) }},
}

// action adapts a method for one type of command.
func action[C wire.Command](do func(*Executor, context.Context, C, account.Identity) (wire.Outcome, error)) func(context.Context, *Executor, wire.Command, account.Identity) (wire.Outcome, error) {
	return func(ctx context.Context, e *Executor, c wire.Command, who account.Identity) (wire.Outcome, error) {
		return do(e, ctx, c.(C), who)
	}
}

// MaxBytes returns the largest message of the command, in bytes.
func (spec Spec) MaxBytes() int64 { return max(spec.limit, SmallLimit) }

// IsShared reports whether REST and the socket both take the command. The others are about
// the tab that gives them, which carries them out itself.
func (spec Spec) IsShared() bool { return spec.do != nil }

// Find returns the spec of a command by its type.
func Find(kind string) (spec Spec, known bool) {
	spec, known = specs[kind]
	return spec, known
}

// Kinds returns the types of all commands.
func Kinds() []string { return slices.Sorted(maps.Keys(specs)) }
