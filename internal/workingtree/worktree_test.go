package workingtree_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/workingtree"
)

// add adds a worktree, whose folder the bench then stands for.
func (b *bench) add(branch string) (tree *bench) {
	b.t.Helper()
	dir, err := addWorktree(b.t.Context(), b.open(""), branch, "main")
	if err != nil {
		b.t.Fatal(err)
	}
	other := *b
	other.repo = dir
	return &other
}

func (b *bench) worktree() workingtree.Worktree {
	b.t.Helper()
	w, err := b.open("").Worktree(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func (b *bench) merge() (string, error) {
	b.t.Helper()
	return mergeWorktree(b.t.Context(), b.open(""), b.worktree().Digest)
}

func (b *bench) remove() (workingtree.RemovedWorktree, error) {
	b.t.Helper()
	return removeWorktree(b.t.Context(), b.open(""), b.worktree().Digest)
}

// checkMerge checks what a worktree says of its merge, and that a merge refuses for that reason and
// changes nothing.
func (b *bench) checkMerge(main *bench, want workingtree.MergeState, reason string) {
	b.t.Helper()
	if w := b.worktree(); w.Merge != want {
		b.t.Errorf("the merge is %s, not %s", w.Merge, want)
	}
	all := func() string {
		return main.run("for-each-ref") + main.run("status", "--porcelain") + b.run("status", "--porcelain")
	}
	before := all()
	_, err := b.merge()
	checkReason(b.t, err, reason)
	if after := all(); after != before {
		b.t.Errorf("a merge that was refused changed\n%s\ninto\n%s", before, after)
	}
}

func TestWorktreeIsAddedMergedAndRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.write("dir/b.txt", "b\n")
	b.commit("first")
	b.run("config", "core.hooksPath", filepath.Join(b.repo, "hooks"))
	b.write("hooks/post-checkout", "#!/bin/sh\ntouch '"+filepath.Join(b.root, "ran")+"'\n")
	mustNot(t, os.Chmod(filepath.Join(b.repo, "hooks/post-checkout"), 0o700))
	branches, err := b.open("").Branches(t.Context())
	if err != nil || !slices.Equal(branches, []string{"main"}) {
		t.Fatalf("got %q, %v", branches, err)
	}
	tree := b.add("fix/limiter")
	if want := filepath.Join(b.repo, ".worktrees", "fix-limiter"); tree.repo != want || workingtree.WithoutWorktree(want+"/dir") != b.repo+"/dir" {
		t.Errorf("it is at %s", tree.repo)
	}
	// Git itself takes it for a worktree, and nothing of it is a change of the repository.
	if got := tree.run("status", "--porcelain", "--branch"); got != "## fix/limiter" {
		t.Errorf("git says %q", got)
	}
	if got := b.run("status", "--porcelain"); got != "?? hooks/" {
		t.Errorf("git says %q of the repository", got)
	}
	if got := b.run("worktree", "list"); !strings.Contains(got, "fix-limiter") || strings.Contains(got, "locked") {
		t.Errorf("git lists %q", got)
	}
	b.run("fsck", "--strict")
	if w := tree.worktree(); w.Branch != "fix/limiter" || w.Base != "main" || w.Merge != workingtree.MergeNothing || !w.BaseCheckedOut || w.Main != b.repo {
		t.Errorf("got %+v", w)
	}
	for _, row := range []struct{ branch, base, reason string }{
		{"fix/limiter", "main", "branch_exists"}, {"x", "nothing", "branch_missing"}, {"-x", "main", "branch_invalid"}, {"HEAD", "main", "branch_invalid"},
		{"a b", "main", "branch_invalid"}, {"a..b", "main", "branch_invalid"}, {"x", "--all", "branch_missing"}, {"x", "main~0", "branch_missing"},
		{"fix-limiter", "main", "worktree_exists"},
	} {
		_, err := addWorktree(t.Context(), b.open(""), row.branch, row.base)
		checkReason(t, err, row.reason)
	}

	tree.write("a.txt", "two\n")
	tree.write("new.txt", "new\n")
	if w := tree.worktree(); w.Uncommitted != 2 || w.Unmerged != 0 {
		t.Errorf("got %+v", w)
	}
	tree.checkMerge(b, workingtree.MergeUncommitted, "worktree_uncommitted")
	tree.commit("second")
	// The main working tree has local changes that a merge would overwrite.
	b.write("a.txt", "mine\n")
	tree.checkMerge(b, workingtree.MergeBaseChanged, "worktree_base_changed")
	b.run("-c", "core.hooksPath=/dev/null", "checkout", "--", "a.txt")
	// An ignored file there is not overwritten either.
	b.write(".git/info/exclude", "new.txt\n")
	b.write("new.txt", "secret\n")
	_, err = tree.merge()
	checkReason(t, err, "worktree_base_changed")
	mustNot(t, os.Remove(filepath.Join(b.repo, "new.txt")))
	b.write(".git/info/exclude", "")
	stale := tree.worktree().Digest
	tree.write("c.txt", "c\n")
	tree.commit("more")
	_, err = mergeWorktree(t.Context(), tree.open(""), stale)
	checkReason(t, err, "worktree_changed")
	if _, err = tree.merge(); err != nil {
		t.Fatal(err)
	}
	if got := b.run("show", "HEAD:a.txt"); got != "two" || b.run("status", "--porcelain") != "?? hooks/" {
		t.Errorf("main has %q", got)
	}
	tree.checkMerge(b, workingtree.MergeNothing, "worktree_merged")

	// Both go on; the commits are merged.
	tree.write("dir/b.txt", "tree\n")
	tree.commit("third")
	b.write("a.txt", "main\n")
	b.run("commit", "-q", "-am", "fourth")
	objects := b.run("count-objects")
	if w := tree.worktree(); w.Merge != workingtree.MergeReady || b.run("count-objects") != objects {
		t.Errorf("looking at it stored objects, or got %+v", w)
	}
	if _, err = tree.merge(); err != nil {
		t.Fatal(err)
	}
	if b.run("show", "HEAD:dir/b.txt") != "tree" || b.run("show", "HEAD:a.txt") != "main" || b.run("status", "--porcelain") != "?? hooks/" {
		t.Errorf("after a merge: %s", b.run("log", "--oneline", "--graph"))
	}
	// They conflict.
	tree.write("a.txt", "tree\n")
	tree.commit("fifth")
	tree.checkMerge(b, workingtree.MergeConflicts, "worktree_conflicts")
	if w := tree.worktree(); !slices.Equal(w.Conflicts, []string{"a.txt"}) {
		t.Errorf("got %+v", w)
	}

	// Removed with commits and changes that are nowhere else: both can be had back.
	tree.write("staged.txt", "staged\n")
	tree.run("add", "staged.txt")
	tree.write("staged.txt", "later\n")
	tree.write("lost.txt", "not lost\n")
	_, err = removeWorktree(t.Context(), tree.open(""), stale)
	checkReason(t, err, "worktree_changed")
	if _, err := tree.open("").PlanRemoval(t.Context(), tree.worktree().Digest); err != nil {
		t.Error(err)
	}
	if tree.read("lost.txt") != "not lost\n" || b.run("for-each-ref", "refs/sayso") != "" {
		t.Error("a plan has changed something")
	}
	late := tree.open("")
	digest := tree.worktree().Digest
	gone, err := tree.remove()
	if err != nil {
		t.Fatal(err)
	}
	if !gone.BranchKept || b.run("show", gone.Kept+":lost.txt") != "not lost" || b.run("show", gone.Kept+":staged.txt") != "later" ||
		b.run("show", gone.Kept+"^2:staged.txt") != "staged" || b.run("rev-parse", "--verify", "fix/limiter") == "" {
		t.Errorf("got %+v", gone)
	}
	if !strings.Contains(b.run("for-each-ref", "refs/sayso"), gone.Kept) {
		t.Error("no reference keeps it")
	}
	if _, err := os.Lstat(tree.repo); !errors.Is(err, os.ErrNotExist) || strings.Contains(b.run("worktree", "list"), "limiter") {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := removeWorktree(t.Context(), late, digest); err == nil {
		t.Error("it was removed twice")
	}
	if _, err := os.Lstat(filepath.Join(b.root, "ran")); err == nil {
		t.Error("a hook ran")
	}

	// One without anything goes with its branch.
	tree = b.add("empty")
	if gone, err := tree.remove(); err != nil || gone.BranchKept || gone.Kept != "" {
		t.Fatalf("got %+v, %v", gone, err)
	}
	if got := b.run("branch", "--list", "empty"); got != "" {
		t.Errorf("the branch is left: %s", got)
	}
}

// What only a worktree has is named or kept when it is removed.
func TestRemovingAWorktreeLosesNothingUnnamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.write(".gitignore", ".env\ncache/\n")
	b.commit("first")

	tree := b.add("ignored")
	tree.write(".env", "key\n")
	tree.write("cache/x", "x")
	tree.write("cache/y", "y")
	if w := tree.worktree(); w.Uncommitted != 0 || !slices.Equal(w.Ignored, []string{".env", "cache/"}) || w.MoreIgnored {
		t.Errorf("got %+v", w)
	}

	// Commits on no branch.
	tree = b.add("detached")
	tree.run("checkout", "-q", "--detach")
	tree.write("a.txt", "two\n")
	tree.commit("second")
	tip := tree.run("rev-parse", "HEAD")
	if w := tree.worktree(); w.Branch != "" || w.Unmerged != 1 {
		t.Errorf("got %+v", w)
	}
	if gone, err := tree.remove(); err != nil || gone.Kept != tip || !gone.BranchKept {
		t.Errorf("got %+v, %v", gone, err)
	}
	b.run("gc", "-q", "--prune=now")
	b.run("cat-file", "-e", tip)

	// A branch that is not the worktree's stays, though the base has all of it.
	b.run("branch", "other")
	tree = b.add("switched")
	tree.run("checkout", "-q", "other")
	if gone, err := tree.remove(); err != nil || !gone.BranchKept {
		t.Errorf("got %+v, %v", gone, err)
	}
	b.run("rev-parse", "--verify", "refs/heads/other")
	b.run("rev-parse", "--verify", "refs/heads/switched")

	// No commit keeps another repository.
	tree = b.add("nested")
	tree.run("init", "-q", "inner")
	tree.write("inner/x", "x")
	tree.run("-C", "inner", "add", "x")
	tree.run("-C", "inner", "-c", "user.name=M", "-c", "user.email=m@example.org", "commit", "-q", "-m", "inner")
	_, err := tree.remove()
	checkReason(t, err, "worktree_repositories")
	if got := tree.read("inner/x"); got != "x" {
		t.Errorf("got %q", got)
	}

	// The base is gone.
	b.run("branch", "gone")
	dir, err := addWorktree(t.Context(), b.open(""), "orphan", "gone")
	mustNot(t, err)
	b.run("branch", "-q", "-D", "gone")
	tree.repo = dir
	tree.checkMerge(b, workingtree.MergeBaseMissing, "branch_missing")
	if gone, err := tree.remove(); err != nil || !gone.BranchKept {
		t.Errorf("got %+v, %v", gone, err)
	}

	// The base is checked out in a worktree of somebody else, or not at all.
	tree = b.add("elsewhere")
	tree.write("a.txt", "three\n")
	tree.commit("third")
	b.run("checkout", "-q", "other")
	b.run("worktree", "add", "-q", filepath.Join(b.root, "own"), "main")
	tree.checkMerge(b, workingtree.MergeBaseElsewhere, "worktree_base_elsewhere")
	b.run("worktree", "remove", filepath.Join(b.root, "own"))
	if commit, err := tree.merge(); err != nil || b.run("rev-parse", "main") != commit || b.read("a.txt") != "one\n" {
		t.Errorf("got %s, %v", commit, err)
	}
}

// Two merges at once: one of them wins, and the other is told.
func TestMergeFindsTheBaseMoved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.commit("first")
	tree := b.add("x")
	tree.write("x.txt", "x\n")
	tree.commit("second")
	plan, err := tree.open("").PlanMerge(t.Context(), tree.worktree().Digest)
	mustNot(t, err)
	b.write("y.txt", "y\n")
	b.commit("meanwhile")
	_, err = tree.open("").MergeWorktree(t.Context(), plan)
	checkReason(t, err, "worktree_changed")
	if _, err := tree.merge(); err != nil || b.run("show", "HEAD:x.txt") != "x" {
		t.Errorf("got %v", err)
	}
}

