package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// CLI is the Claude CLI that this node runs.
type CLI struct {
	Path    string   // "" to look for claude in PATH
	Environ []string // of the server, KEY=value; what of it the CLI gets is claude's to say
	// RunAs is the user as whom CLIs run, and who reads and writes their files; nil
	// when that is the server's own. Environ is then that of the user.
	RunAs *claude.RunAs
	Exe   string // of sayso, absolute, with RunAs: see [CLI.as]

	mu     sync.Mutex // protects following
	known  map[string]cliFacts
	folder *claude.SavedFolder // of saved conversations
	// account is when the CLI last said that it has one.
	account time.Time
}

// cliFacts is what was found out about one build of the CLI.
type cliFacts struct {
	changed time.Time // of the file, when asked
	version string
	problem string
}

// as returns the command that becomes the user of CLIs and then the command:
// `sayso enter --as=NUMBERS FOLDER PROGRAM ARGUMENTS`. What starts it keeps its own.
func (c *CLI) as(command claude.Command) claude.Command {
	if c.RunAs != nil {
		command.Args = append([]string{"enter", "--as=" + c.RunAs.Numbers(), command.Dir, command.Path}, command.Args...)
		command.Path = c.Exe
		if os.Geteuid() != 0 { // we need not be let into the folder
			command.Dir = "/"
		}
	}
	return command
}

// saved reads what this CLI, and others of the same person, have saved.
func (c *CLI) saved() *claude.SavedFolder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folder == nil {
		c.folder = claude.NewSavedFolder(claude.ConfigDir(c.Environ))
	}
	return c.folder
}

// path finds the CLI. The error is an [InvalidError].
func (c *CLI) path() (string, error) {
	name := c.Path
	if name == "" {
		name = "claude"
	}
	path, err := exec.LookPath(name)
	problem := ""
	switch {
	case err == nil:
		return filepath.Abs(path)
	case errors.Is(err, os.ErrPermission):
		problem = notExecutable(name)
	case c.Path != "":
		problem = fmt.Sprintf("There is no Claude CLI at %s. Correct the setting --claude, or install the CLI there.", name)
	default:
		problem = "The Claude CLI is not installed: there is no command claude in PATH. Install it, or say where it is with --claude."
	}
	return "", &InvalidError{Field: "claude", Sentence: problem}
}

func notExecutable(path string) string {
	return fmt.Sprintf("The Claude CLI at %s is not executable. Make it so with: chmod +x %s", path, path)
}

