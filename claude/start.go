package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Start starts a CLI and returns its client. ctx bounds only the start. The caller must call
// [Client.Run], which initializes the conversation, reads until the end, and ends the CLI, or
// [Client.Close].
//
// If the cause is known, the error is [ErrCLIMissing], [ErrCLINotExecutable], [ErrFolderMissing],
// [ErrTooOld] or [ErrLaunch].
func Start(ctx context.Context, o Options) (*Client, error) {
	if o.Path == "" {
		path, err := FindCLI()
		if err != nil {
			return nil, err
		}
		o.Path = path
	}
	if o.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("claude: start: %w", err)
		}
		o.Dir = dir
	}
	command, err := o.Command(o.environ())
	if err != nil {
		return nil, err
	}
	if o.Stderr != nil {
		command.OnStderr = o.passStderr
	}
	version, err := checkVersion(ctx, command, cmp.Or(o.MinVersion, OldestTested))
	if err != nil {
		return nil, err
	}
	initialize := o.InitializeRequest()
	if !olderThan(version, readsInitialize) {
		rest, err := o.overInitialize(&initialize)
		if err != nil {
			return nil, err
		}
		if command.Args, err = rest.Args(); err != nil {
			return nil, err
		}
	}
	if !olderThan(version, awaitsInitialize) {
		// Otherwise a resumed session may continue with a deferred tool before our hooks are
		// registered.
		command.Args = append(command.Args, "--await-initialize")
	}
	p, err := StartProcess(command)
	if err != nil {
		return nil, err
	}
	c := NewClient(p, o)
	c.started = newStarted(p, version, &o, initialize)
	if o.Logger != nil {
		o.Logger.DebugContext(ctx, "started the CLI", "path", o.Path, "dir", o.Dir, "pid", p.PID())
	}
	return c, nil
}

// passStderr calls Stderr. It recovers a panic, because the CLI would hang if nothing read its stderr.
func (o *Options) passStderr(text []byte) {
	defer func() {
		if v := recover(); v != nil && o.Logger != nil {
			o.Logger.Error("callback failed", "callback", "Stderr", "error", &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	o.Stderr(text)
}

// environ returns the environment of a CLI that [Start] starts.
func (o *Options) environ() []string {
	extra := map[string]string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
	if o.FileCheckpoints {
		extra[FileCheckpoints] = "true"
	}
	if o.QuestionPreview != "" {
		extra["CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"] = o.QuestionPreview
	}
	parent := o.Environ
	if parent == nil {
		extra["PWD"] = o.Dir
		for _, kv := range os.Environ() {
			name, _, _ := strings.Cut(kv, "=")
			// NODE_OPTIONS is meant for programs that embed this process, not for the CLI.
			if !slices.Contains(neverInherited, name) && name != "NODE_OPTIONS" {
				parent = append(parent, kv)
			}
		}
		if !slices.ContainsFunc(parent, func(kv string) bool { return strings.HasPrefix(kv, "CLAUDE_CODE_ENTRYPOINT=") }) {
			extra["CLAUDE_CODE_ENTRYPOINT"] = "sdk-go"
		}
	}
	for name, value := range o.Env {
		extra[name] = value
	}
	env := slices.DeleteFunc(slices.Clone(parent), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := extra[name]
		return replaced
	})
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// FindCLI returns the path of claude: from PATH, or from one of the places in which its installers put
// it. If there is none, the error is [ErrCLIMissing].
func FindCLI() (string, error) {
	if path, err := exec.LookPath("claude"); err == nil {
		return filepath.Abs(path)
	}
	home, _ := os.UserHomeDir()
	for _, path := range []string{
		".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude", ".yarn/bin/claude", "node_modules/.bin/claude", "/usr/local/bin/claude",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		if !filepath.IsAbs(path) {
			continue // without a home folder, this would be a program of the current one, perhaps a repository
		}
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("claude: %w: install Claude Code, or set Options.Path", ErrCLIMissing)
}

// versionTimeout bounds claude --version.
const versionTimeout = 20 * time.Second

// awaitsInitialize is the first version that can wait for initialize before it does anything.
const awaitsInitialize = "2.1.261"

// readsInitialize is the first version that is known to read MCP servers, plugins and manifests from
// initialize.
const readsInitialize = "2.1.329"

// checkVersion returns the version of a CLI, or a *[VersionError] if it is older than minVersion.
func checkVersion(ctx context.Context, c Command, minVersion string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	version, err := Version(ctx, c.Path, c.Dir, c.Env)
	if err != nil {
		return "", err
	}
	if olderThan(version, minVersion) {
		return "", &VersionError{Path: c.Path, Version: version, MinVersion: minVersion}
	}
	return version, nil
}

// Version runs a CLI in dir and returns its version, such as 2.1.329. If ctx ends first, it kills the CLI.
func Version(ctx context.Context, path, dir string, env []string) (string, error) {
	p, err := StartProcess(Command{Path: path, Args: []string{"--version"}, Dir: dir, Env: env})
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	defer stop()
	defer p.Close()
	_ = p.CloseInput()
	line, err := p.Recv()
	text := string(line)
	for err == nil {
		_, err = p.Recv()
	}
	if err := exitError(p); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("claude: version of %s: %w", path, err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if len(versionParts(version)) == 0 {
		return "", fmt.Errorf("claude: version of %s: %w", path, errors.New("it printed none"))
	}
	return version, nil
}

// olderThan reports whether version is before other.
func olderThan(version, other string) bool {
	return slices.Compare(versionParts(version), versionParts(other)) < 0
}

// versionParts returns the numbers of a version, nil for any other text.
func versionParts(version string) (parts []int) {
	version, _, _ = strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		parts = append(parts, n)
	}
	return parts
}
