package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// relay runs PromptManager's MCP server on stdin and stdout.
func relay(ctx context.Context, path string, stdin io.Reader, stdout io.Writer) error {
	c, err := mcpapi.ReadRelayConfig(path)
	if err != nil {
		return err
	}
	return mcpapi.RunRelay(ctx, c, stdin, stdout, versionText())
}

// streamFlags are the flags of sayso mcp stream.
type streamFlags struct {
	project         string
	number, timeout int
	ttl             time.Duration
	serverFlags
}

func (f *streamFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.project, "project", ".", "`folder` of the project")
	flags.IntVar(&f.number, "p", 1, "`number` of the project, as PromptManager counts")
	flags.IntVar(&f.timeout, "timeout", 300, "`seconds` that a person has for an answer, 30 to 900")
	flags.DurationVar(&f.ttl, "expires", 24*time.Hour, "`time` until the stream expires")
	f.serverFlags.define(flags)
}

// streamVerb writes a configuration file for PromptManager's MCP server, or for sayso mcp
// --config, with a new stream.
func streamVerb(ctx context.Context, args []string, stdout io.Writer) error {
	var f streamFlags
	rest, err := parseFlags(newFlags("mcp stream", f.define), args)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usageError("it needs one argument: the file to write")
	case f.timeout < 30 || f.timeout > 900:
		return errors.New("--timeout: use 30 to 900 seconds")
	case f.number < 0:
		return errors.New("-p must not be negative")
	case f.ttl <= 0:
		return errors.New("--expires must be positive")
	}
	h := agentHome{serverFlags: f.serverFlags}
	if err := h.read("mcp stream"); err != nil {
		return err
	}
	folder, err := config.Project(f.project)
	if err != nil {
		return fmt.Errorf("project folder: %w", err)
	}
	opened, err := store.OpenMigrated(ctx, h.settings.Database)
	if err != nil {
		return err
	}
	defer opened.Close()
	directory := account.NewDirectory(opened)
	admin, err := directory.FirstAdmin(ctx)
	if err != nil {
		return err
	}
	who := "ask-user in " + filepath.Base(folder)
	s := session.Session{
		SessionID: outsideID("stream", h.settings.StateDir, folder, rest[0]), Title: who, CWD: folder, Kind: session.Agent,
		ProjectID: session.ProjectOf(folder), OwnerID: admin.UserID, PermissionMode: "default", CreatedAt: time.Now(),
	}
	if err := opened.CreateSession(ctx, s); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	token, err := directory.MintStream(ctx, s.SessionID, who, int64(f.number), f.ttl)
	if err != nil {
		return err
	}
	file, err := json.MarshalIndent(mcpapi.RelayConfig{
		APIURL: strings.TrimSuffix(h.url(), "/mcp"), StreamToken: token, ProjectID: f.number, Timeout: f.timeout,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := config.Write(rest[0], append(file, '\n')); err != nil {
		return err
	}
	// The written file must be readable.
	if _, err := mcpapi.ReadRelayConfig(rest[0]); err != nil {
		return errors.Join(err, os.Remove(rest[0]))
	}
	fmt.Fprintf(stdout, "%s written. Start Claude with ASK_USER_CONFIG=%s in its environment.\n", rest[0], rest[0])
	return nil
}