// A worktree needs the folder that the session is for, and shows nothing that is hidden.
func TestWorktreesShowWhatTheirRepositoryShows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.commit("first")
	b.run("branch", "old")
	b.write("sub/b.txt", "b\n")
	b.commit("second")
	add := func(branch, base string) (string, error) {
		return addWorktree(t.Context(), b.open("sub"), branch, base)
	}
	if dir, err := add("x", "main"); err != nil || dir != filepath.Join(b.repo, ".worktrees/x/sub") {
		t.Errorf("got %s, %v", dir, err)
	}
	_, err := add("y", "old")
	checkReason(t, err, "worktree_folder_missing")
	b.write("secret/c.txt", "c\n")
	b.commit("third")
	b.hidden = filepath.Join(b.repo, "secret")
	_, err = add("z", "main")
	checkReason(t, err, "worktree_hidden")
}

// A folder is not ours because of a file that Claude can write.
func TestOnlyWorktreesWhereTheyWereCreatedAreOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.commit("first")
	b.add("x")
	marker, err := os.ReadFile(filepath.Join(b.repo, ".git/worktrees/sayso-x/sayso.json"))
	mustNot(t, err)
	b.run("worktree", "add", "-q", filepath.Join(b.root, "own"), "-b", "own")
	b.write(".git/worktrees/own/sayso.json", string(marker))
	other := *b
	other.repo = filepath.Join(b.root, "own")
	_, err = other.open("").Worktree(t.Context())
	checkReason(t, err, "worktree_missing")
	_, err = b.open("").Worktree(t.Context()) // the main one
	checkReason(t, err, "worktree_missing")
}

