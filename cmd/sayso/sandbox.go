package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/shim"
)

// Errors of a sandbox that cannot work.
var (
	errNoBubblewrap     = errors.New("--sandbox bubblewrap: the program bwrap is missing; install bubblewrap")
	errBubblewrapBroken = errors.New("--sandbox bubblewrap does not work on this machine")
)

// sandboxOf returns the configured sandbox, nil for none. It fails if the sandbox cannot work: a
// server that is configured to confine Claude and cannot must not start.
func sandboxOf(s settings, exe string, runAs *claude.RunAs) (*launch.Sandbox, error) {
	switch s.Sandbox {
	case "", "none":
		return nil, nil
	case "bubblewrap":
	default:
		return nil, fmt.Errorf("--sandbox %s: use none or bubblewrap", s.Sandbox)
	}
	if runtime.GOOS != "linux" {
		return nil, errors.New("--sandbox bubblewrap works only on Linux. Remove this setting")
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errNoBubblewrap
	}
	if bwrap, err = filepath.Abs(bwrap); err != nil {
		return nil, err
	}
	state, err := filepath.EvalSymlinks(s.StateDir)
	if err != nil {
		return nil, fmt.Errorf("--sandbox: state folder: %w", err)
	}
	if path, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "//"), "?")
		if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err != nil || real != state && !strings.HasPrefix(real, state+"/") {
			return nil, errors.New("--sandbox hides the state folder, but the database is outside of it. Remove --database, or use PostgreSQL")
		}
	}
	if program, err := filepath.EvalSymlinks(exe); err != nil || strings.HasPrefix(program, state+"/") {
		return nil, errors.New("--sandbox hides the state folder, which contains the program sayso. Move the program")
	}
	box := &launch.Sandbox{Bwrap: bwrap, Exe: exe, State: state}
	for _, secret := range append(secretFiles(s), s.file) {
		if secret == "" {
			continue
		}
		if path, err := filepath.Abs(secret); err == nil {
			box.Hide = append(box.Hide, path)
		}
	}
	args := []string{bwrap, "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--perms", "0700", "--tmpfs", state, "--", exe, "version"}
	if runAs != nil {
		box.Private = privateIn(state)
		if os.Geteuid() != 0 { // as the CLIs will run
			args = append([]string{exe, "enter", "--as=" + runAs.Format(), "/"}, args...)
		}
	}
	try := exec.Command(args[0], args[1:]...)
	if said, err := try.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w (%w): %s", errBubblewrapBroken, err, strings.TrimSpace(string(said)))
	}
	return box, nil
}

// enter executes a program in a folder. Its arguments are [--as=NUMBERS] FOLDER PROGRAM ARGUMENTS;
// with --as, it becomes that user first. It is the last step into a sandbox, which has resolved the
// folder by its name, and the step from the shim to a Claude that runs as another user.
func enter(args []string) error {
	if len(args) > 0 {
		if numbers, ok := strings.CutPrefix(args[0], "--as="); ok {
			user, err := claude.ParseRunAs(numbers)
			if err == nil {
				err = user.Become()
			}
			if err != nil {
				return err
			}
			args = args[1:]
		}
	}
	if len(args) < 2 {
		return errUsage
	}
	if err := shim.Enter(args[0]); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := syscall.Exec(args[1], args[1:], os.Environ()); err != nil {
		return &os.PathError{Op: "exec", Path: args[1], Err: err}
	}
	return nil
}
