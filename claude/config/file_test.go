package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude/config"
)

// writerOf makes this binary a program that changes a file for ever.
const writerOf = "CONFIG_TEST_WRITER_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerOf); path != "" {
		for i := 0; ; i++ {
			if err := set(path, json.RawMessage(fmt.Sprint(i)), "writer"); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	goleak.VerifyTestMain(m)
}

func set(path string, value json.RawMessage, keys ...string) error {
	return config.Update(context.Background(), path, func(data []byte) ([]byte, error) { return config.Set(data, value, keys...) })
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// alone fails when anything but the named files is left in their folder.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		found := false
		for _, name := range names {
			found = found || e.Name() == name
		}
		if !found {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, file, 0o640)
	must(t, set(path, json.RawMessage("1"), "new"))
	if got, want := read(t, path), strings.Replace(file, "\"last\": null\n", "\"last\": null,\n  \"new\": 1\n", 1); got != want {
		t.Errorf("got\n%s", got)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, set(path, nil, "new"))
	if got := read(t, path); got != file {
		t.Errorf("got\n%s", got)
	}
	alone(t, dir, "file")
}

func TestUpdateMakesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	must(t, set(path, json.RawMessage("1"), "a"))
	info, err := os.Stat(path)
	must(t, err)
	if got := read(t, path); got != "{\n  \"a\": 1\n}\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("got %q, mode %v", got, info.Mode())
	}
}

func TestUpdateFollowsALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	write(t, real, "{}", 0o600)
	must(t, os.Symlink("real", link))
	must(t, set(link, json.RawMessage("1"), "a"))
	if to, err := os.Readlink(link); err != nil || to != "real" {
		t.Errorf("the link is now %q, %v", to, err)
	}
	if got := read(t, real); !strings.Contains(got, `"a"`) {
		t.Errorf("got %s", got)
	}
	must(t, os.Symlink("nowhere", filepath.Join(dir, "lost")))
	if err := set(filepath.Join(dir, "lost"), json.RawMessage("1"), "a"); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link to nowhere: %v", err)
	}
}

func TestUpdateLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"", "{\"a\": 1,}", "[1]", "{\"a\": tru"} {
		write(t, path, text, 0o600)
		err := set(path, json.RawMessage("1"), "b")
		if !errors.Is(err, config.ErrNotJSON) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "left as it is") {
			t.Errorf("%q: got %v", text, err)
		}
		if got := read(t, path); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	alone(t, dir, "file")
}

// Another program that knows of no lock writes between our reading and our
// writing: its change stays, and ours is made again on top of it.
func TestUpdateAfterAnotherWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "{}", 0o600)
	calls := 0
	must(t, config.Update(t.Context(), path, func(data []byte) ([]byte, error) {
		if calls++; calls < 3 {
			write(t, path, fmt.Sprintf(`{"theirs":%d}`, calls), 0o600)
		}
		return config.Set(data, json.RawMessage("1"), "ours")
	}))
	if got := read(t, path); calls != 3 || got != `{"theirs":2,"ours":1}` {
		t.Errorf("after %d calls: %s", calls, got)
	}
	err := config.Update(t.Context(), path, func(data []byte) ([]byte, error) {
		calls++
		write(t, path, fmt.Sprintf(`{"theirs":%d}`, calls), 0o600)
		return config.Set(data, json.RawMessage("2"), "ours")
	})
	if !errors.Is(err, config.ErrBusy) {
		t.Errorf("a file that never rests: %v", err)
	}
}

func TestUpdateByMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := set(path, json.RawMessage("1"), fmt.Sprint("key", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var got map[string]int
	must(t, json.Unmarshal([]byte(read(t, path)), &got))
	if len(got) != 8 {
		t.Errorf("got %v", got)
	}
	alone(t, dir, "file")
}

// A lock that a dead program left goes stale; a fresh one is waited for.
func TestUpdateTakesAStaleLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must(t, os.Mkdir(path+".lock", 0o700))
	old := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(path+".lock", old, old))
	must(t, set(path, json.RawMessage("1"), "a"))
	alone(t, dir, "file")

	must(t, os.Mkdir(path+".lock", 0o700))
	released := make(chan struct{})
	go func() {
		defer close(released)
		_ = os.Remove(path + ".lock")
	}()
	must(t, set(path, json.RawMessage("2"), "a"))
	<-released
}

// However a writer dies, the file is whole, with all that others put there.
func TestUpdateSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, file, 0o600)
	self, err := os.Executable()
	must(t, err)
	last := ""
	for round := range 12 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), writerOf+"="+path)
		must(t, cmd.Start())
		for began := time.Now(); ; time.Sleep(time.Millisecond * time.Duration(round)) {
			now := read(t, path)
			value, err := config.Get([]byte(now), "writer")
			must(t, err)
			if string(value) != last {
				last = string(value)
				break
			}
			if time.Since(began) > 60*time.Second {
				t.Fatal("nothing was written")
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		whole, err := config.Set([]byte(read(t, path)), nil, "writer")
		must(t, err)
		if string(whole) != file {
			t.Fatalf("round %d: got\n%s", round, whole)
		}
		// What the dead one held, the next one need not wait for in a test.
		_ = os.Remove(path + ".lock")
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, folder := range []string{"plain/sub", "repo/.git/worktrees/wt", "repo/sub", "wt/deep"} {
		must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	write(t, filepath.Join(dir, "wt/.git"), "gitdir: "+filepath.Join(dir, "repo/.git/worktrees/wt")+"\n", 0o600)
	write(t, filepath.Join(dir, "repo/.git/worktrees/wt/commondir"), "../..\n", 0o600)
	must(t, os.Symlink("plain", filepath.Join(dir, "link")))
	for in, want := range map[string]string{
		"plain": "plain", "plain/sub": "plain/sub", "link/sub": "plain/sub", "repo": "repo", "repo/sub": "repo", "wt/deep": "repo",
	} {
		got, err := config.Project(filepath.Join(dir, in))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "plain/sub/.git"), 0o600))
	if got, err := config.Project(filepath.Join(dir, "plain/sub")); err != nil || got != filepath.Join(dir, "plain/sub") {
		t.Errorf("with a pipe as .git: got %s, %v", got, err)
	}
	if _, err := config.Project(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there has no project")
	}
}
