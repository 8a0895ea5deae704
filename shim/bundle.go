package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// State is the state of a shim and its CLI.
type State string

const (
	Alive        State = "alive"         // both run
	Exited       State = "exited"        // the CLI has exited, and its exit is recorded
	NeverStarted State = "never_started" // the shim died before it started the CLI
	Dead         State = "dead"          // the shim died, or was killed, before it recorded an exit
)

// Bundle is the folder of one shim.
type Bundle struct {
	Dir   string
	State State
	Shim  bool        // the shim runs; an Exited one does until AckExit
	Meta  Meta        // zero if it cannot be read
	Exit  *ExitRecord // nil unless State is Exited
}

// List returns the bundles in root. It contacts no shim, so none can block it. A root that does not
// exist has no bundles.
func List(root string) ([]Bundle, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("shim: list: %w", err)
	}
	var all []Bundle
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, inspect(filepath.Join(root, e.Name())))
		}
	}
	return all, nil
}

func inspect(dir string) Bundle {
	// isAlive comes first: if the shim ends after that, its files are complete.
	b := Bundle{Dir: dir, Shim: isAlive(dir)}
	b.Meta, _ = readMeta(dir) // zero if it cannot be read
	var exit ExitRecord
	if err := readJSON(filepath.Join(dir, exitName), &exit); err == nil {
		b.Exit = &exit
	}
	switch {
	case b.Exit != nil:
		b.State = Exited
	case b.Shim:
		b.State = Alive
	case b.Meta.CLI == 0:
		b.State = NeverStarted
	default:
		b.State = Dead
	}
	return b
}

func isAlive(dir string) bool { return lockHolder(dir) != 0 }

// lockHolder returns the pid of the shim of a folder, 0 if the shim is dead. The kernel releases the
// lock when the shim ends, so no other process can be mistaken for the shim.
func lockHolder(dir string) int {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_RDLCK}
	if syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock) != nil || lock.Type == syscall.F_UNLCK {
		return 0
	}
	return int(lock.Pid)
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func readMeta(dir string) (m Meta, err error) {
	err = readJSON(filepath.Join(dir, metaName), &m)
	return m, err
}

// Wrote reports whether a line with this key was written to the CLI of the shim in dir, dead or
// alive. It returns false if the shim did not record the key, because of its version or because
// recording failed.
func Wrote(dir, key string) (bool, error) {
	keys, err := os.ReadFile(filepath.Join(dir, keysName))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(dir); err != nil { // the folder was deleted, so the answer is unknown
			return false, fmt.Errorf("shim: keys: %w", err)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("shim: keys: %w", err)
	}
	wanted := digest(key)
	for one := range slices.Chunk(keys, len(wanted)) {
		if bytes.Equal(one, wanted[:]) {
			return true, nil
		}
	}
	return false, nil
}

// IsIntact reports whether the files that an attaching server needs exist. written tells it that the
// journal is not empty.
func IsIntact(dir string, written bool) bool {
	_, err := os.Lstat(filepath.Join(dir, metaName))
	segments, _ := filepath.Glob(filepath.Join(dir, "out.*")) // the pattern is valid
	return err == nil && (!written || len(segments) > 0)
}

// Remove deletes the folder of a shim that has ended. It returns [ErrAlive] if the shim is running.
func Remove(dir string) error {
	if isAlive(dir) {
		return fmt.Errorf("shim: remove %s: %w", dir, ErrAlive)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("shim: remove: %w", err)
	}
	return nil
}

// Clean kills the rest of a dead shim's process tree, and returns when it is gone. It returns
// [ErrAlive] if the shim is running.
func Clean(ctx context.Context, dir string) error {
	if isAlive(dir) {
		return fmt.Errorf("shim: clean %s: %w", dir, ErrAlive)
	}
	m, err := readMeta(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the shim had started nothing
	}
	if err != nil || m.Marker == "" {
		return fmt.Errorf("shim: clean %s: %w", dir, errors.Join(ErrDamaged, err))
	}
	if filepath.Base(m.Cgroup) != "sayso-"+m.Marker {
		m.Cgroup = ""
	}
	for delay := killDelay; ; delay = min(2*delay, time.Second) {
		killCgroup(m.Cgroup)
		left, err := stray(m)
		for _, p := range left {
			p.signal(syscall.SIGKILL)
		}
		if err == nil && len(left) == 0 {
			err = removeCgroup(m.Cgroup)
			if err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("shim: clean %s: %d processes left: %w", dir, len(left), errors.Join(context.Cause(ctx), err))
		case <-time.After(delay):
		}
	}
}

// Destroy kills a shim, if it runs, and its process tree. The shim need not answer.
func Destroy(ctx context.Context, dir string) error {
	for pid := lockHolder(dir); pid != 0; pid = lockHolder(dir) {
		if p, ok := processOf(pid); ok {
			p.signal(syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("shim: destroy %s: %w", dir, context.Cause(ctx))
		case <-time.After(killDelay):
		}
	}
	return Clean(ctx, dir)
}

// CgroupFolder returns the folder of this process's cgroup, in which shims create the cgroups of
// their sessions if they may write there. It returns "" if there is none.
func CgroupFolder() string { return cgroupDir("") }
