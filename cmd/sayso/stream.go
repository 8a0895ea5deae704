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

// streamVerb writes a configuration file for PromptManager's MCP server, or for sayso mcp
// --config, with a new stream.
func streamVerb(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sayso mcp stream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	project := flags.String("project", ".", "folder of the project")
	number := flags.Int("p", 1, "number of the project, as the PromptManager counts")
	timeout := flags.Int("timeout", 300, "seconds that a person has for an answer, 30 to 900")
	ttl := flags.Duration("expires", 24*time.Hour, "how long the stream is good for")
	stateDir := flags.String("state-dir", "", "state folder of the server")
	database := flags.String("database", "", "database of the server")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	switch {
	case flags.NArg() != 1:
		return errors.New("mcp stream needs one argument: the file to write")
	case *timeout < 30 || *timeout > 900:
		return errors.New("--timeout: give 30 to 900 seconds")
	case *number < 0 || *ttl <= 0:
		return errors.New("-p and --expires must not be negative")
	}
	h := agentHome{stateDir: *stateDir, database: *database, stderr: stderr}
	if err := h.read("mcp stream"); err != nil {
		return err
	}
	folder, err := config.Project(*project)
	if err != nil {
		return fmt.Errorf("the folder of the project: %w", err)
	}
	opened, err := store.Open(ctx, h.settings.Database)
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
		SessionID: outsideID("stream", h.settings.StateDir, folder, flags.Arg(0)), Title: who, CWD: folder, Kind: session.Agent,
		ProjectID: session.ProjectOf(folder), OwnerID: admin.UserID, PermissionMode: "default", CreatedAt: time.Now(),
	}
	if err := opened.CreateSession(ctx, s); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	token, err := directory.MintStream(ctx, s.SessionID, who, int64(*number), *ttl)
	if err != nil {
		return err
	}
	file, err := json.MarshalIndent(mcpapi.RelayConfig{
		APIURL: strings.TrimSuffix(h.url(), "/mcp"), StreamToken: token, ProjectID: *number, Timeout: *timeout,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := config.Write(flags.Arg(0), append(file, '\n')); err != nil {
		return err
	}
	// The written file must be readable.
	if _, err := mcpapi.ReadRelayConfig(flags.Arg(0)); err != nil {
		return errors.Join(err, os.Remove(flags.Arg(0)))
	}
	fmt.Fprintf(stdout, "%s written. Start Claude with ASK_USER_CONFIG=%s in its environment.\n", flags.Arg(0), flags.Arg(0))
	return nil
}
