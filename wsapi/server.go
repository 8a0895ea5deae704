// Package wsapi is the door for people: the REST calls, the WebSocket, sign-in,
// the static web app, health and metrics, as docs/integrating describes. It is the only
// package that knows the browser's JSON.
//
// # State, not events
//
// A tab is told what is. Its outbox is a set of sessions that changed, a cursor
// for each transcript it reads, and a bounded queue of acks; so a slow tab skips
// what is out of date already and never makes another one wait. A frame is built
// and encoded once for each change and shared by all tabs.
//
// # Concurrency
//
// [Server] is an http.Handler. [Server.Run] turns bells into frames and owns
// every WebSocket until it returns; before and after, /ws answers 503.
// [Server.Touch] never blocks.
package wsapi

//go:generate go generate ../wire

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Store is what the door reads. Changes go through [Requests] and [Driver], but
// for titles and the acks of commands.
type Store interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	UpdateSession(ctx context.Context, sessionID string, p session.Patch) (session.Session, error)
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error)
	Fresh(ctx context.Context, since time.Time, each func(sessionID string, it session.Item)) error
	Waits(ctx context.Context, since time.Time) ([]pending.Wait, error)
	IndexTranscripts(ctx context.Context, most int) (more bool, err error)
	SearchTranscripts(ctx context.Context, q session.Search) (hits []session.Hit, next int64, err error)
	QueuedMessages(ctx context.Context, sessionID string) ([]session.Message, error)
	Attachment(ctx context.Context, attachmentID string) (session.KeptAttachment, error)
	Request(ctx context.Context, requestID string) (pending.Request, error)
	Command(ctx context.Context, userID, commandID string) (ack []byte, err error)
	SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) (kept []byte, err error)
	Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error)
	account.Desk
	// Audit reads the audit trail in order, from the entry after one on.
	Audit(ctx context.Context, after int64, limit int) ([]account.AuditEntry, error)
	account.Trail
	account.SettingStore
	Projects(ctx context.Context) ([]project.Project, error)
	CreateProject(ctx context.Context, p project.Project, by pending.Actor) (touched []string, err error)
	ChangeProject(ctx context.Context, p project.Project, by pending.Actor) (now project.Project, touched []string, err error)
	DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error)
	SetUserLimits(ctx context.Context, userID, name string, o project.Override, by pending.Actor) error
	// Ping reports why nothing can be stored, nil when all is well. It is asked
	// every second.
	Ping(ctx context.Context) error
}

// Requests is the room where questions wait; see pending.Registry.
type Requests interface {
	Answer(ctx context.Context, s pending.Submission) (pending.Request, error)
	Unapprove(ctx context.Context, sessionID, requestID string, by pending.Actor) error
	Undo(ctx context.Context, sessionID, requestID, commandID string, by pending.Actor) error
	Extend(ctx context.Context, requestID string, by time.Duration) (time.Time, error)
	Open(ctx context.Context, sessionID string) ([]pending.Request, error)
}

// Driver runs Claude; see orchestrator.Orchestrator.
type Driver interface {
	Start(ctx context.Context, r orchestrator.StartRequest) (sessionID string, err error)
	Send(ctx context.Context, m session.Message) error
	Unqueue(ctx context.Context, sessionID, messageID string) (removed bool, err error)
	Interrupt(ctx context.Context, sessionID string, by pending.Actor) error
	Kill(ctx context.Context, sessionID string, force bool, reason string) error
	Resume(ctx context.Context, sessionID string, by pending.Actor) error
	Fork(ctx context.Context, sessionID string, by pending.Actor) (newSessionID string, err error)
	Delete(ctx context.Context, sessionID string) error
	SetModel(ctx context.Context, sessionID, model string) error
	SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error
	RevokeGrant(ctx context.Context, grantID string, by pending.Actor) (orchestrator.Revocation, error)
	RevokeAnswer(ctx context.Context, requestID string, by pending.Actor) (orchestrator.Revocation, error)
	RevokeFound(ctx context.Context, g pending.Grant, by pending.Actor) (orchestrator.Revocation, error)
	FoundGrants(ctx context.Context) (orchestrator.Found, error)
	Vitals(sessionID string) (orchestrator.Vitals, bool)
	Live(sessionID string) (session.Live, bool)
	Environment(ctx context.Context) orchestrator.Environment
	LookAt(ctx context.Context, sessionID, path string) (orchestrator.Look, error)
	PermissionRules(ctx context.Context, sessionID string) ([]orchestrator.SettingsRules, error)
	Bounds(ctx context.Context) (*project.Bounds, []project.Taken, error)
	LimitsChanged()
	TrustedFolders(ctx context.Context) ([]orchestrator.TrustedFolder, error)
	Distrust(ctx context.Context, folder, digest string, by pending.Actor) (known bool, err error)
	Consent(ctx context.Context, sessionID string, c orchestrator.Consent, by pending.Actor) error
	SavedSessions(ctx context.Context) ([]orchestrator.SavedSession, error)
	SavedSession(sessionID string) (orchestrator.SavedSession, error)
	SavedTranscript(sessionID string, before int64) (orchestrator.SavedPage, error)
	Folders(ctx context.Context, userID string, s workspace.Search) (workspace.Listing, error)
}

