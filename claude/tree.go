package claude

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/sayso-dev/sayso/internal/procfs"
)

// killTree kills root, its group, and all its descendants, including those in other sessions. It stops
// all of them first: a running process could fork, and children can no longer be found once their
// parent is dead.
func killTree(root int) error {
	stopped := map[int]bool{}
	var scanErr error
	const rounds = 20 // each finds the processes forked during the previous one
	for range rounds {
		table, err := procfs.Table()
		if err != nil {
			scanErr = fmt.Errorf("claude: list processes: %w", err)
			break
		}
		fresh := 0
		for _, pid := range descendants(table, root) {
			if !stopped[pid] && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped[pid] = true
				fresh++
			}
		}
		if fresh == 0 {
			break
		}
	}
	err := killGroup(root, syscall.SIGKILL)
	for pid := range stopped {
		if e := syscall.Kill(pid, syscall.SIGKILL); e != nil && !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("claude: kill %d: %w", pid, e))
		}
	}
	return errors.Join(err, scanErr)
}

// descendants lists root and all its descendants.
func descendants(table map[int]procfs.Process, root int) []int {
	children := make(map[int][]int, len(table))
	for pid, p := range table {
		children[p.Parent] = append(children[p.Parent], pid)
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}
