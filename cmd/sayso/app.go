package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/cluster"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/descriptors"
	"github.com/sayso-dev/sayso/internal/job"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	processes "github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

// shutdownGrace is how long requests in flight may take after the server stops.
const shutdownGrace = 5 * time.Second

// app is a server with all its parts. [newApp] opens files, the database and listeners,
// [app.Run] serves, and [app.Close] closes what newApp opened.
type app struct {
	in       invocation
	read     settings // as given
	settings settings // with values determined at the start, such as the port
	log      *slog.Logger
	level    *slog.LevelVar
	closers  []func() // in the order of opening

	certificate *certificate  // nil without --tls-cert
	provider    *httpapi.OIDC // nil without an identity provider

	stateLock, databaseLock *os.File                    // the latter is nil for PostgreSQL
	databaseEndedCleanly    bool                        // at the end of the previous server
	shared                  store.Exclusive             // lock on the database, shared with other servers; nil for a file
	serverID                string                      // among the servers of the database
	others                  net.Listener                // for connections of the other servers; nil for a file
	cluster                 *cluster.Cluster            // of all these servers; nil for a file
	runNotifications        func(context.Context) error // receives the notifications of other servers; nil for a file
	descriptors             *descriptors.Reserve
	metrics                 *metrics
	opened                  store.Store
	store                   store.Store // opened, wrapped by metrics
	driving                 store.Store // store, for writes that need the lease of the runner; see takeLease
	directory               *account.Directory
	admin                   account.User // the first one

	public, localhostIPv6, local, plain, socket net.Listener // see listen; all but public may be nil
	localURL                                    string       // where sessions on this machine reach the server
	agentPaths                                  []string     // of the handlers for agents

	runAs   *claude.RunAs // nil: Claude runs as the server's user
	model   *scriptedmodel.Server
	demo    *launch.Demo
	sandbox *launch.Sandbox

	shims    *launch.Shims                   // of the runner inside this server
	roots    atomic.Pointer[workspace.Roots] // of that runner
	runnerID string                          // of that runner; "" without --local-runner
	lease    *session.Lease                  // of that runner; nil without one, or if the disk accepts no writes

	runtime      *runtimeSettings
	policy       *askPolicy
	attachments  *attachment.Shelf
	alerts       *alert.Alerter
	requests     *pending.Registry
	orchestrator *orchestrator.Fleet
	runners      *runners // on other hosts
	indexer      *transcriptIndexer
	jobs         *job.Leader
	notifier     session.Notifier
	agents       *mcpapi.Server
	rules        *decision.Rules
	tabs         *wsapi.Hub
	edge         *httpapi.Server
	certificates *acmeCertificates // nil without ACME
	endpoints    []endpoint
}

// newApp builds a server from its settings. It starts nothing.
func newApp(ctx context.Context, in invocation, s settings) (*app, error) {
	a := &app{in: in, read: s, settings: s, descriptors: descriptors.NewReserve()}
	// Steps that need no file come first, so that a mistake in the settings changes nothing.
	for _, step := range []func(context.Context) error{
		a.checkSettings, a.openDatabase, a.listen, a.prepareClaude, a.connect, a.answer,
	} {
		if err := step(ctx); err != nil {
			a.Close()
			return nil, err
		}
	}
	return a, nil
}

// Close closes what newApp opened. Run must have returned.
func (a *app) Close() {
	for len(a.closers) > 0 {
		last := len(a.closers) - 1
		a.closers[last]()
		a.closers = a.closers[:last]
	}
}

// onClose makes Close call a function and ignore its error: the servers have closed their
// listeners before, and connections and locks end with the process anyway.
func (a *app) onClose(release func() error) {
	a.closers = append(a.closers, func() { _ = release() })
}

