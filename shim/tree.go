package shim

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A process of the machine.
type process struct {
	pid, ppid, group int
	start            string // with pid, unique on this machine
	rss              int64
	cpu              time.Duration // its own, and of the children it has waited for
	marked           bool          // its environment contains the marker
}

// tree returns the processes for which root is true, and their descendants.
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

// stray returns the rest of the tree of a CLI whose shim may be dead.
func stray(m Meta) ([]process, error) {
	all, err := processes(m.Marker)
	if err != nil {
		return nil, err
	}
	// The id of a group is not reused while a process is in it, unless its leader is another
	// process by now.
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

// newCgroup creates a cgroup if we may and the kernel can kill one.
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
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) // the caller checks what is left
	}
}

// removeCgroup removes an empty cgroup and its children.
func removeCgroup(dir string) error {
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			_ = removeCgroup(filepath.Join(dir, e.Name())) // if it stays, its parent stays too
		}
	}
	if err := syscall.Rmdir(dir); err != nil && err != syscall.ENOENT {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}
