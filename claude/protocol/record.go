package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// Recording contains all conversations with one CLI.
type Recording struct {
	Lines []Line
	// Does lists the observed behavior of the CLI, in order.
	Does []Behavior
	// Version is the version that the CLI reports.
	Version string

	replacements []string // pairs for strings.NewReplacer, for paths in traces
}

// Behavior is what a CLI does in one situation.
type Behavior struct{ Situation, Outcome string }

// Options configures [Record].
type Options struct {
	Path    string   // of the CLI
	Scratch string   // an empty folder for the files of the CLI
	Server  []string // a command that runs [ServeMCP] on its standard streams
}

// Record runs every conversation with a CLI, on a scripted model on loopback. If a conversation fails,
// it returns the error together with what it has recorded until then.
func Record(ctx context.Context, o Options) (r Recording, err error) {
	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Options{}))
	if err != nil {
		return r, err
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	defer func() {
		stop()
		<-served
	}()

	dir, home, tmp := filepath.Join(o.Scratch, "project"), filepath.Join(o.Scratch, "home"), filepath.Join(o.Scratch, "tmp")
	for _, d := range []string{dir, home, tmp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return r, err
		}
	}
	program := o.Path
	if resolved, err := filepath.EvalSymlinks(o.Path); err == nil {
		program = resolved
	}
	r.replacements = []string{
		dir, "/srv/project", sanitized(dir), "-srv-project", home, "/home/ana", tmp, "/tmp", o.Scratch, "/scratch",
		o.Server[0], "/usr/bin/booth", o.Path, "/usr/bin/claude", program, "/usr/bin/claude", filepath.Dir(o.Path), "/usr/bin",
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		onStdio: map[string]any{"command": o.Server[0], "args": o.Server[1:]},
	}})
	if err != nil {
		return r, err
	}
	h := &host{
		dir: dir, home: home,
		record:     func(l Line) { r.Lines = append(r.Lines, l) },
		recordDoes: func(b Behavior) { r.Does = append(r.Does, b) },
	}
	session := uuid.NewString()
	for _, p := range processes {
		args := []string{
			"--input-format=stream-json", "--output-format=stream-json", "--verbose", "--permission-prompt-tool=stdio", "--permission-mode=default",
			"--include-partial-messages", "--setting-sources=", "--strict-mcp-config", "--mcp-config=" + string(config),
		}
		environ := map[string]string{
			"HOME": home, "TMPDIR": tmp, "ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "sk-ant-made-up",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", claude.FileCheckpoints: "true",
		}
		if p.resume {
			args = append(args, "--resume="+session)
			environ["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
		} else {
			args = append(args, "--session-id="+session)
		}
		command := claude.Command{Path: o.Path, Args: args, Dir: dir, Env: claude.Environ([]string{"PATH=" + os.Getenv("PATH")}, dir, environ)}
		if err := h.hold(command, p.conversations); err != nil {
			return r, fmt.Errorf("protocol: record: %w", err)
		}
	}
	for _, l := range r.Lines {
		var m message
		if json.Unmarshal(l.JSON, &m) == nil && m.text("claude_code_version") != "" {
			r.Version = m.text("claude_code_version")
		}
	}
	return r, nil
}

// hold starts a CLI and runs conversations with it.
func (h *host) hold(c claude.Command, all []conversation) error {
	if err := h.start(c); err != nil {
		return err
	}
	defer h.close()
	for _, c := range all {
		h.conversation = c.name
		c.play(h)
	}
	return h.err
}

// sanitized returns the CLI's name for a folder in its configuration folder.
func sanitized(dir string) string { return notAlphanumeric.ReplaceAllString(dir, "-") }

var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)
