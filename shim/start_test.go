package shim_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/shim"
)

func TestShimFromStartToExit(t *testing.T) {
	t.Parallel()
	p := script(t, `echo hello; read line; echo "got $line"; echo trouble >&2; exit 3`)
	h := start(t, p)
	equal(t, "state", bundle(t, h.Dir).State, shim.Alive)
	c := attach(t, h.Dir, 1, 0)
	equal(t, "first line", recv(t, c), "hello")
	wrote(t, c, "k", "a line")
	equal(t, "second line", recv(t, c), "got a line")
	if rest := all(t, c); len(rest) > 0 {
		t.Errorf("more lines: %q", rest)
	}
	<-c.Done()
	exit := c.Exit()
	equal(t, "status", exit.Status, 3)
	equal(t, "stderr", exit.Stderr, "trouble\n")
	equal(t, "offset", exit.Offset, c.Offset())
	b := bundle(t, h.Dir)
	equal(t, "state", b.State, shim.Exited)
	equal(t, "shim lives", b.Shim, true)
	is(t, "Remove", shim.Remove(h.Dir), shim.ErrAlive)
	if err := c.AckExit(within(t)); err != nil {
		t.Fatal(err)
	}
	<-h.Done
	b = bundle(t, h.Dir)
	equal(t, "state", b.State, shim.Exited)
	equal(t, "shim lives", b.Shim, false)
	equal(t, "status on disk", b.Exit.Status, 3)
	if _, err := os.Lstat(filepath.Join(h.Dir, "socket")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	_, err := shim.Attach(within(t), h.Dir, 2, 0)
	is(t, "Attach", err, shim.ErrGone)
	if err := shim.Remove(h.Dir); err != nil {
		t.Fatal(err)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	noInterpreter := program(t, "#!/no/such\n")
	for _, row := range []struct {
		name   string
		change func(*shim.Params)
		want   error
	}{
		{"no CLI", func(p *shim.Params) { p.Path = filepath.Join(dir, "none") }, shim.ErrCLIMissing},
		{"below a file", func(p *shim.Params) { p.Path = filepath.Join(file, "none") }, shim.ErrCLIMissing},
		{"a bare name", func(p *shim.Params) { p.Path = "sh" }, shim.ErrCLIMissing},
		{"not executable", func(p *shim.Params) { p.Path = file }, shim.ErrCLINotExecutable},
		{"a folder", func(p *shim.Params) { p.Path = dir }, shim.ErrCLINotExecutable},
		{"no interpreter", func(p *shim.Params) { p.Path = noInterpreter }, shim.ErrCLINotExecutable},
		{"no folder", func(p *shim.Params) { p.Cwd = filepath.Join(dir, "none") }, shim.ErrFolderMissing},
		{"a file for a folder", func(p *shim.Params) { p.Cwd = file }, shim.ErrFolderMissing},
		{"a relative folder", func(p *shim.Params) { p.Cwd = "." }, shim.ErrFolderMissing},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := script(t, "exit")
			row.change(&p)
			_, err := shim.Start(within(t), self(t), p)
			is(t, "Start", err, row.want)
			if _, err := os.Lstat(p.Dir); !os.IsNotExist(err) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

func TestStartRefusesAFolderThatIsThere(t *testing.T) {
	t.Parallel()
	p := script(t, "exit")
	if err := os.Symlink(t.TempDir(), p.Dir); err != nil {
		t.Fatal(err)
	}
	_, err := shim.Start(within(t), self(t), p)
	is(t, "Start", err, os.ErrExist)
	if _, err := os.Lstat(p.Dir); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}

func TestStartThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	// The program says nothing, as a shim does that hangs.
	mute := program(t, "#!/bin/sh\nexec sleep 1000\n")
	for i, patience := range []time.Duration{0, 50 * time.Millisecond} {
		p := script(t, "exit")
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := shim.Start(ctx, mute, p)
		is(t, fmt.Sprint("Start ", i), err, context.DeadlineExceeded)
		if _, err := os.Lstat(p.Dir); !os.IsNotExist(err) {
			t.Errorf("the folder is still there: %v", err)
		}
	}
}

func TestStartRefusesWhatJSONWouldChange(t *testing.T) {
	t.Parallel()
	p := script(t, "exit")
	p.Args = append(p.Args, "\xff")
	if _, err := shim.Start(within(t), self(t), p); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v", err)
	}
}

func TestFilesAreThereBeforeTheCLIAndForUsAlone(t *testing.T) {
	t.Parallel()
	p := script(t, `cat "$0"; exit`)
	path := filepath.Join(p.Dir, "config")
	p.Args = append(p.Args, path)
	p.Files = map[string][]byte{"config": []byte("a secret\n")}
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	equal(t, "what the CLI read", recv(t, c), "a secret")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mode", info.Mode().Perm(), 0o600)
	if rest := all(t, c); len(rest) > 0 {
		t.Errorf("more lines: %q", rest)
	}
}

func TestFilesStayInTheFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../config", "a/b", "/config"} {
		p := script(t, `exit`)
		p.Files = map[string][]byte{name: nil}
		if _, err := shim.Start(within(t), self(t), p); err == nil {
			t.Errorf("%s was written", name)
		}
		if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
			t.Errorf("%s: the folder is left: %v", name, err)
		}
	}
}
