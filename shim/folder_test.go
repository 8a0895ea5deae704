package shim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/shim"
)

// TestFolderIsNotReplacedAfterTheCheck starts CLIs in a folder that somebody swaps
// all the time for a link that leads elsewhere. Each runs in the folder, or not at
// all.
func TestFolderIsNotReplacedAfterTheCheck(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	for _, dir := range []string{at("root", "work"), at("outside", "work")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("outside"), at("link")); err != nil {
		t.Fatal(err)
	}
	run := func() (where string, err error) {
		p := script(t, "pwd -P")
		p.Cwd = at("root", "work")
		h, err := shim.Start(within(t), self(t), p)
		if err != nil {
			return "", err
		}
		c := attach(t, h.Dir, 1, 0)
		where = recv(t, c)
		<-c.Done()
		if err := c.AckExit(within(t)); err != nil {
			t.Error(err)
		}
		<-h.Done
		return where, nil
	}
	if where, err := run(); err != nil || where != at("root", "work") {
		t.Fatalf("in a folder that stays: %q, %v", where, err)
	}
	swap := func(steps ...[2]string) {
		for _, s := range steps {
			if err := os.Rename(s[0], s[1]); err != nil {
				t.Error(err)
			}
		}
	}
	swap([2]string{at("root"), at("away")}, [2]string{at("link"), at("root")})
	if where, err := run(); !errors.Is(err, shim.ErrFolderMissing) {
		t.Fatalf("through a link: %q, %v", where, err)
	}
	swap([2]string{at("root"), at("link")}, [2]string{at("away"), at("root")})

	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				swap([2]string{at("root"), at("away")}, [2]string{at("link"), at("root")}, [2]string{at("root"), at("link")}, [2]string{at("away"), at("root")})
			}
		}
	})
	defer swapping.Wait()
	defer close(stop)
	const tries = 40
	for range tries {
		where, err := run()
		if err == nil && where == at("away", "work") {
			continue // the same folder, under the name it has by now
		}
		if err != nil && !errors.Is(err, shim.ErrFolderMissing) || err == nil && where != at("root", "work") {
			t.Fatalf("ran in %q, %v", where, err)
		}
	}
}

// A shim whose folder was deleted goes on for whoever is attached. Nobody can reach it
// after that, so it ends with its CLI.
func TestTheFolderIsDeleted(t *testing.T) {
	t.Parallel()
	p := script(t, `while read -r line; do echo "got $line"; done`)
	p.Limits = shim.Limits{Line: 1000, Segment: 1000, GoneMS: 200}
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	say := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := c.Write(within(t), "", fmt.Appendf(nil, "line %d", i)); err != nil {
				t.Fatal(err)
			}
			if got, want := recv(t, c), fmt.Sprintf("got line %d", i); got != want {
				t.Fatalf("received %q, want %q", got, want)
			}
		}
	}
	say(0, 10)
	if err := os.RemoveAll(h.Dir); err != nil {
		t.Fatal(err)
	}
	if shim.IsIntact(h.Dir, true) {
		t.Error("a deleted folder is intact")
	}
	if _, err := shim.Wrote(h.Dir, "key"); err == nil {
		t.Error("a deleted folder says what was written")
	}
	say(10, 100) // more than a segment holds
	c.Detach()
	select {
	case <-h.Done:
	case <-within(t).Done():
		t.Fatal("the shim is there")
	}
	if syscall.Kill(h.CLI, 0) == nil {
		t.Error("the CLI is there")
	}
}
