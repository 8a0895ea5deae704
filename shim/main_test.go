package shim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/shim"
)

// The test binary is also the shim, the servers that are killed, and a CLI that tells the time.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		_ = shim.Main(os.Stdin, os.Stdout) // it has told its starter
		syscall.Exit(0)                    // os.Exit sleeps for a second under the race detector
	}
	if len(os.Args) == 2 && os.Args[1] == "clock" {
		clock()
		syscall.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "server" {
		if err := server(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come at once.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// self is the path of this binary.
func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// script is a CLI that runs a shell script.
func script(t testing.TB, text string) shim.Params {
	t.Helper()
	return shim.Params{
		SessionID: "session", ProcessID: "process", Dir: filepath.Join(t.TempDir(), "bundle"),
		Path: "/bin/sh", Args: []string{"-c", text}, Env: []string{"PATH=" + os.Getenv("PATH")}, Cwd: "/",
	}
}

// program writes an executable shell script.
func program(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	// Whoever forks while the file is open makes it busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a shim that is gone when the test is over.
func start(t testing.TB, p shim.Params) shim.Handle {
	t.Helper()
	h, err := shim.Start(within(t), self(t), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = syscall.Kill(h.PID, syscall.SIGCONT)
		if err := shim.Destroy(ctx, h.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		var m shim.Meta
		if text, err := os.ReadFile(filepath.Join(h.Dir, "meta.json")); err == nil && json.Unmarshal(text, &m) == nil && m.Cgroup != "" {
			if _, err := os.Stat(m.Cgroup); err == nil {
				t.Errorf("%s is left", m.Cgroup)
			}
		}
		select {
		case <-h.Done:
			if log, _ := os.ReadFile(filepath.Join(h.Dir, "shim.log")); len(log) > 0 {
				t.Errorf("shim.log: %s", log)
			}
		case <-ctx.Done():
			t.Error("the shim did not end")
		}
	})
	return h
}

func attach(t testing.TB, dir string, epoch uint64, from int64) *shim.Conn {
	t.Helper()
	// A loaded machine may need more than the budget of one.
	var c *shim.Conn
	until(t, "attach", func() error {
		var err error
		c, err = shim.Attach(within(t), dir, epoch, from)
		return err
	})
	t.Cleanup(c.Detach)
	return c
}

// until waits for what another process does.
func until(t testing.TB, what string, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond) // another process offers nothing to wait on
	}
}

func recv(t testing.TB, c *shim.Conn) string {
	t.Helper()
	line, err := c.Recv()
	if err != nil {
		t.Fatalf("Recv: %v", err)
	}
	return string(line)
}

// all receives to the end.
func all(t testing.TB, c *shim.Conn) []string {
	t.Helper()
	var lines []string
	for {
		line, err := c.Recv()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatalf("Recv after %d lines: %v", len(lines), err)
		}
		lines = append(lines, string(line))
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func wrote(t testing.TB, c *shim.Conn, key, line string) {
	t.Helper()
	if err := c.Write(within(t), key, []byte(line)); err != nil {
		t.Fatalf("Write %s: %v", key, err)
	}
}

func bundle(t testing.TB, dir string) shim.Bundle {
	t.Helper()
	list, err := shim.List(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		if b.Dir == dir {
			return b
		}
	}
	t.Fatalf("%s is not in the list", dir)
	return shim.Bundle{}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}
