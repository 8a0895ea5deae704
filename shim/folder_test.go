package shim_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/shim"
)

// TestTheFolderIsTheOneThatWasLookedAt starts CLIs in a folder that somebody swaps
// all the time for a link that leads elsewhere. Each runs in the folder, or not at
// all.
func TestTheFolderIsTheOneThatWasLookedAt(t *testing.T) {
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
