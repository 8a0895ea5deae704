package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes a root with folders, and a folder outside it.
func tree(t *testing.T, folders ...string) (root, outside string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside = filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, f := range append([]string{root, filepath.Join(outside, "secret")}, folders...) {
		if !filepath.IsAbs(f) {
			f = filepath.Join(root, f)
		}
		if err := os.MkdirAll(f, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root, outside
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	root, outside := tree(t, "work/deep", "name with spaces")
	link(t, outside, filepath.Join(root, "out"))
	link(t, "work", filepath.Join(root, "in"))
	link(t, "loop", filepath.Join(root, "loop"))
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.NewRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		root: root, root + "/": root, root + "/work": root + "/work", root + "//work/./deep": root + "/work/deep",
		root + "/in/deep": root + "/work/deep", root + "/name with spaces": root + "/name with spaces",
	} {
		if got, err := roots.Resolve(typed); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", typed, got, err, want)
		}
	}
	for _, typed := range []string{
		"", "work", "./work", outside, root + "/out", root + "/out/secret", root + "/../outside", root + "/work/..", "/..",
		root + "/loop", root + "/file", root + "/none", root + "\x00", root + "/work\x00/deep", root + "/\xff", root + "/work\n",
		"/proc/self/root" + outside, "/proc/self/root", "/proc/self/cwd", root + "x", "~root", "/", "C:\\work",
	} {
		got, err := roots.Resolve(typed)
		if !errors.Is(err, problem.Invalid) || got != "" {
			t.Errorf("%q: got %q, %v, want a refusal", typed, got, err)
		}
	}
	if _, err := workspace.NewRoots([]string{root + "/none"}); err == nil {
		t.Error("a root that is not there was taken")
	}
}

func paths(l workspace.Listing) []string {
	var list []string
	for _, f := range l.Folders {
		list = append(list, f.Path)
	}
	return list
}

func TestList(t *testing.T) {
	t.Parallel()
	root, outside := tree(t, "Alpha/one", "alps", "beta", ".hidden/x", "bad\nname")
	link(t, outside, filepath.Join(root, "out"))
	link(t, "/proc/self/root", filepath.Join(root, "magic"))
	link(t, "beta", filepath.Join(root, "bridge"))
	if err := os.WriteFile(filepath.Join(root, "a file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	roots := workspace.Roots{root}
	in := func(names ...string) []string {
		for i := range names {
			names[i] = filepath.Join(root, names[i])
		}
		return names
	}
	for name, c := range map[string]struct {
		search workspace.Search
		want   []string
		more   bool
	}{
		"nothing typed":         {workspace.Search{}, []string{root}, false},
		"on the way to a root":  {workspace.Search{Prefix: root[:len(root)-2]}, []string{root}, false},
		"a root itself":         {workspace.Search{Prefix: root}, []string{root}, false},
		"in a root":             {workspace.Search{Prefix: root + "/"}, in("Alpha", "alps", "beta", "bridge"), false},
		"with the hidden":       {workspace.Search{Prefix: root + "/", Hidden: true}, in(".hidden", "Alpha", "alps", "beta", "bridge"), false},
		"hidden by its name":    {workspace.Search{Prefix: root + "/.h"}, in(".hidden"), false},
		"in a hidden one":       {workspace.Search{Prefix: root + "/.hidden/"}, in(".hidden/x"), false},
		"any case":              {workspace.Search{Prefix: root + "/al"}, in("alps", "Alpha"), false},
		"through a link":        {workspace.Search{Prefix: root + "/bridge/"}, nil, false},
		"a link that leads out": {workspace.Search{Prefix: root + "/out/"}, nil, false},
		"a link to everything":  {workspace.Search{Prefix: root + "/magic/"}, nil, false},
		"a folder that is not":  {workspace.Search{Prefix: root + "/none/x"}, nil, false},
		"by a word":             {workspace.Search{Prefix: "bet"}, in("beta"), false},
		"no more than asked":    {workspace.Search{Prefix: root + "/", Limit: 2}, in("Alpha", "alps"), true},
		"recent ones first": {workspace.Search{Prefix: root + "/", Recent: in("beta", "gone", "Alpha/one", "out/secret")},
			in("beta", "Alpha/one", "Alpha", "alps", "bridge"), false},
		"recent ones by a word": {workspace.Search{Prefix: "ONE", Recent: in("beta", "Alpha/one")}, in("Alpha/one"), false},
		"recent ones outside":   {workspace.Search{Recent: []string{outside}}, []string{root}, false},
	} {
		got, err := roots.List(c.search)
		if err != nil || !slices.Equal(paths(got), c.want) || got.More != c.more {
			t.Errorf("%s: got %q, more %t, %v, want %q, more %t", name, paths(got), got.More, err, c.want, c.more)
		}
	}
	for _, prefix := range []string{outside, outside + "/", "/etc/", root + "/../", root + "/work/../..", "/proc/self/root/", root + "/\x00", "\xff", root + "x/"} {
		if got, err := roots.List(workspace.Search{Prefix: prefix}); !errors.Is(err, problem.Invalid) {
			t.Errorf("prefix %q: got %q, %v, want a refusal", prefix, paths(got), err)
		}
	}
}

// TestListNeverLeavesItsRoot lists a folder that somebody swaps all the time for a
// link that leads out.
func TestListNeverLeavesItsRoot(t *testing.T) {
	t.Parallel()
	root, outside := tree(t, "swapped/inside")
	link(t, outside, filepath.Join(root, "link"))
	here, away := filepath.Join(root, "swapped"), filepath.Join(root, "away")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, step := range [][2]string{{here, away}, {filepath.Join(root, "link"), here}, {here, filepath.Join(root, "link")}, {away, here}} {
				if err := os.Rename(step[0], step[1]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	defer swapping.Wait()
	defer close(stop)
	roots := workspace.Roots{root}
	for range 2000 {
		got, err := roots.List(workspace.Search{Prefix: here + "/", Recent: []string{here + "/secret"}})
		if err != nil || strings.Contains(fmt.Sprint(paths(got)), "secret") {
			t.Fatalf("got %q, %v", paths(got), err)
		}
	}
}

// A pipe where a folder is expected has no subfolders, and holds nobody up.
func TestListOfAPipe(t *testing.T) {
	t.Parallel()
	root, _ := tree(t)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.NewRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	list, err := roots.List(workspace.Search{Prefix: root + "/pipe/"})
	if err != nil || len(list.Folders) > 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}