// Options says what a [Server] works with. What may be nil says so; the rest is
// required.
type Options struct {
	Store     Store
	Requests  Requests
	Driver    Driver
	Directory *account.Directory
	// Disk looks at the files of sessions, for the rules of projects. Zero where nobody
	// can look.
	Disk project.Disk
	// Attachments keeps what people attach. Nil where none is taken.
	Attachments *attachment.Shelf
	// Alerts tells people who do not look. It may be nil.
	Alerts *alert.Alerter
	// Settings are what the server runs with; nil when there are none to show.
	Settings Settings
	// Bell is rung after a change that this door made itself. Its other end must
	// call [Server.Touch].
	Bell session.Bell
	// App serves the web app at every path that is none of ours. It may be nil.
	App http.Handler
	// Agents are the doors for agents by path, such as "/mcp". What they get has
	// passed the checks of host, query and origin; who sends it they find out
	// themselves: no credential of a person is good there. It may be nil.
	Agents map[string]http.Handler
	// AllowedHosts are the names under which browsers may reach the server, with
	// or without a port, as exactly as they must be typed. The loopback names
	// are always allowed. See [Server.SetAllowedHosts].
	AllowedHosts []string
	// TLS says that browsers reach the server by https.
	TLS bool
	// PublicURL is the address under which browsers reach the server through a
	// proxy, as [ParsePublicURL] returns it; its host is allowed. It may be "".
	PublicURL string
	// OIDC is the identity provider at which people sign in; it may be nil. It needs
	// PublicURL, to which it sends browsers back.
	OIDC *OIDC
	// TrustedProxies are those who are believed when they say for whom they speak,
	// in X-Forwarded-For. No other forwarded header is ever read: the proxy passes
	// Host on as it came.
	TrustedProxies []netip.Prefix
	// ProxiesOnly refuses everybody else who does not come from this machine.
	ProxiesOnly bool
	// Private are the files and folders of the server itself, absolute: a tool call that
	// reads them is never of low risk.
	Private []string
	// SignInLimits bound failed sign-ins; zero for [account.DefaultLimits].
	SignInLimits account.Limits
	// NoSetUp keeps the web app from beginning with a page that makes the first
	// admin, as for a demo.
	NoSetUp bool
	// ClassifyStoreError names errors of Store that hold for whatever else is to be
	// stored; it returns "" for all others. It may be nil.
	ClassifyStoreError func(error) wire.NoticeCode
	Version            string
	NodeID             string
	Log                *slog.Logger
}

// Server is the door. It is an http.Handler.
type Server struct {
	o          Options
	hub        *Hub
	guard      *access.Guard
	rules      *decision.Rules
	refusals   *refusal.Table
	commands   *command.Executor
	large      *command.Slots // to send something large
	limiter    account.SignInLimiter
	ceremonies *ceremonies
	handler    http.Handler
	started    time.Time
	refused    atomic.Int64             // requests
	faults     atomic.Int64             // requests that failed inside the server
	hosts      atomic.Pointer[[]string] // that are allowed
}

// New returns a server over its options. Its WebSocket works while Run does.
func New(o Options) *Server {
	s := &Server{o: o, ceremonies: newCeremonies(), large: command.NewSlots(), started: time.Now()}
	s.guard = access.NewGuard(o.Store, o.Directory, o.Disk)
	s.rules = decision.New(s.guard, o.Directory, o.Private)
	s.refusals = &refusal.Table{ClassifyStoreError: o.ClassifyStoreError}
	s.SetAllowedHosts(o.AllowedHosts)
	s.limiter.SetLimits(o.SignInLimits)
	s.hub = newHub(s)
	s.refusals.OnStoreProblem = s.hub.checkStoreSoon
	s.commands = command.New(command.Options{
		Guard: s.guard, Rules: s.rules, Store: o.Store, Requests: o.Requests, Driver: o.Driver, Refusals: s.refusals,
		Attachments: o.Attachments, OnDraft: s.hub.draftChanged, Log: o.Log,
	})
	o.Directory.OnChange(s.hub.recheckSoon)
	s.handler = s.edges(s.mux())
	return s
}

// Rules decides about answers; see [pending.Registry.RunHolds].
func (s *Server) Rules() *decision.Rules { return s.rules }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Run turns bells into frames until ctx ends, then closes every WebSocket with
// 1001 and returns once the last of them is gone.
func (s *Server) Run(ctx context.Context) error { return s.hub.Run(ctx) }

// loopbackNames are the names of this machine that are always allowed.
var loopbackNames = []string{"127.0.0.1", "localhost", "::1"}

// SetAllowedHosts changes Options.AllowedHosts for the requests to come.
func (s *Server) SetAllowedHosts(hosts []string) {
	all := append(slices.Clone(loopbackNames), hosts...)
	if public := s.publicHost(); public != "" {
		all = append(all, public)
	}
	s.hosts.Store(&all)
}

// Touch says that a session changed. It never blocks.
func (s *Server) Touch(sessionID string) { s.hub.Touch(sessionID) }
