package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// invocation describes how the server was started.
type invocation struct {
	args           []string // of the verb
	environ        []string // KEY=value
	stdout, stderr io.Writer
	exe            string           // the sayso program, which keeps sessions alive
	hangups        <-chan os.Signal // each one requests a reload
	attended       bool             // a terminal started the server, and the server must end with it
	demo           bool             // start a demo session at once
}

// verb returns the command that started the server.
func (in invocation) verb() string {
	if in.demo {
		return "demo"
	}
	return "serve"
}

// getenv returns the value of a variable, "" without it.
func (in invocation) getenv(name string) string {
	for i := len(in.environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(in.environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// serve runs the server of this process until ctx ends.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer, demo bool) error {
	// A write beyond the file size limit then fails like one to a full disk.
	signal.Ignore(syscall.SIGXFSZ)
	hangups, attended, stopCatching := catchHangups()
	defer stopCatching()
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the sayso program, which keeps sessions alive: %w", err)
	}
	return serveUntilDone(ctx, invocation{
		args: args, environ: os.Environ(), stdout: stdout, stderr: stderr, exe: exe,
		hangups: hangups, attended: attended, demo: demo,
	})
}

// redialDelay is how long a server waits before it takes the lease of its runner again.
const redialDelay = time.Second

// serveUntilDone runs a server until ctx ends. It returns nil when ctx ends before
// the server is ready. A server that has lost the lease of its runner, as when the database
// was replaced by an older one, detaches from the sessions and starts again.
func serveUntilDone(ctx context.Context, in invocation) error {
	err := buildAndRun(ctx, in)
	for errors.Is(err, session.ErrLeaseLost) && ctx.Err() == nil {
		fmt.Fprintln(in.stderr, "sayso:", err)
		select {
		case <-time.After(redialDelay):
		case <-ctx.Done():
			return nil
		}
		err = buildAndRun(ctx, in)
	}
	if err == nil || ctx.Err() == nil || errors.As(err, new(usageError)) || errors.Is(err, flag.ErrHelp) {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(in.stderr, "sayso:", err)
	}
	fmt.Fprintln(in.stderr, "sayso: stopped before it was ready. No data was lost; running sessions continue.")
	return nil
}

func buildAndRun(ctx context.Context, in invocation) error {
	s, rest, err := readSettings(in.verb(), in.args, in.getenv)
	if err != nil {
		return err
	}
	if err := noArguments(rest); err != nil {
		return err
	}
	if names := unknownVariables(in.environ); len(names) > 0 {
		fmt.Fprintf(in.stderr, "sayso: unknown setting %s; see sayso serve --help\n", strings.Join(names, ", "))
	}
	a, err := newApp(ctx, in, s)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Run(ctx)
}
