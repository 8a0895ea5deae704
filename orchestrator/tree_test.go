package orchestrator

import (
	"os"
	"os/exec"
	"testing"
)

func TestTreeUsageCountsChildren(t *testing.T) {
	t.Parallel()
	// The shell prints once its own child runs, so the sample cannot come early.
	cmd := exec.Command("sh", "-c", "sleep 60 & echo ready; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	own, gone := os.Getpid(), 1<<30
	sums := sumTrees(table, []int{own, cmd.Process.Pid, gone})
	children := map[int][]int{}
	for pid, entry := range table {
		children[entry.parent] = append(children[entry.parent], pid)
	}
	for _, pid := range descend(children, table, cmd.Process.Pid) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	_ = cmd.Wait()
	if got := sums[cmd.Process.Pid].processes; got != 2 {
		t.Errorf("shell tree has %d processes, want 2", got)
	}
	if got := sums[own]; got.memory < 1<<20 || got.processes < 3 {
		t.Errorf("own tree: %+v, want at least 1 MiB in 3 processes", got)
	}
	if got := sums[gone].processes; got != 0 {
		t.Errorf("tree of no process has %d members", got)
	}
}
