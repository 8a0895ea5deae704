package shim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/seedtest"
	"github.com/sayso-dev/sayso/shim"
)

// server is a server that may be killed at any point. It is another process.
//
//	start <params>                       starts a shim and waits to be killed
//	attach <dir> <state> <epoch> <lines> writes lines and stores what comes back
func server(args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	switch {
	case args[0] == "start" && len(args) == 2:
		var p shim.Params
		if err := json.Unmarshal([]byte(args[1]), &p); err != nil {
			return err
		}
		if _, err := shim.Start(context.Background(), exe, p); err != nil {
			return err
		}
		fmt.Println("started")
		select {}
	case args[0] == "attach" && len(args) == 5:
		epoch, err := strconv.ParseUint(args[3], 10, 64)
		if err != nil {
			return err
		}
		lines, err := strconv.Atoi(args[4])
		if err != nil {
			return err
		}
		return drive(args[1], args[2], epoch, lines)
	}
	return fmt.Errorf("server: %q", args)
}

// drive has every line i of lines written with the key i, and stores each line
// that comes together with the offset after it, by one write.
func drive(dir, state string, epoch uint64, lines int) error {
	_, from := stored(state)
	c, err := shim.Attach(context.Background(), dir, epoch, from)
	if err != nil {
		return err
	}
	defer c.Detach()
	acks, err := os.OpenFile(state+".acks", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer acks.Close()
	acked, err := os.ReadFile(acks.Name())
	if err != nil {
		return err
	}
	go func() {
		// It also writes some again that it knows were written.
		for i := max(0, len(acked)-5); i < lines; i++ {
			if c.Write(context.Background(), fmt.Sprint("key ", i), fmt.Appendf(nil, "line %d", i)) != nil {
				return
			}
			if i >= len(acked) {
				_, _ = acks.Write([]byte("."))
			}
		}
	}()
	out, err := os.OpenFile(state, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	before, _ := stored(state)
	for range lines - len(before) {
		line, err := c.Recv()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%d %s\n", c.Offset(), line); err != nil {
			return err
		}
		if err := c.Commit(c.Offset()); err != nil {
			return err
		}
	}
	return nil
}

// stored reads what a server has stored: the lines, and the offset after the last.
func stored(state string) (lines []string, offset int64) {
	text, _ := os.ReadFile(state) // none is nothing stored
	for line := range strings.Lines(string(text)) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		offset, _ = strconv.ParseInt(at, 10, 64)
		lines = append(lines, rest)
	}
	return lines, offset
}