// checkSettings checks everything that needs neither the state folder nor the database.
func (a *app) checkSettings(context.Context) (err error) {
	s := a.settings
	if a.log, a.level, err = newLog(s, a.in.stderr); err != nil {
		return err
	}
	if _, err := rulesOf(s); err != nil {
		return err
	}
	if a.in.demo && !s.LocalRunner {
		return errors.New("the demo needs --local-runner: it runs on this machine")
	}
	if s.TLSCert != "" {
		a.certificate = &certificate{cert: s.TLSCert, key: s.TLSKey}
		if err := a.certificate.read(); err != nil {
			return err
		}
	}
	a.provider, err = s.OIDC.provider(s.PublicURL)
	return err
}

// openDatabase locks the state folder and the database, and opens the database, migrating it if
// necessary.
func (a *app) openDatabase(ctx context.Context) (err error) {
	if a.stateLock, err = openStateDir(ctx, a.settings.StateDir); err != nil {
		return err
	}
	a.onClose(a.stateLock.Close)
	if err := refuseInterruptedRestore(a.settings.StateDir); err != nil {
		return err
	}
	if a.databaseLock, err = lockDatabase(ctx, a.settings.Database); err != nil {
		return err
	}
	a.onClose(a.databaseLock.Close)
	if a.shared, err = store.Share(ctx, a.settings.Database, handoverTimeout); err != nil {
		return err
	}
	if a.shared != nil {
		a.onClose(a.shared.Close)
	}
	if err := store.CheckLog(a.settings.Database); err != nil {
		a.log.Error("the database needs attention", "error", err)
	}
	a.databaseEndedCleanly = store.EndedCleanly(a.settings.Database)
	migrating := migrations.WithProgress(ctx, migrationReports, func(p migrations.Progress) {
		said := []any{"step", p.Step, "of", p.Steps, "name", p.Name}
		if p.Elapsed > 0 {
			said = append(said, "for", p.Elapsed.Round(time.Second), "written", megabytes(uint64(p.Written)), "size", megabytes(uint64(p.Size)))
		}
		a.log.InfoContext(ctx, "migrating the database", said...)
	})
	if a.opened, err = store.Open(migrating, a.settings.Database); err != nil {
		return err
	}
	a.metrics = newMetrics()
	tracer, endTracing, err := newTracer(a.settings, a.in.getenv, a.log)
	if err != nil {
		return err
	}
	a.onClose(endTracing)
	a.metrics.tracer = tracer
	a.store = a.metrics.measured(a.opened)
	a.metrics.watch(a.opened, a.settings.StateDir)
	a.closers = append(a.closers, func() {
		if err := a.store.Close(); err != nil {
			a.log.Error("cannot close the database properly", "error", err)
		}
	})
	a.directory = account.NewDirectory(a.store)
	a.directory.OnIncident(logIncident(a.log))
	a.serverID = uuid.NewString()
	a.admin, err = a.directory.Prepare(ctx, a.settings.BootstrapToken)
	return err
}

// listen opens the listeners, and stores their addresses for commands and agents that start
// later.
func (a *app) listen(ctx context.Context) (err error) {
	s := &a.settings
	var moved bool
	if a.public, moved, err = listenPublicly(s.Listen, a.in.demo); err != nil {
		return err
	}
	a.onClose(a.public.Close)
	s.Listen = a.public.Addr().String() // the port chosen for :0
	// A demo that runs beside a server leaves the name localhost to it: cookies are not separated by
	// port, so signing in to one would sign the browser out of the other.
	if !s.tls() && !moved {
		if a.localhostIPv6, s.named = listenOnLocalhost(ctx, s.Listen); a.localhostIPv6 != nil {
			a.onClose(a.localhostIPv6.Close)
		}
	}
	if err := a.listenForServers(ctx); err != nil {
		return err
	}
	if a.local, a.localURL, err = listenLocally(*s); err != nil {
		return err
	}
	if a.local != nil {
		a.onClose(a.local.Close)
	}
	if a.socket, err = listenAtSocket(s.StateDir); err != nil {
		a.log.Warn("the commands for the terminal, such as sayso status, cannot reach this server", "error", err)
	} else {
		a.onClose(a.socket.Close)
	}
	if err := updateConnections(s.StateDir, agentAddress(*s, a.localURL)); err != nil {
		a.log.Warn("external agents may use the old address of the server", "error", err)
	}
	if err := writeAddresses(*s); err != nil {
		a.log.Warn("later sign-in links may use the old address of the server", "error", err)
	}
	return nil
}

