package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// Starter starts CLIs on this machine, according to its own settings. It implements [Launcher]. CLI,
// Roots and Commands are required.
type Starter struct {
	CLI *CLI
	Commands
	// Roots returns the folders inside which processes may work. It is safe for concurrent use.
	Roots   func() workspace.Roots
	Sandbox *Sandbox // nil when CLIs run without a sandbox
	MCP     *MCP     // nil when CLIs do not ask over MCP
	Demo    *Demo    // nil without a scripted model
	// Check implements CheckMachine; nil for a machine that can always run another process.
	Check func() error
}

// Demo is the scripted model that demo sessions talk to.
type Demo struct {
	Environ map[string]string // added to the CLI's environment
	Folder  string            // of demo sessions, created if missing
	Prompt  string            // the default prompt
}

// Process describes a process to start. The runner adds the rest from its own settings: the CLI,
// its environment, the sandbox, and the address at which the CLI asks over MCP.
type Process struct {
	ID     ID     `json:"id"`
	Folder string `json:"folder"` // absolute, without symbolic links
	// NewSession is the id of a new conversation, Resume the id of the one to continue. With
	// Fork, the conversation Resume continues under the id NewSession.
	NewSession string `json:"new_session,omitempty"`
	Resume     string `json:"resume,omitempty"`
	Fork       bool   `json:"fork,omitempty"`
	ResumeAt   string `json:"resume_at,omitempty"` // with Resume: the last entry to continue from, "" for the end
	// ContinueTurn makes a turn that was cut off continue by itself.
	ContinueTurn   bool     `json:"continue_turn,omitempty"`
	Model          string   `json:"model,omitempty"`
	PermissionMode string   `json:"permission_mode"`
	AllowBypass    bool     `json:"allow_bypass,omitempty"`
	AllowedTools   []string `json:"allowed_tools,omitempty"`
	// UserSettingsOnly ignores the settings of the folder. Otherwise Trusted identifies the settings
	// that a person trusts; it is nil from a server of an earlier release.
	UserSettingsOnly bool     `json:"user_settings_only,omitempty"`
	Trusted          *Trusted `json:"trusted,omitempty"`
	// Overrides are variables that disable what UserSettingsOnly does not cover. Only runners of
	// earlier releases use them; current ones accept none from a server.
	Overrides map[string]string `json:"overrides,omitempty"`
	// Demo makes the process talk to the scripted model of the runner.
	Demo  bool  `json:"demo,omitempty"`
	Agent Agent `json:"agent"`
}

// Error is a failed start.
type Error struct {
	Sentence string // for people, about why the CLI could not be started
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// startSentence returns the sentence of an [Error]. cli is the path of the CLI, "" if none was found.
func startSentence(cli, folder string, err error) string {
	var none *NoCLIError
	switch {
	case errors.As(err, &none):
		return none.Sentence
	case errors.Is(err, claude.ErrFolderMissing):
		return statement.New("folder_gone", "folder", folder)
	case errors.Is(err, claude.ErrCLIMissing):
		return statement.New("cli_gone", "path", cli)
	case errors.Is(err, claude.ErrCLINotExecutable):
		return notExecutable(cli)
	}
	return statement.New("not_started", "detail", err.Error())
}

// Open implements [Launcher].
func (s *Starter) Open(ctx context.Context, p Process) (Conn, error) {
	if err := s.allow(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var err error
	if p.Overrides, err = s.checkTrust(ctx, p); err != nil {
		return nil, err
	}
	agent, err := s.agentFiles(p)
	var c claude.Command
	if err == nil {
		c, err = s.command(p, agent)
	}
	cli := c.Path
	if err == nil {
		var conn Conn
		if conn, err = s.Launch(ctx, p.ID, s.confine(c, p, agent), agent.files); err == nil {
			return conn, nil
		}
	}
	return nil, &Error{Sentence: startSentence(cli, p.Folder, err), Err: err}
}

// CheckMachine implements [Launcher].
func (s *Starter) CheckMachine(context.Context) error {
	if s.Check == nil {
		return nil
	}
	return s.Check()
}

// allow returns a [problem.Error] if the settings of this runner forbid a process. The request may
// come from another host, and must not lead out of the roots. Symbolic links in the path of the folder
// are refused when the folder is entered; see [shim.Enter].
func (s *Starter) allow(p Process) error {
	roots := s.Roots()
	switch {
	case p.Demo && s.Demo == nil:
		return problem.For("demo", "no_demo")
	case p.Demo:
		roots = append(slices.Clone(roots), s.Demo.Folder)
	}
	if !filepath.IsAbs(p.Folder) || filepath.Clean(p.Folder) != p.Folder || !roots.Contains(p.Folder) {
		return problem.For("cwd", "folder_outside", "folder", p.Folder, "roots", strings.Join(s.Roots(), ", "))
	}
	return nil
}

// command returns the command that runs the CLI, without the sandbox.
func (s *Starter) command(p Process, agent agentFiles) (claude.Command, error) {
	path, err := s.CLI.Find()
	if err != nil {
		return claude.Command{}, err
	}
	options := claude.Options{
		Path: path, Dir: p.Folder,
		SessionID: p.NewSession, Resume: p.Resume, Fork: p.Fork, ResumeAt: p.ResumeAt,
		PermissionMode: p.PermissionMode, AllowBypass: p.AllowBypass, Model: p.Model, AllowedTools: slices.Concat(p.AllowedTools, agent.tools),
		MCPConfigFile: agent.configPath, AppendSystemPrompt: agent.prompt, IncludePartialMessages: true,
	}
	if p.UserSettingsOnly {
		options.SettingSources, options.StrictMCPConfig = []string{"user"}, true
	}
	args, err := options.Args()
	if err != nil {
		return claude.Command{}, fmt.Errorf("launch: %w", err)
	}
	environ := map[string]string{claude.FileCheckpoints: "true"}
	maps.Copy(environ, p.Overrides)
	if p.Demo {
		maps.Copy(environ, s.Demo.Environ)
	}
	if p.ContinueTurn {
		environ["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
	}
	return claude.Command{Path: path, Args: args, Dir: p.Folder, Env: claude.Environ(s.CLI.Environ, p.Folder, environ)}, nil
}
