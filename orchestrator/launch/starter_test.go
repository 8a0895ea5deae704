package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// recorder is a Launcher that starts nothing.
type recorder struct {
	folder  string
	command claude.Command
	files   map[string][]byte
	err     error
}

func (r *recorder) Folder(launch.ID) string { return r.folder }

func (r *recorder) Vitals(context.Context) ([]launch.Vitals, error) { return nil, nil }

func (r *recorder) Damaged(context.Context) ([]string, error) { return nil, nil }

func (r *recorder) Leftovers(context.Context) ([]launch.Leftover, error) { return nil, nil }

func (r *recorder) Launch(_ context.Context, _ launch.ID, c claude.Command, files map[string][]byte) (launch.Conn, error) {
	r.command, r.files = c, files
	return nil, r.err
}

type tokens struct{ revoked []string }

func (*tokens) MintAgent(context.Context, string, string, time.Duration) (string, error) {
	return "secret", nil
}

func (t *tokens) RevokeAgents(_ context.Context, sessionID string) error {
	t.revoked = append(t.revoked, sessionID)
	return nil
}

func TestStartBuildsTheCommandLine(t *testing.T) {
	t.Parallel()
	r := &recorder{folder: t.TempDir()}
	s := launch.Starter{
		CLI: &launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=/home/ada", "SAYSO_TOKEN=x"}}, Launcher: r,
		MCP: &launch.MCP{Exe: "/usr/bin/sayso", URL: "http://here/mcp", Tools: []string{"ask_user"}, Tokens: &tokens{}},
	}
	id := launch.ID{SessionID: "s", ProcessID: "p"}
	agent, err := s.ConnectAgent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Start(t.Context(), launch.Process{
		ID: id, Folder: "/work", Resume: "0190b5e0-0000-7000-8000-000000000000", ContinueTurn: true, PermissionMode: "plan", Model: "opus",
		AllowedTools: []string{"Read"}, UserSettingsOnly: true, Environ: map[string]string{"A": "b"}, Agent: agent,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := r.command
	for name, value := range map[string]string{
		"--resume": "0190b5e0-0000-7000-8000-000000000000", "--permission-mode": "plan", "--model": "opus", "--setting-sources": "user",
		"--mcp-config": filepath.Join(r.folder, "mcp.json"),
	} {
		if !slices.Contains(c.Args, name+"="+value) {
			t.Errorf("no %s=%s in %q", name, value, c.Args)
		}
	}
	if args := strings.Join(c.Args, " "); c.Path != "/bin/sh" || c.Dir != "/work" || !strings.Contains(args, "mcp__sayso__ask_user") || !strings.Contains(args, "Read") {
		t.Errorf("got %+v", c)
	}
	for _, kv := range []string{"A=b", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "HOME=/home/ada"} {
		if !slices.Contains(c.Env, kv) {
			t.Errorf("no %s in %q", kv, c.Env)
		}
	}
	var connection struct{ URL, Token string }
	if err := json.Unmarshal(r.files["connect.json"], &connection); err != nil || connection.URL != "http://here/mcp" || connection.Token != "secret" {
		t.Errorf("got %s, %v", r.files["connect.json"], err)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cli  string
		err  error
		want string
	}{
		"no CLI":        {"/nowhere/claude", nil, "There is no Claude CLI at /nowhere/claude."},
		"folder gone":   {"/bin/sh", claude.ErrFolderMissing, "The folder /work no longer exists."},
		"CLI gone":      {"/bin/sh", claude.ErrCLIMissing, "There is no Claude CLI at /bin/sh any more."},
		"another error": {"/bin/sh", errors.New("no memory"), "Claude could not be started: no memory."},
	} {
		s := launch.Starter{CLI: &launch.CLI{Path: c.cli}, Launcher: &recorder{err: c.err}}
		_, err := s.Start(t.Context(), launch.Process{Folder: "/work", PermissionMode: "default", NewSession: "0190b5e0-0000-7000-8000-000000000000"})
		var failed *launch.Error
		if c.err == nil && err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: got %v", name, err)
		} else if !errors.As(err, &failed) || !strings.HasPrefix(failed.Sentence, c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestReconnectAgentReplacesTheAddressAlone(t *testing.T) {
	t.Parallel()
	r := &recorder{folder: t.TempDir()}
	file := filepath.Join(r.folder, "connect.json")
	s := launch.Starter{Launcher: r, MCP: &launch.MCP{URL: "http://new/mcp"}}
	if err := s.ReconnectAgent(launch.ID{}); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"url":"http://a-longer-old-address/mcp","token":"secret"}`), 0o640); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(file) // as in a sandbox
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := s.ReconnectAgent(launch.ID{}); err != nil {
		t.Fatal(err)
	}
	const want = `{"url":"http://new/mcp","token":"secret"}`
	after, err := os.ReadFile(file)
	if err != nil || string(after) != want {
		t.Errorf("got %s, %v", after, err)
	}
	held := make([]byte, 100)
	if n, _ := open.ReadAt(held, 0); string(held[:n]) != want {
		t.Errorf("who holds the old file reads %s", held[:n])
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSandboxHidesTheState(t *testing.T) {
	t.Parallel()
	r := &recorder{folder: "/state/shims/p"}
	s := launch.Starter{
		CLI: &launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=/home/ada"}}, Launcher: r,
		Sandbox: &launch.Sandbox{Bwrap: "/usr/bin/bwrap", Exe: "/usr/bin/sayso", State: "/state", Hide: []string{"/etc/key"}},
	}
	if _, err := s.Start(t.Context(), launch.Process{Folder: "/work", PermissionMode: "default", NewSession: "0190b5e0-0000-7000-8000-000000000000", Writable: []string{"/work"}, Own: []string{"/state/demo"}}); err != nil {
		t.Fatal(err)
	}
	args := strings.Join(r.command.Args, " ")
	for _, part := range []string{"--bind-try /work /work", "--bind-try /home/ada /home/ada", "--tmpfs /state", "--bind /state/demo /state/demo", "--ro-bind /dev/null /etc/key", "-- /usr/bin/sayso enter /work /bin/sh"} {
		if !strings.Contains(args, part) {
			t.Errorf("no %q in %s", part, args)
		}
	}
	if r.command.Path != "/usr/bin/bwrap" || strings.Index(args, "--tmpfs /state") > strings.Index(args, "--bind /state/demo") {
		t.Errorf("got %s %s", r.command.Path, args)
	}
}
