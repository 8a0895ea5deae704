package workingtree_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/workingtree"
)

func TestStatusAndCompare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("same.txt", "same\n")
	b.write("edit.txt", "one\ntwo\nthree\n")
	b.write("gone.txt", "gone\n")
	b.write("old.txt", strings.Repeat("a line that is found again\n", 20))
	b.write("bin.dat", "a\x00b")
	b.write("link", "not yet a link\n")
	b.commit("first")
	b.run("checkout", "-q", "-b", "topic")
	b.write("committed.txt", "on the branch\n")
	b.commit("second")

	b.write("edit.txt", "one\n2\nthree\nfour\n")
	mustNot(t, os.Remove(filepath.Join(b.repo, "gone.txt")))
	b.run("mv", "old.txt", "new name.txt")
	b.write("bin.dat", "a\x00c")
	mustNot(t, os.Remove(filepath.Join(b.repo, "link")))
	mustNot(t, os.Symlink("same.txt", filepath.Join(b.repo, "link")))
	b.write("staged.txt", "staged\n")
	b.run("add", "staged.txt")
	b.write("untracked\nline.txt", "a\nb")
	b.write("bad\xff.txt", "x\n")
	b.write(".gitignore", "*.log\n")
	b.write("ignored.log", "x\n")

	f := b.open("")
	s, got := b.status(f, workingtree.BaseHead)
	if s.Repository != workingtree.RepositoryFound || s.Branch != "topic" || s.MainBranch != "main" || s.Base != workingtree.BaseHead || s.More || len(s.Head) != 8 {
		t.Errorf("got %+v", s)
	}
	want := map[string]workingtree.Change{
		"edit.txt":            {Path: "edit.txt", Status: workingtree.Modified, Added: 2, Removed: 1, Uncommitted: true},
		"gone.txt":            {Path: "gone.txt", Status: workingtree.Deleted, Added: 0, Removed: 1, Uncommitted: true},
		"new name.txt":        {Path: "new name.txt", OldPath: "old.txt", Status: workingtree.Renamed, Uncommitted: true},
		"bin.dat":             {Path: "bin.dat", Status: workingtree.Modified, Added: -1, Removed: -1, Uncommitted: true},
		"link":                {Path: "link", Status: workingtree.TypeChanged, Added: 1, Removed: 1, Uncommitted: true},
		"staged.txt":          {Path: "staged.txt", Status: workingtree.Added, Added: 1, Uncommitted: true},
		"untracked\nline.txt": {Path: "untracked\nline.txt", Status: workingtree.Untracked, Added: 2, Uncommitted: true},
		"bad\xff.txt":         {Path: "bad\xff.txt", Status: workingtree.Untracked, Added: 1, Uncommitted: true},
		".gitignore":          {Path: ".gitignore", Status: workingtree.Untracked, Added: 1, Uncommitted: true},
	}
	for path, w := range want {
		if (got[path].Version == "") != (w.Status == workingtree.Deleted) {
			t.Errorf("%q: version %q", path, got[path].Version)
		}
		w.Version, w.Readable = got[path].Version, path != "bad\xff.txt"
		if got[path] != w {
			t.Errorf("%q: got %+v, want %+v", path, got[path], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d changes: %+v", len(got), s.Changes)
	}
	s, got = b.status(f, workingtree.BaseBranch)
	if s.Base != workingtree.BaseBranch || len(got) != len(want)+1 || got["committed.txt"].Uncommitted || got["committed.txt"].Status != workingtree.Added || !got["edit.txt"].Uncommitted {
		t.Errorf("against the branch: %+v", s)
	}

	for _, row := range []struct {
		path, old     string
		before, after workingtree.Content
	}{
		{"edit.txt", "", workingtree.Content{State: "text", Text: "one\ntwo\nthree\n", Size: 14}, workingtree.Content{State: "text", Text: "one\n2\nthree\nfour\n", Size: 17}},
		{"gone.txt", "", workingtree.Content{State: "text", Text: "gone\n", Size: 5}, workingtree.Content{State: "missing"}},
		{"staged.txt", "", workingtree.Content{State: "missing"}, workingtree.Content{State: "text", Text: "staged\n", Size: 7}},
		{"bin.dat", "", workingtree.Content{State: "binary", Size: 3}, workingtree.Content{State: "binary", Size: 3}},
		{"link", "", workingtree.Content{State: "text", Text: "not yet a link\n", Size: 15}, workingtree.Content{State: "link", Text: "same.txt", Size: 8}},
	} {
		if c := b.compare(f, workingtree.BaseHead, row.path, row.old); c.Before != row.before || c.After != row.after {
			t.Errorf("%s: got %+v", row.path, c)
		}
	}
	if c := b.compare(f, workingtree.BaseHead, "new name.txt", "old.txt"); c.Before.Text != c.After.Text || c.Before.State != workingtree.ContentText {
		t.Errorf("renamed: %+v", c)
	}

	// A session in a folder of the repository sees that folder alone.
	b.write("sub/x.txt", "x\n")
	_, got = b.status(b.open("sub"), workingtree.BaseHead)
	if len(got) != 1 || got["x.txt"].Status != workingtree.Untracked {
		t.Errorf("in a folder: %+v", got)
	}
}

func TestBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.write("b.txt", "b\n")
	b.run("add", "a.txt")
	f := b.open("")
	s, got := b.status(f, workingtree.BaseBranch)
	if s.Branch != "main" || s.Head != "" || s.Base != workingtree.BaseHead || got["a.txt"].Status != workingtree.Added || got["b.txt"].Status != workingtree.Untracked {
		t.Errorf("got %+v", s)
	}
	seen := b.compare(f, workingtree.BaseHead, "a.txt", "")
	mustNot(t, discard(t.Context(), f, "a.txt", seen.Digest))
	if _, err := f.Commit(t.Context(), "first", []string{"b.txt"}); err != nil {
		t.Error(err)
	}
	if _, got = b.status(f, workingtree.BaseHead); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("edit.txt", "one\n")
	b.write("gone.txt", "gone\n")
	b.write("old.txt", strings.Repeat("a line that is found again\n", 20))
	b.commit("first")
	b.write("edit.txt", "mine\n")
	mustNot(t, os.Remove(filepath.Join(b.repo, "gone.txt")))
	b.run("mv", "old.txt", "new.txt")
	b.write("untracked.txt", "u\n")
	f := b.open("")

	stale := b.compare(f, workingtree.BaseHead, "edit.txt", "").Digest
	b.write("edit.txt", "mine, and more\n")
	checkReason(t, discard(t.Context(), f, "edit.txt", stale), "file_changed")
	checkReason(t, discard(t.Context(), f, "nothing.txt", stale), "file_unchanged")
	var kept []workingtree.Discarded
	for _, path := range []string{"edit.txt", "gone.txt", "new.txt", "untracked.txt"} {
		seen := b.compare(f, workingtree.BaseHead, path, "").Digest
		d, err := f.PlanDiscard(t.Context(), path, seen)
		if err == nil {
			kept, err = append(kept, d), f.Discard(t.Context(), d)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, got := b.status(f, workingtree.BaseHead); len(got) > 0 {
		t.Errorf("left: %+v", got)
	}
	if b.read("edit.txt") != "one\n" || b.read("gone.txt") != "gone\n" || !strings.HasPrefix(b.read("old.txt"), "a line") {
		t.Error("a file was not restored")
	}
	if got := b.run("cat-file", "-p", kept[0].Object); got != "mine, and more" {
		t.Errorf("the discarded content is %q", got)
	}

	// A file that is too large to be shown is not removed after it was changed either.
	b.write("large.txt", strings.Repeat("x", workingtree.MaxText+1))
	seen := b.compare(f, workingtree.BaseHead, "large.txt", "").Digest
	b.write("large.txt", strings.Repeat("y", workingtree.MaxText+1))
	checkReason(t, discard(t.Context(), f, "large.txt", seen), "file_changed")
	mustNot(t, discard(t.Context(), f, "large.txt", b.compare(f, workingtree.BaseHead, "large.txt", "").Digest))
	if kept[1].Object != "" || b.run("cat-file", "-p", kept[3].Object) != "u" {
		t.Errorf("kept %+v", kept)
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.write("b.txt", "b\n")
	b.write("c.txt", "c\n")
	b.write("sub/d.txt", "d\n")
	b.commit("first")
	b.write("a.txt", "a2\n")
	b.write("b.txt", "b2\n")
	mustNot(t, os.Remove(filepath.Join(b.repo, "c.txt")))
	b.write("sub/d.txt", "d2\n")
	b.write("new [x].txt", "n\n")
	b.run("add", "b.txt") // staged, and not asked for
	f := b.open("")
	for _, row := range []struct {
		message string
		paths   []string
		want    string
	}{
		{"x", nil, "commit_nothing"},
		{" \n", []string{"a.txt"}, "commit_message_missing"},
		{"x\x00", []string{"a.txt"}, "commit_message_invalid"},
		{"x", []string{"nothing.txt"}, "file_unchanged"},
		{"x", []string{"../a.txt"}, "path_invalid"},
	} {
		_, err := f.Commit(t.Context(), row.message, row.paths)
		checkReason(t, err, row.want)
	}
	id, err := f.Commit(t.Context(), "Change a\n\n# not a comment to keep\nBody\n", []string{"a.txt", "c.txt", "new [x].txt"})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.run("log", "-1", "--format=%H %an %s"); got != id+" Mara Change a" {
		t.Errorf("got %q", got)
	}
	if got := b.run("show", "--format=", "--name-status", "HEAD"); got != "M\ta.txt\nD\tc.txt\nA\tnew [x].txt" {
		t.Errorf("committed %q", got)
	}
	_, left := b.status(f, workingtree.BaseHead)
	if len(left) != 2 || left["b.txt"].Status != workingtree.Modified {
		t.Errorf("left %+v", left)
	}
	if id, err = b.open("sub").Commit(t.Context(), "Change d", []string{"d.txt"}); err != nil || b.run("rev-parse", "HEAD") != id {
		t.Errorf("in a folder: %v", err)
	}

	b.write(".git/index.lock", "")
	_, err = f.Commit(t.Context(), "x", []string{"b.txt"})
	checkReason(t, err, "git_busy")
	mustNot(t, os.Remove(filepath.Join(b.repo, ".git/index.lock")))
	b.run("config", "--unset", "user.email")
	_, err = b.open("").Commit(t.Context(), "x", []string{"b.txt"})
	checkReason(t, err, "commit_no_identity")
}

// TestWorktree: a session works in a linked working tree, on a branch of its own.
func TestWorktree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.commit("first")
	b.run("worktree", "add", "-q", "-b", "topic", filepath.Join(b.root, "tree"))
	main := b.repo
	b.repo = filepath.Join(b.root, "tree")
	b.write("a.txt", "a2\n")
	f := b.open("")
	s, got := b.status(f, workingtree.BaseHead)
	if s.Branch != "topic" || got["a.txt"].Status != workingtree.Modified {
		t.Fatalf("got %+v", s)
	}
	id, err := f.Commit(t.Context(), "In the tree", []string{"a.txt"})
	if err != nil || b.run("rev-parse", "topic") != id {
		t.Errorf("got %s %v", id, err)
	}
	b.repo = main
	if _, got := b.status(b.open(""), workingtree.BaseHead); len(got) > 0 {
		t.Errorf("the other tree changed: %+v", got)
	}

	// On no branch at all.
	b.run("checkout", "-q", "--detach")
	b.write("a.txt", "a3\n")
	f = b.open("")
	if id, err = f.Commit(t.Context(), "Detached", []string{"a.txt"}); err != nil || b.run("rev-parse", "HEAD") != id {
		t.Errorf("detached: %s %v", id, err)
	}
	if s, _ := b.status(f, workingtree.BaseHead); s.Branch != "" {
		t.Errorf("got %+v", s)
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.commit("first")
	b.run("checkout", "-q", "-b", "topic")
	b.write("a.txt", "topic\n")
	b.commit("topic")
	b.run("checkout", "-q", "main")
	b.write("a.txt", "main\n")
	b.commit("main")
	b.run("config", "alias.try", "!git merge topic >/dev/null || true")
	b.run("try")
	f := b.open("")
	_, got := b.status(f, workingtree.BaseHead)
	if got["a.txt"].Status != workingtree.Conflicted || !got["a.txt"].Uncommitted {
		t.Errorf("got %+v", got)
	}
	_, err := f.Commit(t.Context(), "x", []string{"a.txt"})
	checkReason(t, err, "commit_conflict")
}

func TestLargeAndMany(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	large := strings.Repeat("x", workingtree.MaxText)
	b.write("large.txt", large+"1")
	b.write("fits.txt", large)
	b.commit("first")
	b.write("large.txt", large+"2")
	for i := range 1100 {
		b.write(fmt.Sprintf("many/%04d.txt", i), "x\n")
	}
	f := b.open("")
	s, _ := b.status(f, workingtree.BaseHead)
	if len(s.Changes) != 1000 || !s.More {
		t.Errorf("got %d, more %v", len(s.Changes), s.More)
	}
	counted := 0
	for _, c := range s.Changes {
		if c.Added >= 0 {
			counted++
		}
	}
	if counted > 201 {
		t.Errorf("%d files were read", counted)
	}
	if c := b.compare(f, workingtree.BaseHead, "large.txt", ""); c.Before.State != workingtree.ContentLarge || c.After.State != workingtree.ContentLarge || c.Before.Text+c.After.Text != "" {
		t.Errorf("large: %s %s", c.Before.State, c.After.State)
	}
	if c := b.compare(f, workingtree.BaseHead, "fits.txt", ""); c.Before.State != workingtree.ContentText || len(c.After.Text) != workingtree.MaxText {
		t.Errorf("fits: %s %s", c.Before.State, c.After.State)
	}
	found, more, err := f.Search(t.Context(), "many 07")
	if err != nil || len(found) != 100 || !more {
		t.Errorf("found %d, more %v, %v", len(found), more, err)
	}
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	for _, repository := range []bool{true, false} {
		t.Run(fmt.Sprint(repository), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if !repository {
				mustNot(t, os.RemoveAll(filepath.Join(b.repo, ".git")))
			}
			b.write("z.txt", "z\n")
			b.write("Limiter.go", "package x\n")
			b.write("sub/limiter_test.go", "package x\n")
			b.write("limiter/other.go", "package x\n")
			b.write("image.png", "\x89PNG\r\n\x1a\n\x00")
			b.write("empty/deep/x", "")
			f := b.open("")
			list, more, err := f.List("")
			if err != nil || more {
				t.Fatal(err)
			}
			var names []string
			for _, e := range list {
				names = append(names, string(e.Kind)+" "+e.Name)
			}
			if want := []string{"folder empty", "folder limiter", "folder sub", "file Limiter.go", "file image.png", "file z.txt"}; !slices.Equal(names, want) {
				t.Errorf("got %q, want %q", names, want)
			}
			if list, _, err = f.List("sub"); err != nil || len(list) != 1 || list[0].Name != "limiter_test.go" {
				t.Errorf("got %+v %v", list, err)
			}
			found, _, err := f.Search(t.Context(), "LIMITER go")
			if want := []string{"Limiter.go", "limiter/other.go", "sub/limiter_test.go"}; err != nil || !slices.Equal(found, want) {
				t.Errorf("got %q %v, want %q", found, err, want)
			}
			c, data, err := f.Read("image.png", workingtree.MaxText)
			if err != nil || c.State != workingtree.ContentBinary || !bytes.HasPrefix(data, []byte("\x89PNG")) {
				t.Errorf("got %+v %q %v", c, data, err)
			}
			if c, data, err = f.Read("empty/deep/x", workingtree.MaxText); err != nil || c.State != workingtree.ContentText || data == nil {
				t.Errorf("empty: %+v %v", c, err)
			}
			if s, _ := b.status(f, workingtree.BaseHead); (s.Repository == workingtree.RepositoryFound) != repository {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestSettingsThatCount: harmless settings of the repository apply as in a terminal.
func TestSettingsThatCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("crlf.txt", "a\nb\n")
	b.write("run.sh", "x\n")
	b.commit("first")
	b.run("config", "core.autocrlf", "true")
	b.run("config", "core.fileMode", "false")
	b.write("crlf.txt", "a\r\nb\r\n")
	mustNot(t, os.Chmod(filepath.Join(b.repo, "run.sh"), 0o700))
	b.write(filepath.Join(b.home, "ignore it"), "*.tmp\n")
	b.write(filepath.Join(b.home, ".gitconfig"), "[core]\n\texcludesFile = \"~/ignore it\"\n")
	b.write("x.tmp", "x\n")
	if _, got := b.status(b.open(""), workingtree.BaseHead); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestReadingChangesNothing: what people look at leaves the repository as it was, also while
// somebody else holds the index.
func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.commit("first")
	b.write("a.txt", "b\n")
	b.write(".git/index.lock", "")
	before := b.run("hash-object", ".git/index")
	f := b.open("")
	if _, got := b.status(f, workingtree.BaseHead); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	b.compare(f, workingtree.BaseHead, "a.txt", "")
	f.Close()
	if after := b.run("hash-object", ".git/index"); after != before {
		t.Error("the index was written")
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sayso-git-*", "objects")); len(left) > 0 {
		for _, link := range left {
			if target, _ := os.Readlink(link); strings.HasPrefix(target, b.root) {
				t.Errorf("left %s", link)
			}
		}
	}
}

// What was planned is not done when it would be something else now, nor what nobody planned.
func TestOnlyWhatWasPlannedIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.write("b.txt", "b\n")
	b.commit("first")
	b.write("a.txt", "mine\n")
	b.write("b.txt", "also mine\n")
	f := b.open("")
	head := b.run("rev-parse", "HEAD")

	paths, err := f.PlanCommit(t.Context(), "Change a", []string{"a.txt"})
	if err != nil || !slices.Equal(paths, []string{"a.txt"}) {
		t.Errorf("got %q, %v", paths, err)
	}
	discarded, err := f.PlanDiscard(t.Context(), "a.txt", b.compare(f, workingtree.BaseHead, "a.txt", "").Digest)
	mustNot(t, err)
	for name, change := range map[string]func(d *workingtree.Discarded){
		"another file":    func(d *workingtree.Discarded) { d.Path = "b.txt" },
		"two files":       func(d *workingtree.Discarded) { d.OldPath = "b.txt" },
		"one outside":     func(d *workingtree.Discarded) { d.OldPath = "../secret" },
		"as a new file":   func(d *workingtree.Discarded) { d.Untracked = true },
		"another content": func(d *workingtree.Discarded) { d.Object = head },
	} {
		forged := discarded
		change(&forged)
		if err := f.Discard(t.Context(), forged); err == nil {
			t.Errorf("%s: it was discarded", name)
		}
	}
	b.write("a.txt", "mine, and more\n")
	checkReason(t, f.Discard(t.Context(), discarded), "file_changed")
	if b.read("a.txt") != "mine, and more\n" || b.read("b.txt") != "also mine\n" || b.run("rev-parse", "HEAD") != head || b.run("diff", "--cached", "--name-only") != "" {
		t.Error("a plan has changed something")
	}

	b.commit("second")
	planned, err := f.PlanWorktree(t.Context(), "x", "main")
	mustNot(t, err)
	for name, change := range map[string]func(w *workingtree.NewWorktree){
		"elsewhere":      func(w *workingtree.NewWorktree) { w.Path = filepath.Join(b.root, "x") },
		"other commit":   func(w *workingtree.NewWorktree) { w.Commit = head },
		"other branch":   func(w *workingtree.NewWorktree) { w.Branch = "../x" },
		"without a base": func(w *workingtree.NewWorktree) { w.Base = "--all" },
	} {
		forged := planned
		change(&forged)
		if _, err := f.AddWorktree(t.Context(), forged); err == nil {
			t.Errorf("%s: it was added", name)
		}
	}
	tree := b.add("y")
	tree.write("c.txt", "c\n")
	tree.commit("third")
	w := tree.open("")
	merge, err := w.PlanMerge(t.Context(), tree.worktree().Digest)
	mustNot(t, err)
	merge.To = head
	_, err = w.MergeWorktree(t.Context(), merge)
	checkReason(t, err, "worktree_changed")
	tree.write("c.txt", "more\n")
	removal, err := w.PlanRemoval(t.Context(), tree.worktree().Digest)
	mustNot(t, err)
	tree.write("c.txt", "and more\n") // of the same name, so the digest is the same
	_, err = w.RemoveWorktree(t.Context(), removal)
	checkReason(t, err, "worktree_changed")
	if tree.read("c.txt") != "and more\n" {
		t.Error("a plan has changed something")
	}
}

// The folders of calls that a killed server did not end are removed with the first call of the next, those of
// calls that may still run are not.
func TestSweepRemovesOldFolders(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	kept := t.TempDir()
	b := newBench(t)
	old, recent := filepath.Join(temp, "sayso-git-1"), filepath.Join(temp, "sayso-git-2")
	for _, folder := range []string{old, recent} {
		mustNot(t, os.Mkdir(folder, 0o700))
		mustNot(t, os.Symlink(kept, filepath.Join(folder, "objects")))
	}
	mustNot(t, os.WriteFile(filepath.Join(kept, "object"), nil, 0o600))
	long := time.Now().Add(-2 * time.Hour)
	mustNot(t, os.Chtimes(old, long, long))
	b.open("")
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	for _, path := range []string{recent, filepath.Join(kept, "object")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
