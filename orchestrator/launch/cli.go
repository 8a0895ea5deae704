package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// CLI is the Claude CLI that this node runs. It is safe for concurrent use.
type CLI struct {
	Path    string   // "" to look for claude in PATH
	Environ []string // of the server, KEY=value; package claude chooses what the CLI gets
	// RunAs is the user who runs CLIs, and with whose rights their files are read and written;
	// nil for the server's own user. With RunAs, Environ is the environment of that user.
	RunAs *claude.RunAs
	Exe   string // path of sayso, absolute; required with RunAs
	// Private lists the files and folders of sayso on this machine, as absolute paths.
	Private []string
	// SettingsIn lists the folders in which this CLI may load settings that a person trusts, also
	// in folders below them. nil means all folders.
	SettingsIn workspace.Roots

	mu         sync.Mutex // protects following
	builds     map[string]build
	saved      *claude.SavedFolder
	signedInAt time.Time // when the CLI last reported that it has an account
}

// build caches what Version found out about one build of the CLI.
type build struct {
	modified time.Time // modification time of the file
	version  string
	problem  string
}

// Installation holds what a person needs to know about the CLI and its user before starting a session.
type Installation struct {
	ClaudePath    string // "" when no CLI was found
	ClaudeVersion string
	SignedIn      bool   // the CLI has an account or an API key
	Problem       string // a sentence about why sessions cannot run, else ""
	Home          string // of the CLI's user, "" when there is none
}

// Installation finds the CLI and asks it for its version and account; see [CLI.Version] and
// [CLI.SignedIn].
func (c *CLI) Installation(ctx context.Context) (Installation, error) {
	i := Installation{Home: c.Getenv("HOME")}
	path, err := c.Find()
	if err != nil {
		i.Problem = err.Error()
		return i, nil
	}
	i.ClaudePath = path
	i.ClaudeVersion, i.Problem = c.Version(ctx, path)
	i.SignedIn = i.Problem == "" && c.SignedIn(ctx, path)
	if i.Problem == "" && !i.SignedIn {
		i.Problem = NotSignedIn(path)
	}
	return i, nil
}

// NoCLIError means that there is no CLI to run.
type NoCLIError struct {
	Sentence string // why, and what to do
	// NotExecutable is the file that exists but may not be executed, "" if there is none.
	NotExecutable string
}

func (e *NoCLIError) Error() string { return e.Sentence }

// As calls f with the file rights of the user who runs CLIs. Everything that may contain symbolic
// links made by Claude is read and written through As: with the server's own rights, a link could
// lead to files that Claude itself cannot access.
func (c *CLI) As(f func() error) error { return c.RunAs.Do(f) }

// asUser returns a command that becomes the user who runs CLIs and then runs command.
func (c *CLI) asUser(command claude.Command) claude.Command {
	if c.RunAs != nil {
		command.Args = append([]string{"enter", "--as=" + c.RunAs.Format(), command.Dir, command.Path}, command.Args...)
		command.Path = c.Exe
		if os.Geteuid() != 0 { // the server itself may be unable to enter the folder
			command.Dir = "/"
		}
	}
	return command
}

// Getenv returns a variable of the environment that the CLI gets.
func (c *CLI) Getenv(key string) string {
	for _, kv := range slices.Backward(c.Environ) {
		if name, value, _ := strings.Cut(kv, "="); name == key {
			return value
		}
	}
	return ""
}

// ConfigDir returns the folder of the CLI's user settings, "" when that is unknown.
func (c *CLI) ConfigDir() string {
	if dir := c.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := c.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}

// OwnFolders returns the settings folders of the CLI's user, with and without symbolic links
// resolved.
func (c *CLI) OwnFolders() []string {
	var own []string
	for _, kv := range c.Environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" {
			own = append(own, filepath.Join(home, ".claude"))
		}
		if dir, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok && dir != "" {
			own = append(own, filepath.Clean(dir))
		}
	}
	for _, dir := range own {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(own, real) {
			own = append(own, real)
		}
	}
	return own
}

// savedFolder returns the folder in which this CLI, and others of the same user, save
// conversations.
func (c *CLI) savedFolder() *claude.SavedFolder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saved == nil {
		c.saved = claude.NewSavedFolder(claude.ConfigDir(c.Environ))
	}
	return c.saved
}

// Find returns the absolute path of the CLI. The error is a [NoCLIError].
func (c *CLI) Find() (string, error) {
	name := c.Path
	if name == "" {
		name = "claude"
	}
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return filepath.Abs(path)
	case errors.Is(err, os.ErrPermission):
		return "", &NoCLIError{Sentence: notExecutable(name), NotExecutable: name}
	case c.Path != "":
		return "", &NoCLIError{Sentence: statement.New("cli_missing", "path", name)}
	}
	return "", &NoCLIError{Sentence: statement.New("cli_not_installed")}
}

func notExecutable(path string) string {
	return statement.New("cli_not_executable", "path", path, "command", "chmod +x "+path)
}

// Version asks the CLI at path for its version, once for each build. problem is a sentence if the
// CLI does not run, else "".
func (c *CLI) Version(ctx context.Context, path string) (version, problem string) {
	info, err := os.Stat(path)
	if err != nil {
		return "", statement.New("cli_unreadable", "path", path)
	}
	c.mu.Lock()
	known, ok := c.builds[path]
	c.mu.Unlock()
	if ok && known.modified.Equal(info.ModTime()) {
		return known.version, known.problem
	}
	const timeout = 15 * time.Second // a cold start of the CLI reads 370 MB
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := c.output(ctx, path, "--version")
	version, _, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	switch {
	case ctx.Err() != nil: // not cached: the next try may be quicker
		return "", statement.New("cli_slow", "path", path, "limit", timeout.Seconds())
	case err != nil:
		version, problem = "", statement.New("cli_broken", "path", path, "detail", err.Error())
	case version == "" || version[0] < '0' || version[0] > '9':
		version, problem = "", statement.New("cli_other", "path", path)
	}
	c.mu.Lock()
	if c.builds == nil {
		c.builds = map[string]build{}
	}
	c.builds[path] = build{info.ModTime(), version, problem}
	c.mu.Unlock()
	return version, problem
}

// output runs the CLI and returns what it prints. If ctx ends, it kills the CLI's process group.
func (c *CLI) output(ctx context.Context, path string, args ...string) ([]byte, error) {
	command := claude.Command{Path: path, Args: args}
	if c.RunAs != nil {
		command.Dir = "/"
		command = c.asUser(command)
	}
	cmd := exec.CommandContext(ctx, command.Path, command.Args...)
	cmd.Env = claude.Environ(c.Environ, filepath.Dir(path), nil)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// Command returns a command that runs the program at path in dir as the user who runs CLIs. The
// caller sets its environment.
func (c *CLI) Command(ctx context.Context, dir, path string, args ...string) *exec.Cmd {
	command := c.asUser(claude.Command{Path: path, Args: args, Dir: dir})
	cmd := exec.CommandContext(ctx, command.Path, command.Args...)
	cmd.Dir = command.Dir
	return cmd
}
