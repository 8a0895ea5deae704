package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/tracing"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Store stores sessions, requests, grants and trust.
type Store interface {
	session.Store
	Runner(ctx context.Context, runnerID string) (session.Runner, error)
	Runners(ctx context.Context) ([]session.Runner, error)
	RunningByRunner(ctx context.Context) (map[string]int, error)
	pending.GrantStore
	workspace.Trusts
	project.BoundsStore
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error)
	// AddIncident appends an entry to the audit trail.
	AddIncident(ctx context.Context, body []byte) error
}

// Notifier announces changes of sessions.
type Notifier interface {
	session.Notifier
	// NotifyItems announces that only the transcript of a session has changed. It must not
	// block on the work of listeners.
	NotifyItems(sessionID string)
	// NotifyLive announces that the block that Claude is writing has grown. The store does
	// not contain it yet. It must not block on the work of listeners.
	NotifyLive(sessionID string)
}

// Options configures an [Orchestrator]. All fields are required unless they say otherwise.
type Options struct {
	Store    Store
	Registry *pending.Registry
	Notifier Notifier
	Launcher launch.Launcher
	CLI      *launch.CLI // of this machine
	// Runner is what is near Claude; nil for this machine.
	Runner launch.Runner `optional:"true"`
	Rules  Rules         // initial rules, see SetRules
	// RunnerID is the runner that this server drives. It starts and ends processes of its
	// sessions alone. Store must fail with [session.ErrLeaseLost] once another server drives it.
	// It is "" for a server without a runner inside: then no session is this Orchestrator's, and
	// Run must not be called.
	RunnerID string
	NodeID   string // name of that runner
	// Demo is nil without a scripted model.
	Demo *launch.Demo `optional:"true"`
	// MCP is nil when sessions do not ask over MCP.
	MCP *MCP `optional:"true"`
	// Servers count what all servers of the database run; nil if it has one.
	Servers Servers `optional:"true"`
	// Attachments reads the attached files of messages.
	Attachments Attachments
	// OnDelivered receives the time from each answer to its arrival on Claude's stdin. It
	// must not block. It may be nil.
	OnDelivered func(took time.Duration) `optional:"true"`
	// Tracer measures the way of each request. It may be nil.
	Tracer *tracing.Tracer `optional:"true"`
	Log    *slog.Logger
}

// Servers count what all servers of a database run together.
type Servers = admission.Servers

// MCP lets the CLIs of sessions ask over MCP.
type MCP struct {
	Tools  []string // by name
	Tokens Tokens
}

// Tokens let the CLI of one session ask, and do nothing else.
type Tokens interface {
	// MintAgent makes a token for a session. The name is for people, "" for the
	// session's own Claude; ttl 0 never expires.
	MintAgent(ctx context.Context, sessionID, name string, ttl time.Duration) (secret string, err error)
	// RevokeAgents revokes all tokens of a session. There may be none.
	RevokeAgents(ctx context.Context, sessionID string) error
}

// Attachments reads attached files by id.
type Attachments interface {
	Read(ctx context.Context, attachmentID string) ([]byte, error)
}

// Rules may change while an [Orchestrator] runs.
type Rules struct {
	Roots workspace.Roots
	// Limits, except Sample, which is read once.
	Limits Limits
	// EachPerson is the limit for all sessions of a person without an override.
	EachPerson project.Limits
	// ResumeOnAnswer: a person's answer to an orphaned request resumes its session.
	ResumeOnAnswer bool
	// AsksIn reports whether sessions in a folder, absolute and with symlinks resolved, ask
	// over MCP; nil when all do. It applies to processes started later.
	AsksIn func(folder string) bool
}

func (r *Rules) asksIn(folder string) bool { return r.AsksIn == nil || r.AsksIn(folder) }

// Limits bounds processes. Idle, Silent and Absolute do not apply to a process whose request
// waits for a person. Zero means no limit.
type Limits struct {
	Start    time.Duration // from spawn to the answer to initialize
	Reply    time.Duration // for an answer of the CLI to interrupt and the like
	Idle     time.Duration // waiting for a person's message
	Silent   time.Duration // working without any activity
	Absolute time.Duration // since its start
	Stuck    time.Duration // working without activity, until people are told
	PickUp   time.Duration // for the CLI to act on an answer, until people are told
	Sample   time.Duration // interval of samples of the process table
}

// DefaultLimits are generous: they free forgotten processes, and an ended session continues
// with the next message.
func DefaultLimits() Limits {
	return Limits{
		Start: 60 * time.Second, Reply: 10 * time.Second,
		Idle: time.Hour, Silent: 2 * time.Hour, Absolute: 24 * time.Hour,
		Stuck: 2 * time.Minute, PickUp: 30 * time.Second, Sample: 2 * time.Second,
	}
}
