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
	// AddIncident appends an entry to the audit log.
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
	// Runner reaches the machine on which Claude runs; nil for this machine.
	Runner launch.Runner `optional:"true"`
	Rules  Rules         // initial rules, see SetRules
	// RunnerID is the runner that this Orchestrator drives: it starts and ends processes of that
	// runner's sessions only. Store must fail with [session.ErrLeaseLost] once another server
	// drives the runner. RunnerID is "" in a server without a runner: then no session belongs to
	// this Orchestrator, and Run must not be called.
	RunnerID string
	NodeID   string // name of that runner
	// Demo is nil without a scripted model.
	Demo *launch.Demo `optional:"true"`
	// MCP is nil when sessions do not ask over MCP.
	MCP *MCP `optional:"true"`
	// Servers counts what all servers of the database run; nil if there is only one server.
	Servers Servers `optional:"true"`
	// Attachments reads the attached files of messages.
	Attachments Attachments
	// OnDelivered receives the time from each answer to its arrival on Claude's stdin. It
	// must not block. It may be nil.
	OnDelivered func(took time.Duration) `optional:"true"`
	// Tracer traces each request. It may be nil.
	Tracer *tracing.Tracer `optional:"true"`
	Log    *slog.Logger
}

// Servers counts what all servers of a database run.
type Servers = admission.Servers

// MCP lets the CLIs of sessions ask over MCP.
type MCP struct {
	Tools  []string // by name
	Tokens Tokens
}

// Tokens mints and revokes tokens that let the CLI of one session ask, and do nothing else.
type Tokens interface {
	// MintAgent creates a token for a session. The name is for people, "" for the
	// session's own Claude. A token with ttl 0 never expires.
	MintAgent(ctx context.Context, sessionID, name string, ttl time.Duration) (secret string, err error)
	// RevokeAgents revokes all tokens of a session, if there are any.
	RevokeAgents(ctx context.Context, sessionID string) error
}

// Attachments reads attached files by id.
type Attachments interface {
	Read(ctx context.Context, attachmentID string) ([]byte, error)
}

// Rules are the settings that may change while an [Orchestrator] runs.
type Rules struct {
	Roots workspace.Roots
	// Limits, except Sample, which is read once.
	Limits Limits
	// EachPerson limits all sessions of one person together, unless that person has an override.
	EachPerson project.Limits
	// ResumeOnAnswer resumes a session when a person answers one of its orphaned requests.
	ResumeOnAnswer bool
	// AsksIn reports whether sessions in a folder ask over MCP; nil means that all do. The folder
	// is absolute, with symlinks resolved. A change applies to processes started later.
	AsksIn func(folder string) bool
}

func (r *Rules) asksIn(folder string) bool { return r.AsksIn == nil || r.AsksIn(folder) }

// Limits bounds processes. Idle, Silent and Absolute do not apply to a process whose request
// waits for a person. Zero means no limit.
type Limits struct {
	Start    time.Duration // from spawn to the answer to initialize
	Reply    time.Duration // for the CLI to answer an interrupt or another request
	Idle     time.Duration // waiting for a person's message
	Silent   time.Duration // working without any activity
	Absolute time.Duration // since its start
	Stuck    time.Duration // working without activity, before people are told
	PickUp   time.Duration // for the CLI to act on an answer, before people are told
	Sample   time.Duration // interval of samples of the process table
}

// DefaultLimits returns generous limits: they end forgotten processes, and an ended session
// continues with its next message.
func DefaultLimits() Limits {
	return Limits{
		Start: 60 * time.Second, Reply: 10 * time.Second,
		Idle: time.Hour, Silent: 2 * time.Hour, Absolute: 24 * time.Hour,
		Stuck: 2 * time.Minute, PickUp: 30 * time.Second, Sample: 2 * time.Second,
	}
}
