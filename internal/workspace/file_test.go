package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// What lies outside the folders is not shown, by whatever way it is named.
func TestReadFile(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd, other, outside := filepath.Join(base, "root/project"), filepath.Join(base, "root/other"), filepath.Join(base, "outside")
	for _, dir := range []string{cwd, other, outside, filepath.Join(cwd, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(cwd, "a.txt"), "of the project")
	put(filepath.Join(cwd, "sub/b.txt"), "below")
	put(filepath.Join(other, "c.txt"), "of another project")
	put(filepath.Join(outside, "secret"), "not to be shown")
	put(filepath.Join(cwd, "large"), strings.Repeat("x", 101))
	put(base+"/root/project-two", "a folder of like name")
	for name, to := range map[string]string{"in": "sub/b.txt", "out": filepath.Join(outside, "secret"), "up": "../../outside/secret", "dir": "../../outside", "gone": "nothing", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(cwd, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.NewRoots([]string{filepath.Join(base, "root")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		state workspace.FileState
		text  string
	}{
		{filepath.Join(cwd, "a.txt"), workspace.FileRead, "of the project"},
		{"a.txt", workspace.FileRead, "of the project"},
		{"./sub//b.txt", workspace.FileRead, "below"},
		{"in", workspace.FileRead, "below"},
		{filepath.Join(other, "c.txt"), workspace.FileRead, "of another project"},
		{"new.txt", workspace.FileMissing, ""},
		{"sub/none/new.txt", workspace.FileMissing, ""},
		{"a.txt/new.txt", workspace.FileMissing, ""},
		{"gone", workspace.FileMissing, ""},
		{"large", workspace.FileLarge, ""},
		{"sub", workspace.FileOther, ""},
		{"pipe", workspace.FileOther, ""},
		{"out", workspace.FileOutside, ""},
		{"up", workspace.FileOutside, ""},
		{"dir/secret", workspace.FileOutside, ""},
		{"loop", workspace.FileOutside, ""},
		{"../other/c.txt", workspace.FileOutside, ""},
		{"sub/../a.txt", workspace.FileOutside, ""},
		{filepath.Join(outside, "secret"), workspace.FileOutside, ""},
		{"/etc/passwd", workspace.FileOutside, ""},
		{"/dev/zero", workspace.FileOutside, ""},
		{"", workspace.FileOutside, ""},
		{"a\x00b", workspace.FileOutside, ""},
	} {
		got, err := roots.ReadFile(cwd, c.path, 100)
		if err != nil || got.State != c.state || string(got.Data) != c.text {
			t.Errorf("%s: %s %q, %v; want %s %q", c.path, got.State, got.Data, err, c.state, c.text)
		}
	}
}

// TestAFileWithMoreNamesIsNotShown has a secret outside get a name inside, also while it
// is looked for, and what is no file on a disk.
func TestAFileWithMoreNamesIsNotShown(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd, secret := filepath.Join(base, "project"), filepath.Join(base, "secret")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(cwd, "sub"), 0o755))
	must(os.WriteFile(secret, []byte("not to be shown"), 0o600))
	must(os.Link(secret, filepath.Join(cwd, "linked")))
	must(os.Link(secret, filepath.Join(cwd, "sub", "twice")))
	must(os.Symlink("linked", filepath.Join(cwd, "soft")))
	must(os.WriteFile(filepath.Join(cwd, "own"), []byte("of the project"), 0o600))
	roots, err := workspace.NewRoots([]string{cwd})
	must(err)
	state := func(cwd, path string, want workspace.FileState) {
		t.Helper()
		got, err := roots.ReadFile(cwd, path, 1000)
		if err != nil || got.State != want || want != workspace.FileRead && len(got.Data) > 0 {
			t.Errorf("%s: %s %q, %v; want %s", path, got.State, got.Data, err, want)
		}
	}
	for _, path := range []string{"linked", "sub/twice", "soft", filepath.Join(cwd, "linked")} {
		state(cwd, path, workspace.FileOutside)
	}
	state(cwd, "own", workspace.FileRead)
	must(os.Remove(secret))
	state(cwd, "linked", workspace.FileOutside) // two names are left
	must(os.Remove(filepath.Join(cwd, "linked")))
	state(cwd, "sub/twice", workspace.FileRead)
	state("/dev", "zero", workspace.FileOther)
	state("/dev", "null", workspace.FileOther)
	if _, err := os.Stat("/proc/self/environ"); err == nil {
		proc, err := filepath.EvalSymlinks("/proc/self")
		must(err)
		state(proc, "environ", workspace.FileOther)
		state(proc, "status", workspace.FileOther)
		state(proc, "root/etc/passwd", workspace.FileOutside)
		state(proc, "cwd/file_test.go", workspace.FileOutside)
		state(proc, "fd/0", workspace.FileOutside)
	}

	// Whoever swaps a file for the secret, over and over, sees none of it.
	must(os.WriteFile(secret, []byte("not to be shown"), 0o600))
	done := make(chan struct{})
	go func() {
		defer close(done)
		swapped := filepath.Join(cwd, "swapped")
		for range 2000 {
			_ = os.Remove(swapped) // what fails is tried again
			_ = os.Link(secret, swapped)
			_ = os.Remove(swapped)
			_ = os.WriteFile(swapped, []byte("of the project"), 0o600)
			_ = os.Remove(swapped)
			_ = os.Symlink(secret, swapped)
		}
	}()
	for swapping := true; swapping; {
		select {
		case <-done:
			swapping = false
		default:
		}
		got, err := roots.ReadFile(cwd, "swapped", 1000)
		if err == nil && strings.Contains(string(got.Data), "not to be shown") {
			t.Fatal("the secret was shown")
		}
	}
}
