package launch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// TestDiskFollowsLinks: a name leads where the kernel would go, as far as there is
// something; what is the kernel's own is left to who asks.
func TestDiskFollowsLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return root + "/" + name }
	for _, err := range []error{
		os.MkdirAll(in("deploy/sub"), 0o700), os.Symlink("deploy", in("link")), os.Symlink(in("link/sub"), in("far")), os.Symlink("nowhere", in("dangling")), os.Symlink("loop", in("loop")),
		os.Symlink("/proc/self/cwd/deploy", in("kernel")), os.Symlink("../deploy/new", in("deploy/up")), os.WriteFile(in("file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cli := &launch.CLI{}
	for name, want := range map[string]string{
		in("deploy/x"): in("deploy/x"), in("link/x"): in("deploy/x"), in("far/x"): in("deploy/sub/x"), in("far/../x"): in("deploy/x"), in("far/../../x"): in("x"), in("dangling"): in("nowhere"), in("dangling/x"): in("nowhere/x"),
		in("./link//x"): in("deploy/x"), in("loop/x"): "", in("kernel/x"): "/proc/self/cwd/deploy/x", "/proc/self/cwd/../x": "/proc/self/cwd/../x", in("deploy/up"): in("deploy/new"), in("gone/../link/x"): in("deploy/x"), in("file/x"): "",
	} {
		if got, err := cli.ResolvePath(t.Context(), name); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}