// prepareClaude determines the user and the sandbox of Claude, and prepares the demo.
func (a *app) prepareClaude(context.Context) (err error) {
	if a.model, err = demoModel(a.settings); err != nil {
		return fmt.Errorf("cannot start the demo model: %w", err)
	}
	a.onClose(a.model.Close)
	if a.runAs, err = claudeUser(a.settings, a.in.exe, true); err != nil {
		return err
	}
	if a.demo, err = demoOf(a.settings, a.model, a.runAs); err != nil {
		return err
	}
	a.sandbox, err = sandboxOf(a.settings, a.in.exe, a.runAs)
	return err
}

// connect creates the parts of the server and connects them.
func (a *app) connect(ctx context.Context) (err error) {
	s := a.settings
	a.shims = &launch.Shims{Exe: a.in.exe, Program: shimProgram(s.StateDir, a.log), Root: shimsIn(s.StateDir), Private: privateIn(s.StateDir), RunAs: a.runAs}
	if err := a.takeRunner(ctx); err != nil {
		return err
	}
	if a.attachments, err = attachment.Open(filepath.Join(s.StateDir, "attachments"), a.store, a.log); err != nil {
		return err
	}
	a.onClose(a.attachments.Close)
	pushKey, err := a.openPushKey(ctx)
	if err != nil {
		return err
	}
	if a.runtime, err = newRuntimeSettings(ctx, s, a.store, a.log); err != nil {
		return err
	}
	now := a.runtime.withChanges(s)
	rules, err := rulesOf(now)
	if err != nil {
		return err
	}
	a.roots.Store(&rules.Roots)
	a.policy = &askPolicy{projects: a.store.Projects}
	a.policy.set(now.Ask)

	notifier, receive, err := store.NewNotifier(s.Database, a.log)
	if err != nil {
		return err
	}
	a.runNotifications, a.notifier = receive, notifier
	var presence alert.PresenceStore
	if several, ok := store.AsCluster(a.opened); ok {
		presence = several
	}
	a.alerts, err = alert.New(alert.Options{
		Store: a.store, Presence: presence, Active: a.store.ActiveProcesses, State: a.store.ProcessState,
		Owner: func(ctx context.Context, sessionID string) (string, error) {
			known, err := a.store.Session(ctx, sessionID)
			return known.OwnerID, err
		},
		Language: func(ctx context.Context, userID string) (string, error) {
			p, err := a.store.Preferences(ctx, userID)
			return p.Language, err
		},
		People: alertRecipients(a.directory, a.store), Key: pushKey, PublicURL: address(s), Private: s.AlertPrivate, OnSent: a.metrics.onAlertSent, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.requests = pending.NewRegistry(a.store, notifier)
	var requests command.Requests = a.requests
	if tracer := a.metrics.tracer; tracer != nil {
		a.requests = pending.NewRegistry(a.store, tracedNotifier{notifier, tracer})
		requests = tracedRequests{a.requests, tracer}
	}
	trusted, err := settingsIn(s)
	if err != nil {
		return err
	}
	cli := &launch.CLI{Path: s.Claude, Environ: a.runAs.Environ(a.in.environ), RunAs: a.runAs, Exe: a.in.exe, Private: privateFiles(s), SettingsIn: trusted}
	a.shims.Redact = cli.Redact
	overMCP := &orchestrator.MCP{Tools: mcpapi.ToolNames(), Tokens: a.directory}
	local, err := orchestrator.New(orchestrator.Options{
		Store: a.driving, Registry: a.requests.WithStore(a.driving), Notifier: notifier,
		Launcher: &launch.Starter{
			CLI: cli, Commands: a.shims, Roots: func() workspace.Roots { return *a.roots.Load() }, Sandbox: a.sandbox,
			MCP: &launch.MCP{Exe: a.in.exe, URL: a.localURL + agentsPath}, Demo: a.demo, Check: a.descriptors.CheckConnection,
		},
		CLI:   cli,
		MCP:   overMCP,
		Rules: rules, Servers: a.servers(), RunnerID: a.runnerID, NodeID: s.NodeID, Demo: a.demo, Attachments: a.attachments, OnDelivered: a.metrics.onDelivered, Tracer: a.metrics.tracer, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.orchestrator = orchestrator.NewFleet(local)
	a.metrics.watchSessions(a.orchestrator.Stalled)
	a.agents, err = mcpapi.New(mcpapi.Options{
		Requests: a.requests, Store: a.store, Directory: a.directory, Notifier: notifier,
		Policy: a.policy.of, Version: versionText(), Log: a.log,
	})
	if err != nil {
		return err
	}
	adapters, err := a.agents.Adapters(mcpapi.AdapterOptions{
		Store: a.store, Requests: a.requests, Directory: a.directory, Notifier: notifier, Log: a.log,
	})
	if err != nil {
		return err
	}
	guard := access.NewGuard(a.store, a.directory, func(runnerID string) project.Disk { return a.orchestrator.Disk(runnerID) })
	a.rules = decision.New(guard, a.directory)
	a.rules.Levels.Disk = func(runnerID string) decision.Disk { return a.orchestrator.Disk(runnerID) }
	shown := newPresentStore(a.store, a.orchestrator.Present)
	refusals := &refusal.Table{ClassifyStoreError: classifyStoreError}
	commands, err := command.New(command.Options{
		Guard: guard, Rules: a.rules, Store: a.store, Requests: requests, Driver: a.orchestrator,
		Refusals: refusals, Attachments: a.attachments, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.tabs, err = wsapi.New(wsapi.Options{
		Store: shown, Processes: a.orchestrator, People: a.directory, Guard: guard, Rules: a.rules,
		Commands: commands, Refusals: refusals, Alerts: a.alerts, OnFrame: a.metrics.onFrame, Announce: notifier.NotifyTopic, OnViewers: a.reportViewers,
		Version: versionText(), NodeID: s.NodeID, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.runners = &runners{
		store: a.store, server: a.leaseServer(), announce: func() { notifier.NotifyTopic(session.TopicServers, "") }, log: a.log, fleet: a.orchestrator, notifier: notifier, show: a.tabs.ShowMachines,
		runnerID: a.runnerID, local: func() wire.RunnerLoad { return loadOf(a.shims, s.StateDir) },
		orchestrate: func(l session.Lease, known session.Runner, c *link.Conn) (*orchestrator.Orchestrator, error) {
			driving := a.metrics.measured(store.WithLease(a.opened, l))
			theirs := *a.orchestrator.Rules()
			theirs.Roots = known.Roots
			return orchestrator.New(orchestrator.Options{
				Store: driving, Registry: a.requests.WithStore(driving), Notifier: notifier,
				Launcher: processes.NewLauncher(c), Runner: processes.NewRunner(c), CLI: cli, MCP: overMCP,
				Rules: theirs, Servers: a.servers(), RunnerID: known.RunnerID, NodeID: known.Name, Attachments: a.attachments, OnDelivered: a.metrics.onDelivered, Tracer: a.metrics.tracer, Log: a.log,
			})
		},
	}
	if err = a.runners.serve(); err != nil {
		return err
	}
	if err = a.joinServers(notifier, refusals); err != nil {
		return err
	}
	handlers := agentHandlers(a.agents, adapters)
	a.agentPaths = slices.Collect(maps.Keys(handlers))
	handlers[runner.Path] = a.runners.endpoint
	var accessLog *slog.Logger
	if s.AccessLog {
		accessLog = a.log
	}
	a.edge, err = httpapi.New(httpapi.Options{
		AccessLog: accessLog,
		Store:     shown, Requests: a.requests, Driver: a.orchestrator, Live: a.tabs,
		Guard: guard, Rules: a.rules, Commands: commands, Refusals: refusals,
		Directory: a.directory, Attachments: a.attachments, Alerts: a.alerts, Notifier: notifier,
		App: webApp(), Agents: handlers, AllowedHosts: s.AllowedHosts, TLS: s.tls(),
		OIDC:      a.provider,
		PublicURL: s.PublicURL, TrustedProxies: s.proxies, ProxiesOnly: s.open && !s.tls(),
		Settings: a.runtime, Storage: a.Storage, Version: versionText(), NodeID: s.NodeID, Runners: a.runners, Log: a.log, NoSetUp: a.in.demo,
		SignInLimits: account.Limits{PerAccount: s.SignInFailures, PerAddress: s.AddressSignInFailures},
		Descriptors:  a.descriptors,
		Phone:        a.phoneAddresses,
		Metrics:      a.metrics.registry,
	})
	if err != nil {
		return err
	}
	notifier.Listen(a.tabs.Touch)
	notifier.ListenItems(a.tabs.TouchItems)
	notifier.ListenLive(a.tabs.TouchLive)
	notifier.Listen(a.orchestrator.SessionChanged)
	notifier.Listen(a.alerts.Touch)
	notifier.ListenRemote(a.requests.Wake)
	notifier.ListenAll(a.requests.WakeAll)
	notifier.ListenAll(a.tabs.TouchAll)
	notifier.ListenAll(a.alerts.TouchAll)
	a.connectTopics(notifier)
	a.indexer = newTranscriptIndexer(a.store.IndexTranscripts, a.log)
	notifier.Listen(a.indexer.Touch)
	notifier.ListenItems(a.indexer.Touch)
	a.jobs = job.NewLeader(a.store, uuid.NewString(), a.log)
	a.jobs.Add("alerts", a.alerts.Deliver)
	a.jobs.Add("unused attachments", func(ctx context.Context, _ int64) error { return a.attachments.RunSweeps(ctx) })
	a.jobs.Add("search index", func(ctx context.Context, _ int64) error { return a.indexer.Run(ctx) })
	a.jobs.Add("session retention", a.deleteExpiredSessions)
	a.jobs.Add("audit retention", func(ctx context.Context, _ int64) error { return a.runtime.Run(ctx) })
	if a.runNotifications != nil {
		a.jobs.Add("held answers of servers that ended", a.wakeHolds)
	}
	a.runtime.claude = func(ctx context.Context) string {
		if !s.LocalRunner {
			return ""
		}
		return local.Environment(ctx).ClaudeVersion
	}
	a.runtime.apply = func(now settings) error {
		rules, err := rulesOf(now)
		if err == nil {
			a.apply(rules, now.Ask)
		}
		return err
	}
	return nil
}

// apply makes the server use other rules and other settings for questions over MCP.
func (a *app) apply(rules orchestrator.Rules, ask askSettings) {
	a.roots.Store(&rules.Roots) // first: a session that the new rules allow may start at once
	a.orchestrator.SetRules(rules)
	a.policy.set(ask)
}

// connectTopics exchanges changes with the other servers, except those of sessions: it announces changes
// made on this server, and passes changes made elsewhere to the parts of this one.
func (a *app) connectTopics(n store.Notifier) {
	a.directory.OnChange(func() { n.NotifyTopic(session.TopicPeople, "") })
	a.runtime.announce = func() { n.NotifyTopic(session.TopicSettings, "") }
	a.orchestrator.OnRevoked(func() { n.NotifyTopic(session.TopicGrants, "") })
	n.ListenTopic(session.TopicPeople, func(string) {
		a.directory.ChangedElsewhere()
		a.tabs.PeopleChanged()
		a.orchestrator.LimitsChanged()
	})
	n.ListenTopic(session.TopicProjects, func(string) {
		a.tabs.PeopleChanged()
		a.orchestrator.LimitsChanged()
	})
	n.ListenTopic(session.TopicSettings, a.runtime.changedElsewhere)
	n.ListenTopic(session.TopicGrants, func(string) { a.orchestrator.GrantsRevoked() })
	for _, topic := range []session.Topic{session.TopicDrafts, session.TopicBookmarks} {
		n.ListenTopic(topic, func(userID string) { a.tabs.PersonalChanged(topic, userID) })
	}
}

// answer creates a web server for each listener. Run starts them.
func (a *app) answer(ctx context.Context) (err error) {
	server := newHTTPServer(a.edge, a.log)
	if a.certificate != nil {
		server.TLSConfig = a.certificate.config()
	}
	if a.certificates, a.plain, err = setUpACME(ctx, a.settings, server, a.log); err != nil {
		return err
	}
	add := func(name string, server *http.Server, l net.Listener) {
		a.endpoints = append(a.endpoints, endpoint{name, server, spareDescriptors(l, server, a.descriptors, a.log)})
	}
	add("web server", server, limitConnections(a.public, a.settings.proxies))
	if a.local != nil {
		add("web server for the agents of this machine", newHTTPServer(restrictToPaths(a.agentPaths, a.edge), a.log), a.local)
	}
	if a.socket != nil {
		add("web server for the terminal", newHTTPServer(&localOperator{next: a.edge, directory: a.directory}, a.log), a.socket)
	}
	if a.localhostIPv6 != nil {
		add("web server at the other address of this machine", newHTTPServer(a.edge, a.log), limitConnections(a.localhostIPv6, a.settings.proxies))
	}
	if a.plain != nil {
		a.onClose(a.plain.Close)
		add("web server for plain HTTP", newHTTPServer(a.certificates.redirectHTTP(address(a.settings)), a.log), limitConnections(a.plain, nil))
	}
	return nil
}

// Run announces the server and serves until ctx ends or a part fails. It stops in order:
// first the edges, while the parts behind them complete open requests, then it detaches from
// the sessions, which continue.
func (a *app) Run(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	edgesCtx, stopEdges := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEdges()
	sessionsCtx, stopSessions := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSessions()
	edges, ended := errgroup.WithContext(ctx)
	sessions, ended := errgroup.WithContext(ended)
	start := func(group *errgroup.Group, ctx context.Context, name string, run func(context.Context) error) {
		group.Go(func() error {
			if err := run(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	start(edges, edgesCtx, "model of the demo", a.model.Run)
	start(edges, edgesCtx, "attachments", a.attachments.Run)
	start(edges, edgesCtx, "reserve", a.reserveDisk)
	start(edges, edgesCtx, "check of the database", a.verifyDatabase)
	if a.shared != nil {
		start(edges, edgesCtx, "database", a.shared.Run)
	}
	if a.runNotifications != nil {
		start(edges, edgesCtx, "notifications", a.runNotifications)
		start(edges, edgesCtx, "settings of other servers", a.runtime.follow)
	}
	start(edges, edgesCtx, "tabs", a.tabs.Run)
	start(edges, edgesCtx, "held answers", func(ctx context.Context) error { return a.requests.RunHolds(ctx, a.rules) })
	start(edges, edgesCtx, "alerts", a.alerts.Run)
	start(edges, edgesCtx, "jobs", a.jobs.Run)
	start(edges, edgesCtx, "agents", a.agents.Run)
	start(edges, edgesCtx, "recovery", a.recoverFromOutages)
	start(edges, edgesCtx, "runners", a.runners.endpoint.Run)
	start(edges, edgesCtx, "machines", a.runners.watchMachines)
	if a.cluster != nil {
		start(edges, edgesCtx, "other servers", a.cluster.Run)
	}
	start(sessions, sessionsCtx, "processes", a.orchestrator.Run)
	if a.lease != nil {
		start(sessions, sessionsCtx, "lease", a.keepLease)
	}
	for _, e := range a.endpoints {
		start(edges, edgesCtx, e.name, func(context.Context) error { return e.serve() })
	}
	if a.certificates != nil {
		start(edges, edgesCtx, "certificates", a.certificates.Run)
	}
	reload := &reloader{app: a, leave: leave}
	start(edges, edgesCtx, "reload", reload.Run)

	select { // so that a tab that opens the announced address is not refused
	case <-a.tabs.Started():
	case <-ended.Done():
	}
	err := a.announce(ctx)
	if err == nil {
		<-ended.Done()
	}
	if ctx.Err() != nil {
		err = nil // also when ctx ended before the announcement
		a.log.Info("stopping; sessions keep running, and the next start reconnects to them")
	}
	noteEnding(a.stateLock, a.databaseLock)
	stopEdges() // at once, so that tabs look for the next server
	a.shutDown(context.WithoutCancel(ctx))
	edgesErr := edges.Wait()
	stopSessions()
	sessionsErr := sessions.Wait()
	a.releaseLease(context.WithoutCancel(ctx))
	return errors.Join(err, edgesErr, sessionsErr)
}

// shutDown lets the web servers complete requests in flight, and cuts off those that are still in
// flight after shutdownGrace, the limit for all servers together.
func (a *app) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	for _, e := range a.endpoints {
		if err := e.server.Shutdown(ctx); err != nil {
			a.log.Warn("requests were cut off: they took too long", "error", err)
			e.server.Close()
		}
	}
}

// recoverFromOutages makes everything that relies on the store catch up after each outage of
// the store.
func (a *app) recoverFromOutages(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.store.Recovered():
		}
		a.log.InfoContext(ctx, "the database is available again; rechecking pending work")
		a.requests.Recover(ctx)
		a.orchestrator.Recover(ctx)
		a.tabs.TouchAll()
	}
}

// holdsInterval bounds how late a held answer takes effect if its server has ended.
const holdsInterval = 2 * time.Second

// wakeHolds is a [job.Job]. Each server releases the answers that it holds, and the leader also those
// of servers that have ended. If two try, only one changes the row.
func (a *app) wakeHolds(ctx context.Context, _ int64) error {
	ticker := time.NewTicker(holdsInterval)
	defer ticker.Stop()
	for {
		a.requests.WakeHolds()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// verifyDatabase reads the whole database after a crash. Damage is reported like other
// problems of the database.
func (a *app) verifyDatabase(ctx context.Context) error {
	if a.databaseEndedCleanly {
		return nil
	}
	if err := a.store.Verify(ctx); err != nil && ctx.Err() == nil {
		a.log.Error("cannot verify the database", "error", err)
	}
	return nil
}

// reserveDisk reserves space for answers until ctx ends.
func (a *app) reserveDisk(ctx context.Context) error {
	if err := a.store.Reserve(ctx); err != nil && ctx.Err() == nil {
		a.log.Debug("cannot reserve disk space for answers", "error", err)
	}
	return nil
}

// secretFiles lists the files outside of the state folder that hold secrets of this server or runner.
func secretFiles(s settings) []string {
	return slices.DeleteFunc([]string{s.TLSKey, s.OIDC.SecretFile, s.Runner.TokenFile}, func(file string) bool { return file == "" })
}

// privateFiles lists the files of this server or runner. A tool call that reads them is never low risk.
func privateFiles(s settings) []string {
	list := append([]string{s.StateDir}, secretFiles(s)...)
	if s.file != "" {
		list = append(list, s.file)
	}
	if file, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		file, _, _ = strings.Cut(file, "?")
		list = append(list, file, file+"-wal", file+"-shm", file+"-journal")
	}
	for i, p := range list {
		if absolute, err := filepath.Abs(p); err == nil {
			list[i] = absolute
		}
	}
	return list
}

// classifyStoreError returns the code of a store error that affects all writes, "" for other errors.
func classifyStoreError(err error) wire.NoticeCode {
	switch {
	case errors.Is(err, store.ErrBroken), errors.Is(err, store.ErrCorrupt):
		return wire.Broken
	case errors.Is(err, store.ErrReadOnly):
		return wire.ReadOnly
	case errors.Is(err, store.ErrUnavailable):
		return wire.Unavailable
	}
	return ""
}

// agentHandlers returns the handlers for agents by path.
func agentHandlers(mcp *mcpapi.Server, adapters *mcpapi.Adapters) map[string]http.Handler {
	handlers := map[string]http.Handler{agentsPath: mcp}
	for _, path := range adapters.Paths() {
		handlers[path] = adapters
	}
	return handlers
}
