package workingtree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// snapshot stores the state of a folder, "" for the repository.
func (b *bench) snapshot(folder string) workingtree.Base {
	b.t.Helper()
	base, err := b.git.Snapshot(b.t.Context(), workingtree.Place{
		Roots: workspace.Roots{b.root}, CWD: filepath.Join(b.repo, folder),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return base
}

func TestSnapshotKnowsWhateverChangedSince(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(".gitignore", "ignored\n")
	for _, name := range []string{"same", "committed", "edited", "gone", "staged", "unstaged", "sub/x"} {
		b.write(name, "one\n")
	}
	b.commit("first")
	// Before the turn a person has changes of every kind.
	b.write("edited", "before\n")
	b.write("new", "before\n")
	b.write("new-same", "before\n")
	b.write("staged", "before\n")
	b.run("add", "staged")
	b.run("rm", "-q", "--cached", "unstaged")
	b.write("big", strings.Repeat("x", workingtree.MaxCompared+1))
	index := b.read(".git/index")
	base := b.snapshot("")
	if base == "" {
		t.Fatal("nothing was stored")
	}
	if b.read(".git/index") != index {
		t.Error("the index has changed")
	}
	f := b.open("")
	if has, err := f.HasSnapshot(t.Context(), base); err != nil || !has {
		t.Fatalf("it is not there: %v", err)
	}
	if _, changes := b.status(f, base); len(changes) != 0 {
		t.Errorf("nothing has changed: %+v", changes)
	}

	// A turn, with commands that edit and commit.
	b.write("edited", "after\n")
	b.write("new", "before\nafter\n")
	b.write("committed", "after\n")
	b.run("commit", "-q", "-m", "by Claude", "committed")
	b.write("added", "after\n")
	b.write("ignored", "after\n")
	b.write("sub/x", "after\n")
	b.write("big", strings.Repeat("y", workingtree.MaxCompared+1))
	if err := os.Remove(filepath.Join(b.repo, "gone")); err != nil {
		t.Fatal(err)
	}
	s, changes := b.status(f, base)
	want := map[string]workingtree.ChangeStatus{
		"edited": workingtree.Modified, "new": workingtree.Modified, "committed": workingtree.Modified, "added": workingtree.Added,
		"sub/x": workingtree.Modified, "gone": workingtree.Deleted,
	}
	for path, status := range want {
		if changes[path].Status != status {
			t.Errorf("%s: %+v", path, changes[path])
		}
	}
	if len(changes) != len(want) || s.Base != base || s.More {
		t.Errorf("got %+v", s)
	}
	if c := changes["new"]; c.Added != 1 || c.Removed != 0 || !c.Uncommitted {
		t.Errorf("a file that is in no commit: %+v", c)
	}
	for path, before := range map[string]string{"edited": "before\n", "new": "before\n", "committed": "one\n", "gone": "one\n", "added": ""} {
		if c := b.compare(f, base, path, ""); c.Before.Text != before {
			t.Errorf("%s was %q", path, c.Before.Text)
		}
	}
	// A folder below sees its own.
	if _, changes := b.status(b.open("sub"), base); len(changes) != 1 || changes["x"].Status != workingtree.Modified {
		t.Errorf("below: %+v", changes)
	}
	if c := b.compare(b.open("sub"), base, "x", ""); c.Before.Text != "one\n" || c.After.Text != "after\n" {
		t.Errorf("below: %+v", c)
	}
	b.hidden = filepath.Join(b.repo, "sub")
	if _, changes := b.status(b.open(""), base); changes["sub/x"].Path != "" {
		t.Error("a hidden file is listed")
	}
}

func TestSnapshotOfACleanFolderWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if base := b.snapshot(""); base == "" {
		t.Error("no base before the first commit")
	} else if has, err := b.open("").HasSnapshot(t.Context(), base); err != nil || !has {
		t.Errorf("before the first commit: %v", err)
	}
	b.write("a", "one\n")
	b.commit("first")
	objects := b.run("count-objects", "-v")
	base := b.snapshot("")
	if got := b.run("count-objects", "-v"); got != objects {
		t.Errorf("objects:\n%s\nwere\n%s", got, objects)
	}
	b.write("a", "two\n")
	if _, changes := b.status(b.open(""), base); len(changes) != 1 || changes["a"].Added != 1 {
		t.Errorf("got %+v", changes)
	}
}

func TestSnapshotIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 9 {
		b.write(strings.Repeat("f", i+1), strings.Repeat("x", workingtree.MaxCompared))
	}
	if base := b.snapshot(""); base != "" {
		t.Error("more than 32 MB were stored")
	}
	if got := b.run("count-objects"); !strings.HasPrefix(got, "0 objects") {
		t.Errorf("%s were written", got)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.RemoveAll(filepath.Join(b.repo, ".git")); err != nil {
		t.Fatal(err)
	}
	if base := b.snapshot(""); base != "" {
		t.Errorf("without a repository: %q", base)
	}
	// What no snapshot returned is no base.
	for _, base := range []workingtree.Base{"", "snapshot:", "snapshot:--all", "HEAD", workingtree.Base("snapshot:" + strings.Repeat("a", 40))} {
		if has, err := b.open("").HasSnapshot(t.Context(), base); err != nil || has {
			t.Errorf("%q: %v, %v", base, has, err)
		}
	}
}

// A repository whose filters, hooks and monitors are programs runs none of them.
func TestSnapshotRunsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a", "one\n")
	b.write(".gitattributes", "* filter=evil\n")
	b.commit("first")
	ran := filepath.Join(b.root, "ran")
	for _, setting := range []string{"filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"} {
		b.run("config", setting, "touch "+ran+"; cat")
	}
	b.write("a", "two\n")
	b.write("b", "new\n")
	base := b.snapshot("")
	b.write("a", "three\n")
	if _, changes := b.status(b.open(""), base); len(changes) != 1 {
		t.Errorf("got %+v", changes)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository has run")
	}
}

