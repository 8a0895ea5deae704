package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
)

// Starter starts CLIs. Launcher and CLI are required to start one.
type Starter struct {
	CLI      *CLI
	Launcher Launcher
	Sandbox  *Sandbox // nil when CLIs run as the server does
	MCP      *MCP     // nil when CLIs do not ask over MCP
}

// Process describes a process to start.
type Process struct {
	ID     ID
	Folder string // absolute
	// NewSession is the id of the conversation to begin, Resume the one to continue;
	// with Fork, Resume continues under the id NewSession.
	NewSession, Resume string
	Fork               bool
	ResumeAt           string // with Resume: the last entry to continue from, "" for the end
	// ContinueTurn makes a turn that was cut off go on by itself.
	ContinueTurn          bool
	Model, PermissionMode string
	AllowBypass           bool
	AllowedTools          []string
	// UserSettingsOnly ignores the settings of the folder, but for Environ.
	UserSettingsOnly bool
	Environ          map[string]string // added to the environment
	Agent            AgentConnection
	// Writable are the folders that a sandbox lets the process change, and Own those
	// inside hidden folders.
	Writable, Own []string
}

// Error is a failed start.
type Error struct {
	Sentence string // tells a person why the CLI could not be started
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// startSentence returns the sentence of an [Error]. cli is its path, "" when none was found.
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

// Start starts a process, which outlives ctx. The error is an [Error].
func (s *Starter) Start(ctx context.Context, p Process) (Conn, error) {
	c, err := s.command(p)
	cli := c.Path
	if err == nil {
		var conn Conn
		if conn, err = s.Launcher.Launch(ctx, p.ID, s.confine(c, p), p.Agent.files); err == nil {
			return conn, nil
		}
	}
	return nil, &Error{Sentence: startSentence(cli, p.Folder, err), Err: err}
}

// command returns the command line of the CLI, without sandbox.
func (s *Starter) command(p Process) (claude.Command, error) {
	path, err := s.CLI.Find()
	if err != nil {
		return claude.Command{}, err
	}
	options := claude.Launch{
		Path: path, Dir: p.Folder,
		SessionID: p.NewSession, Resume: p.Resume, Fork: p.Fork, ResumeAt: p.ResumeAt,
		PermissionMode: p.PermissionMode, AllowBypass: p.AllowBypass, Model: p.Model, AllowedTools: slices.Concat(p.AllowedTools, p.Agent.tools),
		MCPConfigFile: p.Agent.configPath, AppendSystemPrompt: p.Agent.prompt, IncludePartialMessages: true,
	}
	if p.UserSettingsOnly {
		options.SettingSources, options.StrictMCPConfig = []string{"user"}, true
	}
	args, err := options.Args()
	if err != nil {
		return claude.Command{}, fmt.Errorf("launch: %w", err)
	}
	environ := map[string]string{claude.FileCheckpoints: "true"}
	maps.Copy(environ, p.Environ)
	if p.ContinueTurn {
		environ["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
	}
	return claude.Command{Path: path, Args: args, Dir: p.Folder, Env: claude.Environ(s.CLI.Environ, p.Folder, environ)}, nil
}
