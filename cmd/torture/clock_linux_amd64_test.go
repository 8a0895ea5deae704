package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The clock of a process that runs is set an hour forth, an hour back, and right again. Its other clocks
// go on as before.
func TestClockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, asClock)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(out)
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		if err := setClock(cmd.Process.Pid, by); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var now, ofDay, since int64
		if _, err := fmt.Sscan(line, &now, &ofDay, &since); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := time.Now().Add(by)
		for _, got := range []time.Time{time.Unix(0, now), time.Unix(0, ofDay)} {
			if off := got.Sub(want).Abs(); off > time.Minute {
				t.Errorf("set %s off, the clock shows %s, which is %s from %s", by, got, off, want)
			}
		}
		if d := time.Duration(since); d < 0 || d > time.Minute {
			t.Errorf("set %s off, a duration is %s", by, d)
		}
	}
}