// A file that changes in the second in which git stored it, and not its size, is seen to have changed.
func TestSnapshotSeesWhatChangedInTheSameSecond(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	second := time.Now().Add(-time.Hour).Truncate(time.Second)
	touch := func(name string) { mustNot(t, os.Chtimes(filepath.Join(b.repo, name), second, second)) }
	b.run("config", "core.trustctime", "false")
	b.write("a.txt", "one\n")
	touch("a.txt")
	b.commit("first")
	touch(".git/index")
	base := b.snapshot("")
	b.write("a.txt", "two\n")
	touch("a.txt")
	if _, got := b.status(b.open(""), base); got["a.txt"].Status != workingtree.Modified {
		t.Errorf("got %+v", got)
	}
}

func TestCompareWith(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a", "two\n")
	elsewhere := filepath.Join(b.root, "other", "x")
	b.write(elsewhere, "two\n")
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	b.write(outside, "secret\n")
	file := func(text string) workspace.File {
		return workspace.File{State: workspace.FileRead, Size: int64(len(text)), Data: []byte(text)}
	}
	f := b.open("")
	for name, c := range map[string]struct {
		before workspace.File
		path   string
		state  workingtree.ContentState // of the text now
		was    string
		same   bool
	}{
		"changed":         {file("one\n"), "a", workingtree.ContentText, "one\n", false},
		"equal":           {file("two\n"), "a", workingtree.ContentText, "two\n", true},
		"new":             {workspace.File{State: workspace.FileMissing}, "a", workingtree.ContentText, "", false},
		"gone":            {file("one\n"), "gone", workingtree.ContentMissing, "one\n", false},
		"never there":     {workspace.File{State: workspace.FileMissing}, "gone", workingtree.ContentMissing, "", true},
		"elsewhere":       {file("one\n"), elsewhere, workingtree.ContentText, "one\n", false},
		"outside":         {file("one\n"), outside, workingtree.ContentOutside, "", false},
		"out by two dots": {file("one\n"), filepath.Join(b.root, "..", "outside"), workingtree.ContentOutside, "", false},
	} {
		got, same, err := f.CompareWith(c.before, c.path)
		if err != nil || got.After.State != c.state || got.Before.Text != c.was || same != c.same {
			t.Errorf("%s: %+v, %v, %v", name, got, same, err)
		}
	}
	if c, same, err := f.CompareWith(file(strings.Repeat("x", workingtree.MaxText+1)), "a"); err != nil || same || c.Before.State != workingtree.ContentLarge || c.Before.Text != "" {
		t.Errorf("a long text: %v, %v", c.Before.State, err)
	}
	b.hidden = filepath.Join(b.repo, "a")
	if c, _, err := b.open("").CompareWith(file("secret\n"), "a"); err != nil || c.Before.Text != "" || c.After.Text != "" {
		t.Errorf("a hidden file: %+v, %v", c, err)
	}
}
