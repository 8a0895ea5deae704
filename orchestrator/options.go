package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Store stores sessions, requests, grants and trust.
type Store interface {
	session.Store
	pending.GrantStore
	workspace.Trusts
	project.BoundsStore
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error)
	// AddIncident puts an entry at the end of the audit trail.
	AddIncident(ctx context.Context, body []byte) error
}

// Notifier announces changes of sessions.
type Notifier interface {
	session.Notifier
	// NotifyLive says that only the block that Claude is writing has grown, of which the
	// store knows nothing. It never blocks on a listener's work.
	NotifyLive(sessionID string)
}

// Options configures an [Orchestrator]. What may be nil says so; the rest is required.
type Options struct {
	Store    Store
	Registry *pending.Registry
	Notifier Notifier
	Launcher launch.Launcher
	CLI      *launch.CLI
	Rules    Rules // at the start, see SetRules
	NodeID   string
	// Demo is nil when there is no scripted model to run against.
	Demo *Demo `optional:"true"`
	// MCP is nil when sessions do not ask over MCP.
	MCP *launch.MCP `optional:"true"`
	// Sandbox is nil when CLIs run as this server does.
	Sandbox *launch.Sandbox `optional:"true"`
	// Attachments reads the files that messages name by their ids.
	Attachments Attachments
	// CheckMachine returns why this machine cannot run one more process, as a
	// [problem.Error]. It may be nil.
	CheckMachine func() error `optional:"true"`
	// OnDelivered is told how long after it was given an answer was on Claude's stdin. It
	// must not block. It may be nil.
	OnDelivered func(took time.Duration) `optional:"true"`
	Log         *slog.Logger
}

// Demo is the scripted model that demo sessions talk to.
type Demo struct {
	Environ map[string]string // on top of the CLI's environment
	Folder  string            // where demo sessions work, made when missing
	Prompt  string            // what is asked when the person asks nothing
}

// Attachments holds the files that messages name by their id.
type Attachments interface {
	Read(attachmentID string) ([]byte, error)
}

// Rules are what may change while an [Orchestrator] runs.
type Rules struct {
	Roots workspace.Roots
	// Limits, but for Sample, which is read once.
	Limits Limits
	// EachPerson are the limits of a person for whom no other is set, in all their
	// sessions together.
	EachPerson project.Limits
	// ResumeOnAnswer: a person's answer to an orphaned request resumes its session.
	ResumeOnAnswer bool
	// AsksIn reports whether sessions in a folder, absolute and with symlinks
	// resolved, ask over MCP; nil when all do. It holds for processes that are
	// started from then on.
	AsksIn func(folder string) bool
}

func (r *Rules) asksIn(folder string) bool { return r.AsksIn == nil || r.AsksIn(folder) }

// Limits bound what a process may take. A process with a request that waits for
// a person is exempt from Idle, Silent and Absolute: people take their time.
// Zero means no limit.
type Limits struct {
	Start    time.Duration // from spawn to the answer to initialize
	Reply    time.Duration // for an answer of the CLI to interrupt and the like
	Idle     time.Duration // waiting for a person's message
	Silent   time.Duration // working without any sign of life
	Absolute time.Duration // since its start
	Stuck    time.Duration // working without a sign of life until people are told
	PickUp   time.Duration // for the CLI to act on an answer until people are told
	Sample   time.Duration // between two looks at the process table
}

// DefaultLimits are generous: a limit is there to free what was forgotten, and
// an ended session goes on with the next message.
func DefaultLimits() Limits {
	return Limits{
		Start: 60 * time.Second, Reply: 10 * time.Second,
		Idle: time.Hour, Silent: 2 * time.Hour, Absolute: 24 * time.Hour,
		Stuck: 2 * time.Minute, PickUp: 30 * time.Second, Sample: 2 * time.Second,
	}
}