func TestServersAreKilled(t *testing.T) {
	t.Parallel()
	forever := 1 << 30
	p := script(t, `exec cat`)
	p.Limits.Segment = 3000
	h := start(t, p)
	state := filepath.Join(t.TempDir(), "state")
	random := rand.New(rand.NewPCG(seedtest.New(t), 0))
	killed := 0
	lines := forever
	for epoch := 1; ; epoch++ {
		if killed == kills && lines == forever { // the last one finishes what was begun
			acks, _ := os.ReadFile(state + ".acks")
			lines = len(acks) + 100
		}
		var stderr bytes.Buffer
		run := exec.Command(self(t), "server", "attach", h.Dir, state, fmt.Sprint(epoch), fmt.Sprint(lines))
		run.Stderr = &stderr
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		var timer *time.Timer
		if killed < kills {
			timer = time.AfterFunc(time.Duration(random.IntN(80))*time.Millisecond, func() { _ = run.Process.Kill() })
		}
		err := run.Wait()
		if timer != nil {
			timer.Stop()
		}
		if err == nil {
			break
		}
		if run.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			killed++
		} else if !strings.Contains(stderr.String(), shim.ErrHung.Error()) { // a loaded machine
			t.Fatalf("server %d: %v: %s", epoch, err, stderr.String())
		}
	}
	got, _ := stored(state)
	if len(got) != lines {
		t.Errorf("%d lines are stored, want %d", len(got), lines)
	}
	for i, line := range got {
		if line != fmt.Sprint("line ", i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	t.Logf("%d servers were killed, %d lines", killed, lines)
}

func TestAShimOutlivesWhoStartedIt(t *testing.T) {
	t.Parallel()
	p := script(t, `echo ready; exec cat`)
	params, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(self(t), "server", "start", string(params))
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	t.Cleanup(func() {
		if err := shim.Destroy(within(t), p.Dir); err != nil {
			t.Error(err)
		}
	})
	c := attach(t, p.Dir, 1, 0)
	equal(t, "line", recv(t, c), "ready")
	wrote(t, c, "k", "still there")
	equal(t, "line", recv(t, c), "still there")
}

// Whenever a server dies while it starts a shim, the next one finds a shim that
// lives, or nothing that runs.
func TestAServerDiesWhileItStartsAShim(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for i := range 15 {
		p := script(t, `echo ready; exec cat`)
		p.Cwd = t.TempDir()
		params, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		run := exec.Command(self(t), "server", "start", string(params))
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // as soon as there is something
			until(t, "the folder", func() error { _, err := os.Lstat(p.Dir); return err })
		} else {
			until(t, "meta.json", func() error { _, err := os.Lstat(filepath.Join(p.Dir, "meta.json")); return err })
		}
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait() // it was killed
		t.Cleanup(func() {
			if err := shim.Destroy(within(t), p.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
		until(t, "it is decided", func() error {
			b := bundle(t, p.Dir)
			if b.State == shim.Alive && b.Meta.CLI != 0 {
				c, err := shim.Attach(within(t), p.Dir, 1, 0)
				if err != nil {
					return err
				}
				defer c.Detach()
				equal(t, "line", recv(t, c), "ready")
				outcomes["alive"]++
				return nil
			}
			if b.Shim {
				return errors.New("it is starting")
			}
			// It may only be about to begin, and must then stop when the folder is gone.
			if err := shim.Remove(p.Dir); errors.Is(err, shim.ErrAlive) {
				return err
			}
			outcomes["removed"]++
			until(t, "nothing runs there", func() error {
				links, err := filepath.Glob("/proc/[0-9]*/cwd")
				for _, link := range links {
					if to, _ := os.Readlink(link); strings.HasPrefix(to, p.Cwd) || strings.HasPrefix(to, p.Dir) {
						err = fmt.Errorf("%s is %s", link, to)
					}
				}
				return err
			})
			return nil
		})
	}
	t.Log(outcomes)
}

func TestListOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "none yet")
	list, err := shim.List(root)
	if err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	var handles []shim.Handle
	for i, text := range []string{`exec cat`, `exit 4`, `exec cat`, `exit 5`} {
		p := script(t, text)
		p.Dir, p.ProcessID = filepath.Join(root, fmt.Sprint(i)), fmt.Sprint("process ", i)
		handles = append(handles, start(t, p))
	}
	<-attach(t, handles[1].Dir, 1, 0).Done()
	over := attach(t, handles[3].Dir, 1, 0)
	<-over.Done()
	if err := over.AckExit(within(t)); err != nil {
		t.Fatal(err)
	}
	<-handles[3].Done
	if err := syscall.Kill(handles[2].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-handles[2].Done
	if err := os.Mkdir(filepath.Join(root, "4"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err = shim.List(root); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range list {
		got = append(got, fmt.Sprint(filepath.Base(b.Dir), " ", b.State, " ", b.Shim, " ", b.Meta.ProcessID))
	}
	want := []string{
		"0 alive true process 0", "1 exited true process 1", "2 dead false process 2",
		"3 exited false process 3", "4 never_started false ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, b := range list {
		wantErr := error(nil)
		if b.Shim {
			wantErr = shim.ErrAlive
		}
		is(t, "Clean "+b.Dir, shim.Clean(within(t), b.Dir), wantErr)
		is(t, "Remove "+b.Dir, shim.Remove(b.Dir), wantErr)
	}
}
