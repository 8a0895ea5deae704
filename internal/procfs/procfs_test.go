package procfs_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/internal/procfs"
)

func TestSumCountsChildren(t *testing.T) {
	t.Parallel()
	// The shell prints once its own child runs, so the sample cannot come early.
	cmd := exec.Command("sh", "-c", "sleep 60 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
	table, err := procfs.Table()
	if err != nil {
		t.Fatal(err)
	}
	own, gone := os.Getpid(), 1<<30
	sums := procfs.Sum(table, []int{own, cmd.Process.Pid, gone})
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with the child
	_ = cmd.Wait()
	if got := sums[cmd.Process.Pid].Processes; got != 2 {
		t.Errorf("shell tree has %d processes, want 2", got)
	}
	if got := sums[own]; got.Memory < 1<<20 || got.Processes < 3 {
		t.Errorf("own tree: %+v, want at least 1 MiB in 3 processes", got)
	}
	if got := sums[gone].Processes; got != 0 {
		t.Errorf("tree of no process has %d members", got)
	}
}
