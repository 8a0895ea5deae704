package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/workspace"
)

// doctor looks at everything that serve needs and says what it found, without
// changing anything but making the state folder.
func doctor(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, rest, err := readSettings("doctor", args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("doctor takes no argument %q", rest[0])
	}
	sick := false
	report := func(what string, err error, fine string) {
		if err != nil {
			sick = true
			fmt.Fprintf(stdout, "✗ %-16s %v\n", what, err)
			return
		}
		fmt.Fprintf(stdout, "✓ %-16s %s\n", what, fine)
	}
	lock, err := openStateDir(s.StateDir)
	report("state folder", err, s.StateDir)
	if err == nil {
		defer lock.Close()
		opened, err := store.Open(ctx, s.Database)
		if err == nil {
			err = opened.Close()
		}
		report("database", err, "opens and is up to date")
	}
	roots, err := workspace.NewRoots(s.WorkspaceRoots)
	report("workspace roots", err, fmt.Sprint([]string(roots)))
	exe, err := os.Executable()
	var runAs *claude.RunAs
	if err == nil {
		runAs, err = claudeUser(s, exe)
	}
	if s.ClaudeUser != "" || err != nil {
		report("Claude's user", err, "keeps Claude from what is the server's")
	}
	o := orchestrator.New(orchestrator.Options{CLI: &orchestrator.CLI{Path: s.Claude, Environ: runAs.Environ(os.Environ()), RunAs: runAs, Exe: exe}, Rules: orchestrator.Rules{Roots: roots}})
	e := o.Environment(ctx)
	var problem error
	if e.Problem != "" {
		problem = errors.New(e.Problem)
	}
	report("Claude CLI", problem, e.ClaudePath+", version "+e.ClaudeVersion)
	if sick {
		return errors.New("something is missing; see above")
	}
	return nil
}
