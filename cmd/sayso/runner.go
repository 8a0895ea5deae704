package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/internal/descriptors"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	processes "github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// runnerSettings are the settings that only a runner has.
type runnerSettings struct {
	Servers   []string
	TokenFile string
	Key       string // of the server; "" to verify its certificate
	Labels    []string
	Processes int // 0 for any number
}

// host runs sessions on this host for servers on other hosts.
type host struct {
	settings     settings
	exe          string
	log          *slog.Logger
	installation string // id
	runAs        *claude.RunAs
	sandbox      *launch.Sandbox
	cli          *launch.CLI
	localMethods runner.Methods // those of a launch.Runner
	program      func() string  // path of the shim program
	descriptors  *descriptors.Reserve
	mcp          *launch.MCP // where sessions reach the server through this program
	waiting      int         // sessions whose output could not be stored at the last hello
	// reportedCLI is what the CLI last reported in time for a hello.
	reportedCLI session.RunnerCLI
}

// runnerVerb runs a runner for the servers in its settings until ctx ends. The sessions then continue.
func runnerVerb(ctx context.Context, args []string, stderr io.Writer) error {
	signal.Ignore(syscall.SIGXFSZ) // as serve does
	s, rest, err := readSettings("runner", args, os.Getenv)
	if err == nil {
		err = noArguments(rest)
	}
	switch {
	case err != nil:
		return err
	case len(s.Runner.Servers) == 0:
		return usageError("give the address of the server with --connect https://SERVER")
	case s.Runner.TokenFile == "":
		return usageError("give the file with the token of this runner with --token-file FILE; sayso token --runner NAME on the server prints one")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the sayso program, which keeps sessions alive: %w", err)
	}
	h := &host{settings: s, exe: exe, descriptors: descriptors.NewReserve()}
	if h.log, _, err = newLog(s, stderr); err != nil {
		return err
	}
	lock, err := openStateDir(ctx, s.StateDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.prepare(); err != nil {
		return err
	}
	agents, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen for the sessions of this machine: %w", err)
	}
	h.mcp = &launch.MCP{Exe: exe, URL: "http://" + agents.Addr().String() + agentsPath}
	p, err := runner.NewProgram(runner.ProgramOptions{
		Servers: s.Runner.Servers, Pin: s.Runner.Key, Codes: processes.Codes(), Log: h.log,
		Token: h.token, Hello: h.hello, Begin: h.begin, Advice: advice,
		Greeted: func(ctx context.Context, w runner.Welcome, _ *link.Conn) error {
			if skew := time.Since(w.Time); skew.Abs() > maxSkew {
				h.log.WarnContext(ctx, "the clock of this host differs from that of the server's database; times in transcripts are wrong by as much", "difference", skew.Round(time.Second))
			}
			<-ctx.Done()
			return nil
		},
	})
	if err != nil {
		_ = agents.Close()
		return usageError(err.Error())
	}
	web := newHTTPServer(p.Forward(agentsPath), h.log)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer web.Close()
	serving.Go(func() {
		if err := web.Serve(agents); !errors.Is(err, http.ErrServerClosed) {
			h.log.ErrorContext(ctx, "Claude cannot ask questions over MCP", "error", err)
		}
	})
	err = p.Run(ctx)
	h.log.Info("stopping; sessions keep running, and the next start reconnects to them")
	noteEnding(lock)
	return err
}

// maxSkew bounds the difference of clocks, above which the log has a warning.
const maxSkew = 5 * time.Second

// prepare determines what sessions on this host need: their user, sandbox, CLI and folders.
func (h *host) prepare() (err error) {
	s := h.settings
	if h.installation, err = installationOf(s.StateDir); err != nil {
		return err
	}
	if h.runAs, err = claudeUser(s, h.exe, true); err != nil {
		return err
	}
	if h.sandbox, err = sandboxOf(s, h.exe, h.runAs); err != nil {
		return err
	}
	h.program = shimProgram(s.StateDir, h.log)
	trusted, err := settingsIn(s)
	if err != nil {
		return err
	}
	h.cli = &launch.CLI{Path: s.Claude, Environ: h.runAs.Environ(os.Environ()), RunAs: h.runAs, Exe: h.exe, Private: privateFiles(s), SettingsIn: trusted}
	rules, err := rulesOf(s)
	if err != nil {
		return err
	}
	h.settings.WorkspaceRoots = rules.Roots
	local, err := launch.NewRunner(h.cli, rules.Roots)
	if err != nil {
		return err
	}
	h.localMethods, err = runner.MethodsOf[launch.Runner](local)
	return err
}

// installationOf returns the id of the installation in a state folder, and creates one if it is missing.
func installationOf(stateDir string) (string, error) {
	file := filepath.Join(stateDir, "runner.json")
	var here localRunner
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &here)
	}
	if errors.Is(err, fs.ErrNotExist) {
		here.InstallationID = uuid.NewString()
		if text, err = json.Marshal(here); err == nil {
			err = config.Write(file, text)
		}
	}
	if err == nil && here.InstallationID == "" {
		err = errors.New("it names no installation")
	}
	if err != nil {
		return "", fmt.Errorf("which runner the state folder has: %s: %w", file, err)
	}
	return here.InstallationID, nil
}