// What a killed server leaves of a worktree is removed, and nothing else.
func TestWorktreeAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.commit("first")
	lock := filepath.Join(b.repo, ".git/refs/heads/cut.lock")
	mustNot(t, os.WriteFile(lock, nil, 0o600))
	_, err := addWorktree(t.Context(), b.open(""), "cut", "main")
	checkReason(t, err, "git_busy")
	mustNot(t, os.Remove(lock))
	if b.run("branch", "--list", "cut") != "" || strings.Contains(b.run("worktree", "list"), "cut") {
		t.Error("a call that failed halfway left something")
	}
	tree := b.add("half")
	admin := filepath.Join(b.repo, ".git/worktrees/sayso-half")
	text, err := os.ReadFile(filepath.Join(admin, "sayso.json"))
	mustNot(t, err)
	mustNot(t, os.WriteFile(filepath.Join(admin, "sayso.json"), []byte(strings.Replace(string(text), `"ready":true`, `"ready":false`, 1)), 0o600))
	long := time.Now().Add(-time.Hour)
	mustNot(t, os.Chtimes(admin, long, long))
	// In this one somebody has worked.
	worked := b.add("worked")
	worked.write("a.txt", "mine\n")
	mark := filepath.Join(b.repo, ".git/worktrees/sayso-worked")
	text, err = os.ReadFile(filepath.Join(mark, "sayso.json"))
	mustNot(t, err)
	mustNot(t, os.WriteFile(filepath.Join(mark, "sayso.json"), []byte(strings.Replace(string(text), `"ready":true`, `"ready":false`, 1)), 0o600))
	mustNot(t, os.Chtimes(mark, long, long))
	b.write(".worktrees/.removing-x/a.txt", "x")
	b.run("worktree", "add", "-q", filepath.Join(b.root, "own"), "-b", "own")
	b.add("next")
	for _, path := range []string{tree.repo, admin, filepath.Join(b.repo, ".worktrees/.removing-x")} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if got := worked.read("a.txt"); got != "mine\n" {
		t.Errorf("work was lost: %q", got)
	}
	if b.run("branch", "--list", "half") != "" || !strings.Contains(b.run("worktree", "list"), "own") {
		t.Errorf("git lists %s", b.run("worktree", "list"))
	}
}

// A link in place of a folder leads nowhere.
func TestWorktreesFollowNoLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".worktrees", ".git/worktrees"} {
		b := newBench(t)
		b.write("a.txt", "one\n")
		b.commit("first")
		outside := t.TempDir()
		mustNot(t, os.Symlink(outside, filepath.Join(b.repo, name)))
		_, err := addWorktree(t.Context(), b.open(""), "x", "main")
		checkReason(t, err, "worktree_no_repository")
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: created %v", name, left)
		}
	}
}
