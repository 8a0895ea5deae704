package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/workspace"
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
