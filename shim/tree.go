package shim

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A process is a running process of this machine.
type process struct {
	pid, ppid, group int
	start            string        // start time; together with pid, unique on this machine
	rss              int64         // bytes
	cpu              time.Duration // processor time, with that of the children it has waited for
	marked           bool          // its environment contains the marker
}

// tree returns the processes for which root returns true, and their descendants.
func tree(all []process, root func(process) bool) []process {
	children := make(map[int][]process, len(all))
	seen := make(map[int]bool)
	var found []process
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
		if root(p) {
			found, seen[p.pid] = append(found, p), true
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i].pid] {
			if !seen[child.pid] {
				found, seen[child.pid] = append(found, child), true
			}
		}
	}
	return found
}

// stray returns the processes left of the tree of a CLI whose shim may be dead.
func stray(m Meta) ([]process, error) {
	all, err := processes(m.Marker)
	if err != nil {
		return nil, err
	}
	// The id of a process group is not reused while the group has a process. But if another process
	// now has the CLI's pid, the group may be that of the other process.
	group := m.CLI
	for _, p := range all {
		if p.pid == m.CLI && p.start != m.CLIStart {
			group = 0
		}
	}
	self := os.Getpid()
	return tree(all, func(p process) bool {
		return p.pid != self && p.pid != m.PID &&
			(p.marked || group > 0 && p.group == group || p.pid == m.CLI && p.start == m.CLIStart)
	}), nil
}

// newCgroup creates a cgroup. It returns an error if this process may not create it, or the kernel
// cannot kill cgroups.
func newCgroup(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err == nil {
		if _, err = os.Stat(filepath.Join(dir, "cgroup.kill")); err == nil {
			return f, nil
		}
		f.Close()
	}
	return nil, errors.Join(err, removeCgroup(dir))
}

// killCgroup kills all processes in a cgroup.
func killCgroup(dir string) {
	if dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) // on errors, the caller finds what is left
	}
}

// removeCgroup removes a cgroup and its children, which must be empty.
func removeCgroup(dir string) error {
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			_ = removeCgroup(filepath.Join(dir, e.Name())) // if it fails, so does removing the parent
		}
	}
	if err := syscall.Rmdir(dir); err != nil && err != syscall.ENOENT {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}