// command says how to start the CLI for a process.
func (c *CLI) command(p *process, w wiring) (claude.Command, error) {
	path, err := c.path()
	if err != nil {
		return claude.Command{}, err
	}
	s := p.session
	launch := claude.Launch{
		Path: path, Dir: s.CWD,
		SessionID: p.plan.SessionID, Resume: p.plan.Resume, Fork: p.plan.Fork,
		PermissionMode: s.PermissionMode, AllowBypass: s.PermissionMode == bypass, Model: s.Model, AllowedTools: slices.Concat(s.AllowedTools, w.tools),
		MCPConfigFile: w.configFile, AppendSystemPrompt: w.prompt, IncludePartialMessages: true,
	}
	if p.plan.settings.leaveOut {
		launch.SettingSources, launch.StrictMCPConfig = leftOut, true
	}
	args, err := launch.Args()
	if err != nil {
		return claude.Command{}, fmt.Errorf("orchestrator: %w", err)
	}
	extra := map[string]string{}
	maps.Copy(extra, p.plan.settings.variables)
	if p.plan.ContinueTurn {
		extra["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
	}
	if s.Demo && p.o.o.Demo != nil {
		for name, value := range p.o.o.Demo.Environ {
			extra[name] = value
		}
	}
	return claude.Command{Path: path, Args: args, Dir: s.CWD, Env: claude.Environ(c.Environ, s.CWD, extra)}, nil
}

// facts asks the CLI for its version, once for each build of it.
func (c *CLI) facts(ctx context.Context, path string) cliFacts {
	info, err := os.Stat(path)
	if err != nil {
		return cliFacts{problem: fmt.Sprintf("The Claude CLI at %s cannot be read.", path)}
	}
	c.mu.Lock()
	known, ok := c.known[path]
	c.mu.Unlock()
	if ok && known.changed.Equal(info.ModTime()) {
		return known
	}
	f := cliFacts{changed: info.ModTime()}
	const patience = 15 * time.Second // a cold start of the CLI reads 370 MB
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := c.output(ctx, path, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	switch {
	case ctx.Err() != nil:
		f.problem = fmt.Sprintf("The Claude CLI at %s did not say its version within %s.", path, words(patience))
		return f // not remembered: the next try may be quicker
	case err != nil:
		f.problem = fmt.Sprintf("The Claude CLI at %s does not run: %v.", path, err)
	case version == "" || version[0] < '0' || version[0] > '9':
		f.problem = fmt.Sprintf("The program at %s is not the Claude CLI: it does not know its version.", path)
	default:
		f.version = version
	}
	c.mu.Lock()
	if c.known == nil {
		c.known = map[string]cliFacts{}
	}
	c.known[path] = f
	c.mu.Unlock()
	return f
}

// output runs the CLI for one answer. Whatever it leaves running ends with it.
func (c *CLI) output(ctx context.Context, path string, args ...string) ([]byte, error) {
	as := claude.Command{Path: path, Args: args}
	if c.RunAs != nil {
		as.Dir = "/"
		as = c.as(as)
	}
	cmd := exec.CommandContext(ctx, as.Path, as.Args...)
	cmd.Env = claude.Environ(c.Environ, filepath.Dir(path), nil)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// Environment says what a person must know before starting a session.
func (o *Orchestrator) Environment(ctx context.Context) Environment {
	e := Environment{DemoAvailable: o.o.Demo != nil, WorkspaceRoots: o.rules().Roots}
	e.Home, _ = os.UserHomeDir() // "" when there is none
	if o.o.CLI.RunAs != nil {
		e.Home = o.o.CLI.RunAs.Home
	}
	path, err := o.o.CLI.path()
	if err != nil {
		e.Problem = err.Error()
		e.DemoAvailable = false // the demo is the real CLI, too
		return e
	}
	e.ClaudePath = path
	f := o.o.CLI.facts(ctx, path)
	e.ClaudeVersion, e.Problem = f.version, f.problem
	e.SignedIn = e.Problem == "" && o.o.CLI.signedIn(ctx, path)
	if e.Problem == "" && !e.SignedIn {
		e.Problem = notSignedIn(path)
	}
	return e
}

// notSignedIn names the program in full unless typing claude runs it.
func notSignedIn(path string) string {
	program := "claude"
	if found, err := exec.LookPath(program); err != nil || found != path {
		program = path
	}
	return fmt.Sprintf("Claude is not signed in on this server. Run %s there once and sign in, or start sayso with ANTHROPIC_API_KEY set.", program)
}

// launchSentence says to a person why the CLI could not be started.
func launchSentence(err error, path, cwd string) string {
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return invalid.Sentence
	case errors.Is(err, ErrUntrusted):
		return "The settings of the folder were changed in the moment in which Claude was to be started. Start again to look at them."
	case errors.Is(err, claude.ErrFolderMissing):
		return fmt.Sprintf("The folder %s is not there any more.", cwd)
	case errors.Is(err, claude.ErrCLIMissing):
		return fmt.Sprintf("There is no Claude CLI at %s any more.", path)
	case errors.Is(err, claude.ErrCLINotExecutable):
		return notExecutable(path)
	}
	return fmt.Sprintf("Claude could not be started: %v.", err)
}

// exitSentence says to a person why a CLI that ran is gone, when nobody ended it.
func (p *process) exitSentence(conn Conn, startError error) string {
	p.mu.Lock()
	noise := p.firstNoise
	p.mu.Unlock()
	said := lastLine(conn.Stderr())
	if said == "" {
		said = noise
	}
	if said != "" {
		said = " It said: " + said
	}
	switch {
	case errors.Is(startError, errRubbish):
		return "The program does not speak Claude's protocol." + said
	case errors.Is(startError, errNoAnswer):
		return fmt.Sprintf("Claude did not answer within %s after it was started.%s", words(p.o.rules().Limits.Start), said)
	case errors.Is(startError, errNobody):
		path, _ := p.o.o.CLI.path() // it ran just now
		return notSignedIn(path)
	case startError != nil && !errors.Is(startError, errGone):
		return fmt.Sprintf("Claude did not start properly: %v.%s", startError, said)
	}
	when := "The Claude process ended by itself"
	if p.left != nil && errors.Is(startError, errGone) {
		when = "The Claude process ended while the server was away"
	} else if errors.Is(startError, errGone) {
		when = "Claude ended as soon as it was started"
	}
	if err := conn.ExitError(); err != nil {
		return fmt.Sprintf("%s (%v).%s", when, err, said)
	}
	return when + "." + said
}

// lastLine returns the last line that says something, cut to what fits a banner.
func lastLine(text string) string {
	const most = 300
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := []rune(strings.TrimSpace(lines[len(lines)-1]))
	if len(line) > most {
		line = append(line[:most-1], '…')
	}
	return string(line)
}

// Environment is what a person must know before starting a session.
type Environment struct {
	ClaudePath     string // "" when no CLI was found
	ClaudeVersion  string
	SignedIn       bool   // the CLI has an account or an API key
	Problem        string // a sentence when sessions cannot run, "" when they can
	DemoAvailable  bool
	WorkspaceRoots []string
	Home           string
}
