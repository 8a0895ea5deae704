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

// Limits of messages and bodies, in bytes. SmallLimit applies to all commands without
// another limit.
const (
	SmallLimit   = 256 << 10
	AnswerLimit  = 8 << 20  // an edited tool input can be a whole file
	MessageLimit = 48 << 20 // about 32 MB of attachments, in base64
)

// Timeout bounds a command. The longest is a kill that needs all of its steps.
const Timeout = time.Minute

// Spec describes how a command is processed, over REST and the WebSocket.
type Spec struct {
	Role  account.Role // the lowest role that may send it
	limit int64
	// New returns a command to decode into.
	New func() wire.Command
	// do runs the command for a person who may send it. It is nil for commands about the
	// tab itself.
	do func(ctx context.Context, e *Executor, c wire.Command, who account.Identity) (wire.Outcome, error)
	// storesAck means that a repetition must get the first ack. Repeating any other command
	// is harmless.
	storesAck bool
	// Slow commands may take longer than answers on the same WebSocket should wait. Ordered
	// commands of one session run one after the other.
	Slow, Ordered bool
	// action is the action that the person must be allowed to perform in the command's session;
	// "" if do checks that itself.
	action project.Action
	// withoutStore commands also run while the store fails. Repeating them must be
	// harmless.
	withoutStore bool
	// process commands need a session whose process this server runs.
	process bool
}

var specs = map[string]Spec{
	"pending_request_response": {Role: account.Member, limit: AnswerLimit, New: func() wire.Command { return new(wire.PendingRequestResponse) }, do: action((*Executor).answer)},
	"send_message":             {Role: account.Member, limit: MessageLimit, action: project.Run, New: func() wire.Command { return new(wire.SendMessage) }, do: action((*Executor).sendMessage), storesAck: true, Slow: true, Ordered: true, process: true},
	"create_session":           {Role: account.Member, limit: MessageLimit, New: func() wire.Command { return new(wire.CreateSession) }, do: action((*Executor).createSession), storesAck: true, Slow: true},
	"resume_session":           {Role: account.Member, action: project.Run, New: func() wire.Command { return new(wire.ResumeSession) }, do: action((*Executor).resumeSession), storesAck: true, Slow: true, Ordered: true, process: true},
	"fork_session":             {Role: account.Member, action: project.Start, New: func() wire.Command { return new(wire.ForkSession) }, do: action((*Executor).forkSession), storesAck: true, Slow: true, process: true},
	"interrupt":                {Role: account.Member, action: project.Tend, New: func() wire.Command { return new(wire.Interrupt) }, do: action((*Executor).interrupt), storesAck: true, Slow: true, process: true},
	"kill_process":             {Role: account.Member, action: project.End, New: func() wire.Command { return new(wire.KillProcess) }, do: action((*Executor).killProcess), storesAck: true, Slow: true, process: true, withoutStore: true},
	"set_model":                {Role: account.Member, action: project.Run, New: func() wire.Command { return new(wire.SetModel) }, do: action((*Executor).setModel), storesAck: true, Slow: true, Ordered: true, process: true},
	"set_permission_mode":      {Role: account.Member, action: project.Tend, New: func() wire.Command { return new(wire.SetPermissionMode) }, do: action((*Executor).setPermissionMode), storesAck: true, Slow: true, Ordered: true, process: true},
	"extend":                   {Role: account.Member, New: func() wire.Command { return new(wire.Extend) }, do: action((*Executor).extend), storesAck: true},
	"undo":                     {Role: account.Member, New: func() wire.Command { return new(wire.Undo) }, do: action((*Executor).undo), storesAck: true},
	"withdraw_approval":        {Role: account.Member, New: func() wire.Command { return new(wire.WithdrawApproval) }, do: action((*Executor).withdrawApproval)},
	"draft":                    {Role: account.Member, New: func() wire.Command { return new(wire.Draft) }, do: action((*Executor).saveDraft)},
	"subscribe":                {Role: account.Viewer, action: project.See, New: func() wire.Command { return new(wire.Subscribe) }},
	"unsubscribe":              {Role: account.Viewer, New: func() wire.Command { return new(wire.Unsubscribe) }},
	"typing":                   {Role: account.Viewer, action: project.See, New: func() wire.Command { return new(wire.Typing) }},
	"looking":                  {Role: account.Viewer, New: func() wire.Command { return new(wire.Looking) }},
	"noticed":                  {Role: account.Viewer, New: func() wire.Command { return new(wire.Noticed) }},
	"ping":                     {Role: account.Viewer, New: func() wire.Command { return new(wire.Ping) }},
}

// action adapts a method for one command type to [Spec].
func action[C wire.Command](do func(*Executor, context.Context, C, account.Identity) (wire.Outcome, error)) func(context.Context, *Executor, wire.Command, account.Identity) (wire.Outcome, error) {
	return func(ctx context.Context, e *Executor, c wire.Command, who account.Identity) (wire.Outcome, error) {
		return do(e, ctx, c.(C), who)
	}
}

// MaxBytes returns the limit of the command's message, in bytes.
func (spec Spec) MaxBytes() int64 { return max(spec.limit, SmallLimit) }

// IsShared reports whether the command exists in REST and on the WebSocket. All other
// commands concern the tab itself, which runs them.
func (spec Spec) IsShared() bool { return spec.do != nil }

// Find returns the spec of a command by its type.
func Find(kind string) (spec Spec, known bool) {
	spec, known = specs[kind]
	return spec, known
}

// Kinds returns the types of all commands.
func Kinds() []string { return slices.Sorted(maps.Keys(specs)) }
