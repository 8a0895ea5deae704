package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/store"
)

// doctor looks at everything that serve needs and says what it found. It makes nothing
// and changes nothing, also beside a server that runs.
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
	fine, err := stateDirWorks(s.StateDir)
	report("state folder", err, fine)
	fine, err = databaseWorks(ctx, s.Database)
	report("database", err, fine)
	roots, err := workspace.NewRoots(s.WorkspaceRoots)
	report("workspace roots", err, fmt.Sprint([]string(roots)))
	exe, err := os.Executable()
	var runAs *claude.RunAs
	if err == nil {
		runAs, err = claudeUser(s, exe)
	}
	if s.ClaudeUser != "" || err != nil {
		report("Claude's user", err, "Claude cannot read the server's files")
	}
	e := orchestrator.EnvironmentOf(ctx, &launch.CLI{Path: s.Claude, Environ: runAs.Environ(os.Environ()), RunAs: runAs, Exe: exe})
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

// stateDirWorks looks whether the state folder can be used, or made.
func stateDirWorks(dir string) (fine string, err error) {
	const write = 2 // W_OK
	at := dir
	for ; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at:
			continue
		case err != nil:
			return "", err
		case !info.IsDir():
			return "", fmt.Errorf("%s is no folder", at)
		}
		break
	}
	if err := syscall.Access(at, write); err != nil {
		return "", fmt.Errorf("%s cannot be written: %w", at, err)
	}
	if at != dir {
		return dir + " (created by sayso serve)", nil
	}
	return dir, nil
}

// databaseWorks looks whether the server can use its database as it is.
func databaseWorks(ctx context.Context, address string) (fine string, err error) {
	opened, err := store.OpenReadOnly(ctx, address)
	switch {
	case err == nil:
		return "up to date", opened.Close()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, migrations.ErrEmpty):
		return "not created yet; sayso serve creates it", nil
	case errors.Is(err, migrations.ErrOlder):
		return "older version; sayso serve migrates it", nil
	}
	return "", err
}
