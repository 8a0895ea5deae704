package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
	"github.com/sayso-dev/sayso/frontend"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/wsapi"
)

// shutdownGrace is how long requests under way may take once the server stops.
const shutdownGrace = 5 * time.Second

// serve runs the server until ctx ends. With demo it starts a demo session at
// once. That ctx ends before the server is ready is no failure.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer, demo bool) error {
	err := runServer(ctx, args, stdout, stderr, demo)
	if err == nil || ctx.Err() == nil || errors.Is(err, errUsage) || errors.Is(err, flag.ErrHelp) {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "sayso:", err)
	}
	fmt.Fprintln(stderr, "sayso: stopped before it was ready. Nothing is lost; sessions that run go on.")
	return nil
}

func runServer(ctx context.Context, args []string, stdout, stderr io.Writer, demo bool) error {
	// A limit on the size of files is as good as a full disk: said, and survived.
	signal.Ignore(syscall.SIGXFSZ)
	hangups, attended, stopCatching := catchHangups()
	defer stopCatching()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s, rest, err := readSettings("serve", args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("serve takes no argument %q", rest[0])
	}
	log, level, err := newLog(s, stderr)
	if err != nil {
		return err
	}
	if _, err := rulesOf(s); err != nil {
		return err // before anything is opened
	}
	var own *certificate
	if s.TLSCert != "" {
		own = &certificate{cert: s.TLSCert, key: s.TLSKey}
		if err := own.read(); err != nil {
			return err
		}
	}
	provider, err := s.OIDC.provider(s.PublicURL)
	if err != nil {
		return err
	}
	lock, err := openStateDir(ctx, s.StateDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	reload := &reloader{
		args: args, stderr: stderr, hangups: hangups, attended: attended, read: s,
		level: level, certificate: own, log: log,
	}
	// Before it is opened, which may migrate it.
	alone, err := lockDatabase(ctx, s.Database)
	if err != nil {
		return err
	}
	defer alone.Close() // of none it is an error that nobody needs
	exclusive, err := store.Exclude(ctx, s.Database, handOver)
	if err != nil {
		return err
	}
	defer func() {
		if exclusive != nil {
			exclusive.Close() // the connection ends with us in any case
		}
	}()
	opened, err := store.Open(ctx, s.Database)
	if err != nil {
		return err
	}
	defer func() {
		if err := opened.Close(); err != nil {
			log.Error("cannot close the database properly", "error", err)
		}
	}()
	directory := account.NewDirectory(opened)
	admin, err := directory.Prepare(ctx, s.BootstrapToken)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; is something else there, such as another sayso?", s.Listen, err)
	}
	defer listener.Close()              // of one that was closed by its server it is an error that nobody needs
	s.Listen = listener.Addr().String() // the port that was chosen for :0
	var twin net.Listener
	if !s.tls() {
		twin, s.named = byName(ctx, s.Listen)
	}
	defer func() {
		if twin != nil {
			twin.Close()
		}
	}()

	if err := tellAgents(s.StateDir, localAddress(s)); err != nil {
		log.Warn("agents outside may look for the server where it was", "error", err)
	}
	if err := noteWays(s); err != nil {
		log.Warn("later sign-in addresses may lead to where the server was", "error", err)
	}

	model, err := demoModel(s)
	if err != nil {
		return fmt.Errorf("cannot start the model of the demo: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find my own program, which keeps sessions alive: %w", err)
	}
	runAs, err := claudeUser(s, exe)
	if err != nil {
		return err
	}
	demoSettings, err := demoOf(s, model, runAs)
	if err != nil {
		return err
	}
	sandbox, err := sandboxOf(s, exe, runAs)
	if err != nil {
		return err
	}
	epoch, err := opened.NextEpoch(ctx)
	if err != nil {
		return err
	}

	local, localURL, err := listenLocally(s)
	if err != nil {
		return err
	}
	defer func() {
		if local != nil {
			local.Close()
		}
	}()

	shelf, err := attachment.Open(filepath.Join(s.StateDir, "attachments"), opened, log)
	if err != nil {
		return err
	}
	defer shelf.Close()

	pushKey, err := alert.OpenKey(filepath.Join(s.StateDir, "push-key"))
	if err != nil {
		return err
	}
	alerts := alert.New(alert.Options{
		Store: opened, Active: opened.ActiveProcesses, State: opened.ProcessState,
		Owner: func(ctx context.Context, sessionID string) (string, error) {
			known, err := opened.Session(ctx, sessionID)
			return known.OwnerID, err
		},
		Language: func(ctx context.Context, userID string) (string, error) {
			p, err := opened.Preferences(ctx, userID)
			return p.Language, err
		},
		People: peopleToTell(directory, opened), Key: pushKey, PublicURL: address(s), Private: s.AlertPrivate, Log: log,
	})

	inForce, err := newLivingSettings(ctx, s, opened, log)
	if err != nil {
		return err
	}
	rules, err := rulesOf(inForce.over(s))
	if err != nil {
		return err
	}

	private := privateIn(s.StateDir)
	bell := &session.LocalBell{}
	policy := &askingPolicy{projects: opened.Projects}
	policy.set(inForce.over(s).Ask)
	registry := pending.NewRegistry(opened, bell)
	driver := orchestrator.New(orchestrator.Options{
		Store: opened, Registry: registry, Bell: bell,
		Launcher: orchestrator.Shims{Exe: exe, Root: shimsIn(s.StateDir), Epoch: epoch, Private: private, RunAs: runAs},
		CLI:      &orchestrator.CLI{Path: s.Claude, Environ: runAs.Environ(os.Environ()), RunAs: runAs, Exe: exe},
		MCP:      &orchestrator.MCP{Exe: exe, URL: localURL + agentsPath, Tools: mcpapi.ToolNames(), Tokens: directory},
		Sandbox:  sandbox,
		Rules:    rules, NodeID: s.NodeID, Demo: demoSettings, Attachments: shelf, Log: log,
	})
	agents := mcpapi.New(mcpapi.Options{
		Requests: registry, Store: opened, Directory: directory, Bell: bell,
		Policy: policy.of, Version: versionText(), Log: log,
	})
	door := wsapi.New(wsapi.Options{
		Store: opened, Requests: registry, Driver: driver, Disk: driver.Disk(), Directory: directory, Attachments: shelf, Alerts: alerts, Bell: bell,
		App: frontend.Handler(), Agents: agentDoors(agents, agents.Adapters(mcpapi.AdapterOptions{
			Store: opened, Requests: registry, Directory: directory, Bell: bell, Log: log,
		})), AllowedHosts: s.AllowedHosts, TLS: s.tls(),
		OIDC:      provider,
		PublicURL: s.PublicURL, TrustedProxies: s.proxies, ProxiesOnly: s.open && !s.tls(),
		Settings: inForce, Version: versionText(), NodeID: s.NodeID, Log: log, NoSetUp: demo,
		SignInLimits: account.Limits{PerAccount: s.SignInFailures, PerAddress: s.AddressSignInFailures},
		Trouble:      trouble, Private: privateFiles(s),
	})
	bell.Listen(door.Touch)
	bell.Listen(driver.Touch)
	bell.Listen(alerts.Touch)
	inForce.claude = func(ctx context.Context) string { return driver.Environment(ctx).ClaudeVersion }
	inForce.apply = func(now settings) error {
		rules, err := rulesOf(now)
		if err == nil {
			driver.SetRules(rules)
			policy.set(now.Ask)
		}
		return err
	}
	reload.driver, reload.door, reload.policy, reload.inForce = driver, door, policy, inForce
	serverOf := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 5 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		}
	}
	server, localServer, twinServer := serverOf(door), serverOf(only(agentsPath, door)), serverOf(door)
	if own != nil {
		server.TLSConfig = own.config()
	}
	certificates, plain, err := byACME(ctx, s, server, log)
	if err != nil {
		return err
	}

	// Doors are closed first, while the rooms behind them still answer what came in;
	// then the sessions are let go of.
	doorCtx, stopDoor := context.WithCancel(context.WithoutCancel(ctx))
	driverCtx, stopDriver := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDoor()
	defer stopDriver()
	var failed firstError
	var driving, opening sync.WaitGroup
	ended := make(chan struct{})
	var once sync.Once
	watch := func(what string, run func() error) func() {
		return func() {
			if err := run(); err != nil {
				failed.set(fmt.Errorf("%s: %w", what, err))
				once.Do(func() { close(ended) })
			}
		}
	}
	opening.Go(watch("model of the demo", func() error { return model.Run(doorCtx) }))
	opening.Go(watch("attachments", func() error { return shelf.Run(doorCtx) }))
	opening.Go(func() { index(doorCtx, opened, log) })
	opening.Go(func() {
		if err := opened.Reserve(doorCtx); err != nil && doorCtx.Err() == nil {
			log.Debug("answers may wait for the disk to find room", "error", err)
		}
	})
	if exclusive != nil {
		opening.Go(watch("database", func() error { return exclusive.Run(doorCtx) }))
	}
	opening.Go(watch("tabs", func() error { return door.Run(doorCtx) }))
	opening.Go(watch("held answers", func() error { return registry.RunHolds(doorCtx, door.MayCount) }))
	opening.Go(watch("alerts", func() error { return alerts.Run(doorCtx) }))
	opening.Go(watch("agents", func() error { return agents.Run(doorCtx) }))
	driving.Go(watch("processes", func() error { return driver.Run(driverCtx) }))
	opening.Go(watch("web server", func() error { return serveOn(server, limitConnections(listener, s.proxies)) }))
	if twin != nil {
		opening.Go(watch("web server at the other address of this machine", func() error { return serveOn(twinServer, limitConnections(twin, s.proxies)) }))
	}
	if local != nil {
		opening.Go(watch("web server for the sessions", func() error { return serveOn(localServer, local) }))
	}

	var plainServer *http.Server
	if certificates != nil {
		opening.Go(func() { certificates.Run(doorCtx) })
		if plain != nil {
			plainServer = serverOf(certificates.plain(address(s)))
			opening.Go(watch("web server for plain HTTP", func() error { return serveOn(plainServer, limitConnections(plain, nil)) }))
		}
	}
	opening.Go(func() { reload.Run(doorCtx, leave) })
	opening.Go(func() { inForce.Run(doorCtx) })

	err = announce(ctx, stdout, s, directory, admin, driver, demo)
	if err == nil {
		select {
		case <-ctx.Done():
		case <-ended:
		}
	}
	if ctx.Err() != nil {
		err = nil // also when the end came before the announcement was out
		log.Info("stopping; sessions go on and are taken up again by the next start")
	}
	noteEnding(lock, alone)
	stopDoor() // at once, so that tabs look for the next server
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	for _, server := range []*http.Server{server, localServer, twinServer, plainServer} {
		if server == nil {
			continue
		}
		if err := server.Shutdown(closing); err != nil {
			log.Warn("requests were cut off: they took too long", "error", err)
			server.Close()
		}
	}
	opening.Wait()
	stopDriver()
	driving.Wait()
	return errors.Join(err, failed.get())
}