// token reads the token, which may be replaced while the runner is running.
func (h *host) token() (string, error) {
	text, err := os.ReadFile(h.settings.Runner.TokenFile)
	if err != nil {
		return "", fmt.Errorf("the file with the token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// shims returns the processes of this host, for the server of one connection.
func (h *host) shims(epoch uint64) *launch.Shims {
	s := h.settings
	return &launch.Shims{Exe: h.exe, Program: h.program, Root: shimsIn(s.StateDir), Private: privateIn(s.StateDir), RunAs: h.runAs, Epoch: epoch, Redact: h.cli.Redact}
}

// hello returns the hello of this host: its identity, capacity, folders and CLI.
func (h *host) hello(ctx context.Context) (runner.Hello, error) {
	fences, waiting, err := h.shims(0).Fences(ctx)
	if err != nil {
		return runner.Hello{}, err
	}
	if waiting != h.waiting && waiting > 0 {
		h.log.WarnContext(ctx, "sessions wait because their output cannot be stored: the state folder is on a full disk, or no server has read it for long", "sessions", waiting)
	}
	h.waiting = waiting
	hello := runner.Hello{
		InstallationID: h.installation, Machine: machine(), Release: versionText(), Clock: time.Now(),
		Fence:  slices.Max(append(slices.Collect(maps.Values(fences)), 0)),
		Labels: h.settings.Runner.Labels, Roots: h.settings.WorkspaceRoots,
		Capacity: session.Capacity{Processes: h.settings.Runner.Processes, Memory: memInfo("MemTotal"), Cores: runtime.NumCPU()},
	}
	installed, err := h.cli.Installation(ctx)
	if err != nil {
		return runner.Hello{}, err
	}
	cli := session.RunnerCLI{Path: installed.ClaudePath, Version: installed.ClaudeVersion, SignedIn: installed.SignedIn}
	if ctx.Err() == nil {
		h.reportedCLI = cli
		if installed.Problem != "" {
			h.log.WarnContext(ctx, "sessions cannot run here yet", "problem", installed.Problem)
		}
	} else { // the server asks again once it is connected
		h.log.WarnContext(ctx, "the CLI did not report its version and account in time; connecting without waiting for it", "path", cli.Path)
		if cli.Path == h.reportedCLI.Path {
			cli.Version, cli.SignedIn = cmp.Or(cli.Version, h.reportedCLI.Version), cli.SignedIn || h.reportedCLI.SignedIn
		}
	}
	if cli.Path != "" {
		hello.CLIs = []session.RunnerCLI{cli}
	}
	return hello, nil
}

// begin returns the handler for the calls of a server, and the function that detaches from its
// sessions.
func (h *host) begin(w runner.Welcome) (runner.Serve, func()) {
	shims := h.shims(w.Epoch)
	served := processes.NewHost(&launch.Starter{
		CLI: h.cli, Commands: shims, Roots: func() workspace.Roots { return h.settings.WorkspaceRoots }, Sandbox: h.sandbox, MCP: h.mcp,
		Check: func() error {
			if n := h.settings.Runner.Processes; n > 0 && running(shims) >= n {
				return problem.New("runner_full", "max", strconv.Itoa(n))
			}
			return h.descriptors.CheckConnection()
		},
	})
	return func(ctx context.Context, call *link.Call) (any, error) {
		if call.Name == callLoad {
			return loadOf(shims, h.settings.StateDir), nil
		}
		if _, known := h.localMethods[call.Name]; known {
			return h.localMethods.Serve(ctx, call)
		}
		return served.Serve(ctx, call)
	}, served.Detach
}

// running returns how many CLIs run on this host.
func running(shims *launch.Shims) (n int) {
	found, _ := shims.Leftovers(context.Background()) // it reads a folder, and returns none on error
	for _, l := range found {
		if l.Origin().Alive {
			n++
		}
	}
	return n
}

// loadOf returns what this host uses now.
func loadOf(shims *launch.Shims, stateDir string) wire.RunnerLoad {
	l := wire.RunnerLoad{Processes: running(shims), Waiting: shims.Waiting(), FreeMemory: memInfo("MemAvailable")}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		l.Load, _ = strconv.ParseFloat(first, 64) // 0 on error
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(stateDir, &disk); err == nil {
		l.FreeDisk = uint64(disk.Bavail) * uint64(disk.Bsize)
	}
	return l
}

// memInfo returns a value of /proc/meminfo in bytes, 0 if it is missing.
func memInfo(name string) uint64 {
	text, _ := os.ReadFile("/proc/meminfo") // exists only on Linux
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			kB, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kB << 10
		}
	}
	return 0
}

// advice returns what to do about a connection error, "" for other errors.
func advice(err error) string {
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var network *net.OpError
	switch {
	case errors.Is(err, runner.ErrToken):
		return "create a token on the server with: sayso token --runner NAME, and write it to the file of --token-file"
	case errors.Is(err, runner.ErrInstallation):
		return "this state folder is a copy of another runner's, or was moved; create a separate runner for this host: sayso token --runner NAME on the server, and a new --state-dir"
	case errors.Is(err, runner.ErrRemoved):
		return "an admin has removed this runner; create another one on the server with: sayso token --runner NAME"
	case errors.Is(err, link.ErrVersion):
		return "the server is of a much older or newer release; install the same release on both"
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid):
		return "the certificate of the server is not trusted here; install its authority, use the name that it is for, or give the hash of the server's public key with --server-key"
	case errors.As(err, &network):
		return "the server cannot be reached; check the address of --connect, that the server runs, and what is between the two"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "write the token to the file of --token-file, readable by this user"
	}
	return ""
}
