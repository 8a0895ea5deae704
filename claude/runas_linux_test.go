package claude_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

func TestNumbersOfAUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*claude.RunAs{
		"1000:1001":     {UID: 1000, GID: 1001},
		"1000:1001:":    {UID: 1000, GID: 1001},
		"1000:1001:4,7": {UID: 1000, GID: 1001, Groups: []int{4, 7}},
	} {
		got, err := claude.ParseRunAs(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := claude.ParseRunAs(got.Format())
		if got.UID != want.UID || got.GID != want.GID || !slices.Equal(got.Groups, want.Groups) || err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: %+v, again %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "1000", "-1:0", "a:b", "1:2:3:4", "1:2:x", "1:4294967295", "1:2:,", " 1:2"} {
		if got, err := claude.ParseRunAs(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestTheEnvironmentOfAnotherUser(t *testing.T) {
	t.Parallel()
	parent := []string{"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "XDG_RUNTIME_DIR=/run/user/0", "TMPDIR=/root/tmp", "PATH=/bin", "ANTHROPIC_API_KEY=x"}
	got := (&claude.RunAs{Name: "ada", Home: "/home/ada"}).Environ(parent)
	if want := []string{"PATH=/bin", "ANTHROPIC_API_KEY=x", "HOME=/home/ada", "USER=ada", "LOGNAME=ada"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (*claude.RunAs)(nil).Environ(parent); !slices.Equal(got, parent) {
		t.Errorf("got %q", got)
	}
}

func TestFilesAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		err := (&claude.RunAs{UID: 61_950, GID: 61_951}).Do(func() error { t.Error("it was called"); return nil })
		if !errors.Is(err, claude.ErrRunAs) {
			t.Errorf("got %v", err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "sayso-as-") // that of the test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Chmod(dir, 0o711))
	secret, own, shared := filepath.Join(dir, "secret"), filepath.Join(dir, "own"), filepath.Join(dir, "shared")
	check(os.WriteFile(secret, []byte("x"), 0o600))
	u := &claude.RunAs{UID: 61_950, GID: 61_951, Groups: []int{61_952}}
	owner := func(path string) (uid, gid int) {
		info, err := os.Stat(path)
		check(err)
		s := info.Sys().(*syscall.Stat_t)
		return int(s.Uid), int(s.Gid)
	}
	check(os.Mkdir(own, 0o700))
	check(os.Chown(own, u.UID, u.GID))
	check(u.Do(func() error {
		if _, err := os.ReadFile(secret); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it reads what is ours: %v", err)
		}
		// Others go on as who they are.
		done := make(chan error)
		go func() {
			_, err := os.ReadFile(secret)
			done <- err
		}()
		if err := <-done; err != nil {
			t.Errorf("another goroutine: %v", err)
		}
		return os.WriteFile(filepath.Join(own, "file"), nil, 0o600)
	}))
	if uid, gid := owner(filepath.Join(own, "file")); uid != u.UID || gid != u.GID {
		t.Errorf("what it makes belongs to %d:%d", uid, gid)
	}
	check(u.InGroup(func() error {
		if _, err := os.ReadFile(secret); err != nil {
			t.Error(err)
		}
		return os.WriteFile(shared, nil, 0o640)
	}))
	if uid, gid := owner(shared); uid != 0 || gid != u.GID {
		t.Errorf("what is shared belongs to %d:%d", uid, gid)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was lost")
			}
		}()
		_ = u.Do(func() error { panic("x") })
	}()
	if _, err := os.ReadFile(secret); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