// peopleToTell lists who may answer, and says where.
func peopleToTell(directory *account.Directory, known store.Store) func(context.Context) ([]alert.Person, error) {
	return func(ctx context.Context) (list []alert.Person, err error) {
		users, err := directory.Users(ctx)
		if err != nil {
			return nil, err
		}
		projects, err := known.Projects(ctx)
		if err != nil {
			return nil, err
		}
		book := project.NewBook(projects, users)
		for _, u := range users {
			if u.Disabled || !u.Role.AtLeast(account.Member) {
				continue
			}
			who := project.Person{UserID: u.UserID, Role: u.Role}
			list = append(list, alert.Person{UserID: u.UserID, MayAnswer: func(sessionID string) bool {
				if len(projects) == 0 {
					return true
				}
				s, err := known.Session(ctx, sessionID)
				return err == nil && book.May(who, project.Answer, project.Place{ProjectID: s.InProject, OwnerID: s.OwnerID}) == nil
			}})
		}
		return list, nil
	}
}

// index takes transcripts in for searches, behind what is said: each search takes
// in the last of it by itself. It begins with all that an older sayso has stored.
func index(ctx context.Context, opened store.Store, log *slog.Logger) {
	const step, pause = 100, 10 * time.Second
	for {
		more, err := opened.IndexTranscripts(ctx, step)
		if err != nil && ctx.Err() == nil {
			log.Debug("cannot take transcripts in for searches; trying again", "error", err)
		}
		wait := pause
		if more {
			wait = 20 * time.Millisecond // others write too
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// agentDoors are the doors for agents by their paths.
func agentDoors(mcp *mcpapi.Server, adapters *mcpapi.Adapters) map[string]http.Handler {
	doors := map[string]http.Handler{agentsPath: mcp}
	for _, path := range adapters.Paths() {
		doors[path] = adapters
	}
	return doors
}

func serveOn(server *http.Server, listener net.Listener) (err error) {
	if server.TLSConfig != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// agentsPath is that of the door for agents.
const agentsPath = "/mcp"

// listenLocally makes a listener for the sessions of this machine, and tells its
// address. It is nil where they can use the one for everybody: an address beyond
// this machine may be no way to ourselves, and a certificate is made out for a name
// that need not be known here.
func listenLocally(s settings) (net.Listener, string, error) {
	if !s.tls() && !s.open {
		return nil, "http://" + s.Listen, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen for the sessions of this machine: %w", err)
	}
	return l, "http://" + l.Addr().String(), nil
}

// only lets nothing but one path through to h.
func only(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// announce says where the server is and how to get in, once it can be reached.
func announce(ctx context.Context, stdout io.Writer, s settings, directory *account.Directory, admin account.User, driver *orchestrator.Orchestrator, demo bool) error {
	if demo {
		if _, err := driver.Start(ctx, orchestrator.StartRequest{Demo: true, By: pending.Actor{UserID: admin.UserID, Name: admin.Name}}); err != nil {
			return fmt.Errorf("cannot start the demo: %w", err)
		}
	}
	unclaimed, err := directory.Unclaimed(ctx)
	if err != nil {
		return err
	}
	if unclaimed {
		secret, err := directory.NewSignInLink(ctx, admin.UserID)
		if err != nil {
			return err
		}
		// Its link is good nowhere else.
		fmt.Fprintf(stdout, "sayso is running at %s\n\nSign in with this address, once, within %s:\n\n    %s\n\n", localAddress(s), signInLife, signInAddress(waysTo(s).here, secret))
		if !demo {
			fmt.Fprint(stdout, "It makes you the first admin, so open it on this machine. Nobody else can sign in yet.\n\n")
		}
	} else {
		// Logs keep what a start prints, and this would be an admin's.
		fmt.Fprintf(stdout, "sayso is running at %s\n\nOpen %s to sign in. For an address that signs an admin in, once, run: sayso token --sign-in\n\n", address(s), waysTo(s).outside)
	}
	if e := driver.Environment(ctx); e.Problem != "" {
		fmt.Fprintf(stdout, "%s\n", e.Problem)
		if e.DemoAvailable {
			fmt.Fprintln(stdout, "Until then you can try the demo session in the web app: the real Claude CLI on a scripted model.")
		}
		fmt.Fprintln(stdout)
	}
	return nil
}

// demoModel listens where it did the last time, if it can: a demo session that
// outlived the server knows no other address.
func demoModel(s settings) (*scriptedmodel.Server, error) {
	model := scriptedmodel.New(scriptedmodel.Options{Default: scriptedmodel.Demo()})
	path := filepath.Join(s.StateDir, "demo", "address")
	if known, err := os.ReadFile(path); err == nil {
		if server, err := scriptedmodel.Listen(string(known), model); err == nil {
			return server, nil
		}
	}
	server, err := scriptedmodel.Listen("127.0.0.1:0", model)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return server, os.WriteFile(path, []byte(server.Addr()), 0o600)
}

// demoOf says how demo sessions run: in a folder of their own, with a home of
// their own, so that nothing of the person's account or settings is touched.
func demoOf(s settings, model *scriptedmodel.Server, runAs *claude.RunAs) (*orchestrator.Demo, error) {
	place := filepath.Join(s.StateDir, "demo")
	if runAs != nil { // who may not go in there
		place = filepath.Join(privateIn(s.StateDir), "demo")
		err := runAs.InGroup(func() error {
			if err := os.MkdirAll(place, 0o770); err != nil {
				return err
			}
			return os.Chmod(place, 0o770)
		})
		if err != nil {
			return nil, fmt.Errorf("folder of the demo: %w", err)
		}
	}
	home, folder := filepath.Join(place, "home"), filepath.Join(place, "work")
	err := runAs.Do(func() error {
		return errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(folder, 0o700))
	})
	if err != nil {
		return nil, fmt.Errorf("folder of the demo: %w", err)
	}
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("folder of the demo: %w", err)
	}
	environ := map[string]string{
		"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"),
		"ANTHROPIC_BASE_URL": model.URL(), "ANTHROPIC_API_KEY": "demo",
		// Whatever account the server was started with stays out of the demo.
		"ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_MODEL": "", "CLAUDE_CODE_OAUTH_TOKEN": "",
		"CLAUDE_CODE_USE_BEDROCK": "", "CLAUDE_CODE_USE_VERTEX": "", "CLAUDE_CODE_USE_FOUNDRY": "",
		"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
	}
	for _, e := range scriptedmodel.DemoEnv {
		for i := range e {
			if e[i] == '=' {
				environ[e[:i]] = e[i+1:]
				break
			}
		}
	}
	return &orchestrator.Demo{Environ: environ, Folder: folder, Prompt: scriptedmodel.DemoPrompt}, nil
}

// newLog makes the log, and what its level can be changed with.
func newLog(s settings, stderr io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	level, err := levelOf(s)
	if err != nil {
		return nil, nil, err
	}
	now := &slog.LevelVar{}
	now.Set(level)
	options := &slog.HandlerOptions{Level: now}
	switch s.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, options)), now, nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), now, nil
	}
	return nil, nil, fmt.Errorf("--log-format %s: use text or json", s.LogFormat)
}

func levelOf(s settings) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level %s: use debug, info, warn or error", s.LogLevel)
	}
	return level, nil
}

// firstError keeps the first of several errors.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// privateFiles are what the server keeps, which a tool call of low risk must not read.
func privateFiles(s settings) []string {
	list := []string{s.StateDir}
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
