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

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
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

// roots are those of a starter.
func roots(folders ...string) func() workspace.Roots {
	return func() workspace.Roots { return folders }
}

const conversation = "0190b5e0-0000-7000-8000-000000000000"

func TestStartBuildsTheCommandLine(t *testing.T) {
	t.Parallel()
	r := &recorder{folder: t.TempDir()}
	s := launch.Starter{
		CLI: &launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=/home/ada", "SAYSO_TOKEN=x"}}, Commands: r, Roots: roots("/work"),
		MCP: &launch.MCP{Exe: "/usr/bin/sayso", URL: "http://here/mcp"},
	}
	if _, err := s.Open(t.Context(), launch.Process{
		ID: launch.ID{SessionID: "s", ProcessID: "p"}, Folder: "/work", Resume: conversation, ContinueTurn: true, PermissionMode: "plan", Model: "opus",
		AllowedTools: []string{"Read"}, UserSettingsOnly: true, Overrides: map[string]string{"GIT_CONFIG_COUNT": "0", "LD_PRELOAD": "/work/a.so"},
		Agent: launch.Agent{Token: "secret", Tools: []string{"ask_user"}},
	}); err != nil {
		t.Fatal(err)
	}
	c := r.command
	for name, value := range map[string]string{
		"--resume": conversation, "--permission-mode": "plan", "--model": "opus", "--setting-sources": "user",
		"--mcp-config": filepath.Join(r.folder, "mcp.json"),
	} {
		if !slices.Contains(c.Args, name+"="+value) {
			t.Errorf("no %s=%s in %q", name, value, c.Args)
		}
	}
	if args := strings.Join(c.Args, " "); c.Path != "/bin/sh" || c.Dir != "/work" || !strings.Contains(args, "mcp__sayso__ask_user") || !strings.Contains(args, "Read") {
		t.Errorf("got %+v", c)
	}
	if slices.Contains(c.Env, "LD_PRELOAD=/work/a.so") {
		t.Errorf("a variable of the server's in %q", c.Env)
	}
	for _, kv := range []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "HOME=/home/ada"} {
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
		s := launch.Starter{CLI: &launch.CLI{Path: c.cli}, Commands: &recorder{err: c.err}, Roots: roots("/work")}
		_, err := s.Open(t.Context(), launch.Process{Folder: "/work", PermissionMode: "default", NewSession: conversation})
		var failed *launch.Error
		if c.err == nil && err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: got %v", name, err)
		} else if !errors.As(err, &failed) || !strings.HasPrefix(failed.Sentence, c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestConnectAgent(t *testing.T) {
	t.Parallel()
	r := &recorder{folder: t.TempDir()}
	file := filepath.Join(r.folder, "connect.json")
	s := launch.Starter{CLI: &launch.CLI{}, Commands: r, MCP: &launch.MCP{URL: "http://new/mcp"}}
	if err := s.ConnectAgent(t.Context(), launch.ID{}, ""); err != nil {
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
	if err := s.ConnectAgent(t.Context(), launch.ID{}, ""); err != nil {
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
	if err := s.ConnectAgent(t.Context(), launch.ID{}, "another"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != `{"url":"http://new/mcp","token":"another"}` {
		t.Errorf("with a new token: %s, %v", after, err)
	}
}

// A server cannot make a runner start something outside of the runner's own roots.
func TestARunnerChecksWhatItStarts(t *testing.T) {
	t.Parallel()
	demo := &launch.Demo{Folder: "/state/demo/work"}
	for name, c := range map[string]struct {
		change func(*launch.Process)
		demo   *launch.Demo
		reason string // of the problem, "" for none
		ok     bool
	}{
		"the root":                   {func(p *launch.Process) { p.Folder = "/work" }, nil, "", true},
		"below it":                   {func(p *launch.Process) { p.Folder = "/work/a/b" }, nil, "", true},
		"the demo":                   {func(p *launch.Process) { p.Folder, p.Demo = "/state/demo/work", true }, demo, "", true},
		"another folder":             {func(p *launch.Process) { p.Folder = "/etc" }, nil, "folder_outside", false},
		"a folder beside":            {func(p *launch.Process) { p.Folder = "/workers" }, nil, "folder_outside", false},
		"no folder":                  {func(p *launch.Process) { p.Folder = "" }, nil, "folder_outside", false},
		"a relative folder":          {func(p *launch.Process) { p.Folder = "work" }, nil, "folder_outside", false},
		"dots":                       {func(p *launch.Process) { p.Folder = "/work/../etc" }, nil, "folder_outside", false},
		"the demo's, without":        {func(p *launch.Process) { p.Folder = "/state/demo/work" }, demo, "folder_outside", false},
		"a demo where there is none": {func(p *launch.Process) { p.Demo = true }, nil, "no_demo", false},
	} {
		p := launch.Process{Folder: "/work", PermissionMode: "default", NewSession: conversation}
		c.change(&p)
		r := &recorder{}
		s := launch.Starter{CLI: &launch.CLI{Path: "/bin/sh"}, Commands: r, Roots: roots("/other", "/work"), Demo: c.demo}
		_, err := s.Open(t.Context(), p)
		var found *problem.Error
		switch {
		case c.ok:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, launch.ErrRefused) || r.command.Path != "":
			t.Errorf("%s: %v", name, err)
		case errors.As(err, &found) != (c.reason != "") || found != nil && found.Reason != c.reason:
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}

func TestSandboxHidesTheState(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, nil, 0o600), os.Symlink(secret, key)); err != nil {
		t.Fatal(err)
	}
	r := &recorder{folder: "/state/shims/p"}
	s := launch.Starter{
		CLI: &launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=/home/ada"}}, Commands: r, Roots: roots("/work"), Demo: &launch.Demo{Folder: "/state/demo/work"},
		Sandbox: &launch.Sandbox{Bwrap: "/usr/bin/bwrap", Exe: "/usr/bin/sayso", State: "/state", Hide: []string{key, "/nowhere/token"}},
	}
	if _, err := s.Open(t.Context(), launch.Process{Folder: "/work", PermissionMode: "default", NewSession: conversation, Demo: true}); err != nil {
		t.Fatal(err)
	}
	args := strings.Join(r.command.Args, " ")
	for _, part := range []string{"--bind-try /work /work", "--bind-try /home/ada /home/ada", "--tmpfs /state", "--bind /state/demo /state/demo", "--ro-bind /dev/null " + secret, "--ro-bind-try /usr/bin/sayso /usr/bin/sayso", "-- /usr/bin/sayso enter /work /bin/sh"} {
		if !strings.Contains(args, part) {
			t.Errorf("no %q in %s", part, args)
		}
	}
	if strings.Contains(args, "/nowhere") {
		t.Errorf("it hides what is not there: %s", args)
	}
	if r.command.Path != "/usr/bin/bwrap" || strings.Index(args, "--tmpfs /state") > strings.Index(args, "--bind /state/demo") {
		t.Errorf("got %s %s", r.command.Path, args)
	}
}
