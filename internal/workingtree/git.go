// Package workingtree shows people the changes and the files in the folder of a session, and
// changes them with git. It runs no program but git: neither the settings of the repository nor
// those of the user can make it run another one.
package workingtree

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// Limits of one call.
const (
	// readTimeout bounds a call that reads, writeTimeout a change or its plan.
	readTimeout  = 20 * time.Second
	writeTimeout = time.Minute
	// maxListing bounds the output of a git command that lists files, in bytes.
	maxListing = 2 << 20
	// maxStderr bounds the part of git's stderr that is kept, in bytes.
	maxStderr = 4 << 10
	// maxConcurrent bounds the git commands that run at the same time.
	maxConcurrent = 4
)

// Options configures a [Git].
type Options struct {
	// Command returns a command that runs the program at path in dir as the user of sessions.
	// The caller sets its environment.
	Command func(ctx context.Context, dir, path string, args ...string) *exec.Cmd
	// As calls f with the file rights of the user of sessions.
	As func(f func() error) error
	// Environ is the environment of that user, KEY=value. Only HOME, PATH, USER, LOGNAME,
	// TMPDIR and XDG_CONFIG_HOME reach git.
	Environ []string
	// Roots bound the roots of each [Place]; nil if the caller has checked them.
	Roots workspace.Roots `optional:"true"`
}

// Git runs git. It is safe for concurrent use.
type Git struct {
	o        Options
	slots    chan struct{}
	sweeping sync.Once
}

// New returns a Git, or an error that names a missing option.
func New(o Options) (*Git, error) {
	if err := options.Check("workingtree", o); err != nil {
		return nil, err
	}
	return &Git{o: o, slots: make(chan struct{}, maxConcurrent)}, nil
}

func errSlow(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return problem.New("git_slow")
	}
	return ctx.Err()
}

// exitError is a git command that failed. Its text is what git printed.
type exitError struct {
	code   int
	stderr string
}

func (e *exitError) Error() string { return "git: " + e.stderr }

// call is one git command.
type call struct {
	dir   string
	env   []string // added to the environment that every command gets
	args  []string
	stdin []byte
	limit int  // of the output in bytes; 0: maxListing
	locks bool // may write the index
}

// run executes git. It returns up to limit bytes of its output and whether there was more.
// A failed command is an *exitError.
func (g *Git) run(ctx context.Context, c call) (out []byte, cut bool, err error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, false, problem.New("git_missing")
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
		return nil, false, errSlow(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.o.Command(ctx, c.dir, path, append([]string{"--no-pager"}, c.args...)...)
	cmd.Env = g.environ(c)
	cmd.Stdin = bytes.NewReader(c.stdin)
	limit := c.limit
	if limit == 0 {
		limit = maxListing
	}
	stdout := &boundedBuffer{limit: limit, full: cancel}
	stderr := &boundedBuffer{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case stdout.cut:
		return stdout.kept.Bytes(), true, nil
	case ctx.Err() != nil:
		return nil, false, errSlow(ctx)
	case errors.As(err, &exit):
		return stdout.kept.Bytes(), false, &exitError{exit.ExitCode(), strings.TrimSpace(stderr.kept.String())}
	}
	return stdout.kept.Bytes(), false, err
}

// environ returns the environment of a command. No other variable reaches git.
func (g *Git) environ(c call) []string {
	env := []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "GIT_PAGER=cat",
		// Do not fetch missing objects and, should git try, allow no protocol.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=",
		"GIT_ATTR_NOSYSTEM=1", "GIT_LITERAL_PATHSPECS=1",
	}
	if !c.locks {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	for _, kv := range g.o.Environ {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME":
			env = append(env, kv)
		}
	}
	return append(env, c.env...)
}

// boundedBuffer keeps the first limit bytes that are written to it, and calls full when there
// are more. It does not embed bytes.Buffer, whose ReadFrom io.Copy would use to bypass the limit.
type boundedBuffer struct {
	kept  bytes.Buffer
	limit int
	cut   bool
	full  func()
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if free := b.limit - b.kept.Len(); len(p) > free {
		b.cut = true
		b.kept.Write(p[:free])
		if b.full != nil {
			b.full()
		}
		return len(p), nil
	}
	return b.kept.Write(p)
}
