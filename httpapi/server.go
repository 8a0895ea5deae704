// Package httpapi serves HTTP to browsers and scripts: REST, sign-in, the web app's
// files, health and metrics, as docs/integrating describes. It passes authenticated
// WebSockets to [Live], which keeps tabs up to date.
//
// [Server] is an http.Handler and has no goroutines of its own.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/oidc"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Store is the union of what the handlers read and write.
type Store interface {
	grantStore
	projectStore
	searchStore
	preferenceStore
	bookmarkStore
	templateStore
	account.Trail
	account.Failures
	account.Ceremonies
	previewStore
	processStore
	runnerStore
	sessionStore
	toolsStore
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Ping(ctx context.Context) error
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	SetUserLimits(ctx context.Context, userID, name string, o project.Override, by pending.Actor) error
}

// Requests lists open requests; see pending.Registry.
type Requests interface {
	Open(ctx context.Context, sessionID string) ([]pending.Request, error)
}

// Driver is the union of what the handlers need from orchestrator.Orchestrator.
type Driver interface {
	grantDriver
	folderDriver
	limitDriver
	projectDriver
	terminalDriver
	previewDriver
	processDriver
	sessionDriver
	changesDriver
	exportDriver
	catalogDriver
	machineDriver
	toolsDriver
}

// Options configures a [Server]. Fields are required unless they say otherwise.
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
	// Alerts notifies people outside the app.
	Alerts *alert.Alerter
	// Settings lists and changes the server's settings; nil if there are none to show.
	Settings Settings `optional:"true"`
	// Storage reports what the server stores; nil to hide it.
	Storage Storage `optional:"true"`
	// Notifier learns of changes that handlers make directly.
	Notifier session.Notifier
	// App serves the web app at every path without a route.
	App http.Handler
	// Agents maps paths such as "/mcp" to handlers for agents. The host, query and
	// origin of their requests have been checked. The handlers authenticate agents
	// themselves and must accept no credential of a person. It may be nil.
	Agents map[string]http.Handler
	// AllowedHosts are the host names, with or without a port, under which browsers may
	// reach the server. They are compared exactly. Loopback names are always allowed.
	// See [Server.SetAllowedHosts].
	AllowedHosts []string
	// TLS means that browsers reach the server over HTTPS.
	TLS bool
	// PublicURL is the address under which browsers reach the server through a proxy,
	// as returned by [ParsePublicURL], or "". Its host is allowed.
	PublicURL string
	// OIDC is the identity provider; it may be nil. It requires PublicURL, to which the
	// provider sends browsers back.
	OIDC *OIDC `optional:"true"`
	// TrustedProxies may set X-Forwarded-For. No other forwarded header is read;
	// proxies must pass on Host unchanged.
	TrustedProxies []netip.Prefix
	// ProxiesOnly refuses connections that come from neither a trusted proxy nor this
	// machine.
	ProxiesOnly bool
	// SignInLimits bound failed sign-ins; zero for [account.DefaultLimits].
	SignInLimits account.Limits
	// Descriptors limits open connections by free file descriptors; nil for no limit.
	Descriptors Descriptors `optional:"true"`
	// Phone returns the addresses by which a phone reaches the server; nil if unknown.
	Phone func(ctx context.Context) []wire.PhoneAddress `optional:"true"`
	// Metrics is served at /metrics with the metrics of the server itself.
	Metrics prometheus.Gatherer
	// AccessLog gets an entry for each request; nil for none.
	AccessLog *slog.Logger `optional:"true"`
	// NoSetUp hides the set-up page for the first admin, as in a demo.
	NoSetUp bool
	Version string
	NodeID  string
	// Runners are the runners on other hosts.
	Runners Runners
	Log     *slog.Logger
}

// OIDC configures the identity provider at which people sign in.
type OIDC struct {
	Provider *oidc.Provider
	// Name is the provider's name on screens.
	Name string
	// RoleOf maps the values of the role claim to a role, "" for no access.
	RoleOf func(values []string) account.Role
}

// Descriptors checks whether enough file descriptors are free. Its methods return a
// [problem.Error] if not.
type Descriptors interface {
	CheckConnection() error // for a connection that stays open
	CheckRequest() error    // for a request
}

// Server serves HTTP. It is an http.Handler.
type Server struct {
	o             Options
	limiter       account.SignInLimiter
	failedSignIns atomic.Uint64
	handler       http.Handler
	registry      *prometheus.Registry
	started       time.Time
	refusals      atomic.Int64
	faults        atomic.Int64 // requests that failed inside the server
	allowedHosts  atomic.Pointer[[]string]

	grantHandlers
	folderHandlers
	limitHandlers
	projectHandlers
	searchHandlers
	terminalHandlers
	preferenceHandlers
	bookmarkHandlers
	templateHandlers
	auditHandlers
	previewHandlers
	alertHandlers
	settingsHandlers
	storageHandlers
	processHandlers
	runnerHandlers
	sessionHandlers
	attachmentHandlers
	changesHandlers
	exportHandlers
	catalogHandlers
	toolsHandlers
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }
