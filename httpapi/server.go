// Package httpapi is the edge for browsers and scripts over HTTP: REST, sign-in, the web
// app's files, health and metrics, as docs/integrating describes. What tabs see live is
// the work of [Live], to which it hands each WebSocket that it has authenticated.
//
// [Server] is an http.Handler and has no goroutines of its own.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Store is what all handlers together read and write; each declares its part.
type Store interface {
	grantStore
	projectStore
	searchStore
	preferenceStore
	templateStore
	account.Trail
	previewStore
	processStore
	sessionStore
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	SetUserLimits(ctx context.Context, userID, name string, o project.Override, by pending.Actor) error
}

// Requests lists what waits; see pending.Registry.
type Requests interface {
	Open(ctx context.Context, sessionID string) ([]pending.Request, error)
}

// Live keeps the tabs up to date; see wsapi.Hub.
type Live interface {
	// ServeTab turns a request into a WebSocket and serves it until it ends.
	ServeTab(w http.ResponseWriter, r *http.Request, who account.Identity) error
	// Running reports whether tabs are served.
	Running() bool
	// CanStore reports whether answers can be stored, as far as is known.
	CanStore() bool
	// Tabs returns the number of tabs.
	Tabs() int
	// SlowTabs returns how many tabs were cut because they were too slow.
	SlowTabs() int64
	// Readers returns how many tabs read a session.
	Readers(sessionID string) int
	// Deleting notes the project of a session that is about to be deleted.
	Deleting(sessionID, projectID string)
	// ProjectsChanged shows the tabs a change of projects that concerns these sessions.
	ProjectsChanged(ctx context.Context, sessionIDs []string)
}

// Driver is what all handlers together need of orchestrator.Orchestrator; each declares
// its part.
type Driver interface {
	grantDriver
	folderDriver
	limitDriver
	projectDriver
	terminalDriver
	previewDriver
	processDriver
	sessionDriver
}

// Options configures a [Server]. What may be nil says so; the rest is required.
type Options struct {
	Store     Store
	Requests  Requests
	Driver    Driver
	Live      Live
	Guard     *access.Guard
	Rules     *decision.Rules
	Commands  *command.Executor
	Refusals  *refusal.Table
	Directory *account.Directory
	// Attachments holds uploaded files.
	Attachments *attachment.Shelf
	// Alerts alerts people outside the app.
	Alerts *alert.Alerter
	// Settings are what the server runs with; nil when there are none to show.
	Settings Settings `optional:"true"`
	// Notifier is told of changes that handlers make themselves.
	Notifier session.Notifier
	// App serves the web app at every path without a route.
	App http.Handler
	// Agents are the handlers for agents by path, such as "/mcp". What they get has
	// passed the checks of host, query and origin. They authenticate by themselves, and
	// must accept no credential of a person. It may be nil.
	Agents map[string]http.Handler
	// AllowedHosts are the names under which browsers may reach the server, with or
	// without a port, compared exactly. The loopback names are always allowed. See
	// [Server.SetAllowedHosts].
	AllowedHosts []string
	// TLS says that browsers reach the server by https.
	TLS bool
	// PublicURL is the address under which browsers reach the server through a
	// proxy, as [ParsePublicURL] returns it; its host is allowed. It may be "".
	PublicURL string
	// OIDC is the identity provider at which people sign in; it may be nil. It needs
	// PublicURL, to which it sends browsers back.
	OIDC *OIDC `optional:"true"`
	// TrustedProxies are those whose X-Forwarded-For is believed. No other forwarded
	// header is ever read: the proxy passes Host on as it came.
	TrustedProxies []netip.Prefix
	// ProxiesOnly refuses everybody else who does not come from this machine.
	ProxiesOnly bool
	// SignInLimits bound failed sign-ins; zero for [account.DefaultLimits].
	SignInLimits account.Limits
	// Descriptors says what may still be opened; nil when that is not watched.
	Descriptors Descriptors `optional:"true"`
	// Metrics is served at /metrics beside the metrics of the server itself.
	Metrics prometheus.Gatherer
	// NoSetUp keeps the web app from beginning with a page that makes the first
	// admin, as for a demo.
	NoSetUp bool
	Version string
	NodeID  string
	Log     *slog.Logger
}

// Descriptors says what may still be opened. Its errors are a [problem.Error].
type Descriptors interface {
	CheckLasting() error // for a connection that stays open
	CheckBrief() error   // for a request
}

// Server serves HTTP. It is an http.Handler.
type Server struct {
	o          Options
	limiter    account.SignInLimiter
	ceremonies *ceremonies
	handler    http.Handler
	registry   *prometheus.Registry
	started    time.Time
	refused    atomic.Int64             // requests
	faults     atomic.Int64             // requests that failed inside the server
	hosts      atomic.Pointer[[]string] // that are allowed

	grantHandlers
	folderHandlers
	limitHandlers
	projectHandlers
	searchHandlers
	terminalHandlers
	preferenceHandlers
	templateHandlers
	auditHandlers
	previewHandlers
	alertHandlers
	settingsHandlers
	processHandlers
	sessionHandlers
	attachmentHandlers
}

// New returns a server. The error names an option that is missing.
func New(o Options) (*Server, error) {
	if err := options.Check("httpapi", o); err != nil {
		return nil, err
	}
	s := &Server{o: o, ceremonies: newCeremonies(), started: time.Now()}
	s.setHandlers()
	s.registry = s.newRegistry()
	s.SetAllowedHosts(o.AllowedHosts)
	s.limiter.SetLimits(o.SignInLimits)
	s.handler = s.edges(s.mux())
	return s, nil
}

// setHandlers gives each group of handlers what it works with.
func (s *Server) setHandlers() {
	o := s.o
	s.grantHandlers = grantHandlers{store: o.Store, driver: o.Driver, guard: o.Guard}
	s.folderHandlers = folderHandlers{driver: o.Driver, guard: o.Guard}
	s.limitHandlers = limitHandlers{driver: o.Driver, people: o.Directory}
	s.projectHandlers = projectHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, live: o.Live, people: o.Directory}
	s.searchHandlers = searchHandlers{store: o.Store, guard: o.Guard}
	s.terminalHandlers = terminalHandlers{driver: o.Driver, guard: o.Guard}
	s.preferenceHandlers = preferenceHandlers{store: o.Store, guard: o.Guard, alerts: o.Alerts}
	s.templateHandlers = templateHandlers{store: o.Store, commands: o.Commands}
	s.auditHandlers = auditHandlers{store: o.Store, log: o.Log}
	s.previewHandlers = previewHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, rules: o.Rules}
	s.alertHandlers = alertHandlers{alerts: o.Alerts}
	s.settingsHandlers = settingsHandlers{settings: o.Settings}
	s.processHandlers = processHandlers{store: o.Store, driver: o.Driver, live: o.Live, nodeID: o.NodeID, version: o.Version, started: s.started}
	s.sessionHandlers = sessionHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, rules: o.Rules, live: o.Live, notifier: o.Notifier}
	s.attachmentHandlers = attachmentHandlers{commands: o.Commands, attachments: o.Attachments}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

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
