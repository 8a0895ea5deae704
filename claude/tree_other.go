//go:build !linux

package claude

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
)

// processParents returns the parent of every process.
func processParents() (map[int]int, error) {
	out, err := exec.Command("/bin/ps", "-axo", "pid=,ppid=").Output()
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var pid, ppid int
		if _, err := fmt.Sscan(lines.Text(), &pid, &ppid); err == nil {
			parents[pid] = ppid
		}
	}
	return parents, nil
}
