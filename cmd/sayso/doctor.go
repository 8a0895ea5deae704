package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/descriptors"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/store"
)

// doctor checks everything that serve needs and prints the results. It changes nothing and
// works while a server runs.
type doctorFlags struct{}

func (*doctorFlags) define(*flag.FlagSet) {}

func doctor(ctx context.Context, args []string, std streams) error {
	stdout := std.out
	s, rest, err := readSettings("doctor", args, os.Getenv)
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
	if err == nil {
		fine, err = runningSessions(ctx, s.Database, shimsIn(s.StateDir))
		report("running sessions", err, fine)
	}
	fine, err = descriptorsSuffice()
	report("file descriptors", err, fine)
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

// minDescriptors suffice for the server itself, a few sessions and their tabs.
const minDescriptors = 256

// descriptorsSuffice checks the limit of a server started from here.
func descriptorsSuffice() (fine string, err error) {
	use, ok := descriptors.Current()
	switch {
	case !ok:
		return "no limit known", nil
	case use.Limit < minDescriptors:
		return "", fmt.Errorf("the limit of %d is too low for a few sessions and tabs; raise it with ulimit -n, or LimitNOFILE in systemd", use.Limit)
	}
	return fmt.Sprintf("up to %d", use.Limit), nil
}

// stateDirWorks checks that the state folder can be used or created.
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

// databaseWorks checks that the server can use its database.
func databaseWorks(ctx context.Context, address string) (fine string, err error) {
	opened, err := store.OpenReadOnly(ctx, address)
	switch {
	case err == nil:
		return "up to date", errors.Join(opened.Verify(ctx), opened.Close())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, migrations.ErrEmpty):
		return "not created yet; sayso serve creates it", nil
	case errors.Is(err, migrations.ErrOlder):
		return "older version; sayso serve migrates it", nil
	}
	return "", err
}

// runningSessions counts the running CLIs, and those that the database does not know: it was
// restored or lost, and serve recovers their sessions.
func runningSessions(ctx context.Context, address, shims string) (fine string, err error) {
	bundles, err := shim.List(shims)
	if err != nil {
		return "", err
	}
	bundles = slices.DeleteFunc(bundles, func(b shim.Bundle) bool { return b.State != shim.Alive })
	unknown := len(bundles)
	opened, err := store.OpenReadOnly(ctx, address)
	switch {
	case errors.Is(err, migrations.ErrOlder):
		unknown = 0 // unreadable before it is migrated
	case err == nil:
		defer opened.Close()
		for _, b := range bundles {
			state, err := opened.ProcessState(ctx, b.Meta.SessionID)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return "", err
			}
			if state.ProcessID == b.Meta.ProcessID && state.Running() {
				unknown--
			}
		}
	}
	fine = fmt.Sprint(len(bundles))
	if unknown > 0 {
		fine += fmt.Sprintf(", of which the database does not know %d; sayso serve recovers them", unknown)
	}
	return fine, nil
}
