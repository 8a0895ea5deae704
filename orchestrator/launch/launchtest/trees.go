package launchtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// testTrees tests the working tree of a repository that it creates in a folder.
func testTrees(t *testing.T, r launch.Runner, roots workspace.Roots, folder string) {
	t.Helper()
	ctx := t.Context()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused := func(what string, err error, reason string) {
		t.Helper()
		if p := (*problem.Error)(nil); !errors.As(err, &p) || p.Reason != reason {
			t.Errorf("%s: %v, want %s", what, err, reason)
		}
	}
	write("a.txt", "one\n")
	write("secret/b.txt", "one\n")
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Mara")
	git("config", "user.email", "mara@example.org")
	git("add", "--all")
	git("commit", "-q", "-m", "first")
	whole := workingtree.Place{Roots: roots, CWD: folder}
	at := whole
	at.Hidden = []string{filepath.Join(folder, "secret")}
	refused("a folder outside", second(r.TreeSummary(ctx, workingtree.Place{Roots: roots, CWD: "/"})), "folder_outside")

	summary, err := r.TreeSummary(ctx, at)
	if err != nil || summary.Branch != "main" || summary.Uncommitted != 0 || summary.WorktreesFolder != filepath.Join(folder, ".worktrees") {
		t.Errorf("a summary: %+v, %v", summary, err)
	}
	before, err := r.Snapshot(ctx, whole)
	must("a snapshot", err)
	write("a.txt", "two\n")
	write("secret/b.txt", "two\n")
	write("bad\xff", "x")
	for _, base := range []workingtree.Base{workingtree.BaseHead, before} {
		status, err := r.TreeStatus(ctx, at, base)
		if err != nil || len(status.Changes) != 2 || status.Changes[0].Path != "a.txt" || !status.Changes[0].Readable || status.Changes[1].Readable {
			t.Errorf("the changes since %s: %+v, %v", base, status, err)
		}
	}
	const gone = workingtree.Base("snapshot:1111111111111111111111111111111111111111")
	if _, err := r.TreeStatus(ctx, at, gone); !errors.Is(err, workingtree.ErrNoSnapshot) {
		t.Errorf("a snapshot that is gone: %v", err)
	}
	if _, err := r.CompareFile(ctx, at, gone, "a.txt", ""); !errors.Is(err, workingtree.ErrNoSnapshot) {
		t.Errorf("a snapshot that is gone: %v", err)
	}
	seen, err := r.CompareFile(ctx, at, before, "a.txt", "")
	if err != nil || seen.Before.Text != "one\n" || seen.After.Text != "two\n" || seen.Digest == "" {
		t.Errorf("a comparison: %+v, %v", seen, err)
	}
	list, err := r.ListTree(ctx, at, "")
	names := []string{}
	for _, e := range list.Entries {
		if e.Readable {
			names = append(names, e.Name)
		}
	}
	if err != nil || len(list.Entries) != 2 || !slices.Equal(names, []string{"a.txt"}) {
		t.Errorf("a list: %+v, %v", list, err)
	}
	if found, err := r.SearchTree(ctx, at, "txt"); err != nil || !slices.Equal(found.Paths, []string{"a.txt"}) || found.More {
		t.Errorf("a search: %+v, %v", found, err)
	}
	if file, err := r.ReadTreeFile(ctx, at, "bad", 10); err != nil || file.State != workingtree.ContentMissing || file.Data != nil {
		t.Errorf("a missing file: %+v, %v", file, err)
	}
	write("binary", "\xff\x00")
	if file, err := r.ReadTreeFile(ctx, at, "binary", 10); err != nil || file.State != workingtree.ContentBinary || string(file.Data) != "\xff\x00" {
		t.Errorf("a binary file: %+v, %v", file, err)
	}
	if file, err := r.ReadTreeFile(ctx, at, "secret/b.txt", 10); err != nil || file.State != workingtree.ContentOutside || file.Data != nil {
		t.Errorf("a hidden file: %+v, %v", file, err)
	}
	infos, err := r.InspectFiles(ctx, at, []string{filepath.Join(folder, "a.txt"), filepath.Join(folder, "missing")})
	if err != nil || len(infos) != 2 || infos[0].Size != 4 || infos[0].Mode != 0o600 || infos[0].ModTime.IsZero() || infos[0].Missing || !infos[1].Missing {
		t.Errorf("files: %+v, %v", infos, err)
	}
	kept, err := r.KeepFiles(ctx, at, []string{filepath.Join(folder, "a.txt")})
	if err != nil || git("cat-file", "-p", kept[filepath.Join(folder, "a.txt")]) != "two" {
		t.Errorf("kept: %v, %v", kept, err)
	}

	refused("a discard of what was not seen", second(r.PlanDiscard(ctx, at, "a.txt", "")), "file_changed")
	d, err := r.PlanDiscard(ctx, at, "a.txt", seen.Digest)
	must("plan a discard", err)
	must("discard", r.Discard(ctx, at, d))
	refused("discard twice", r.Discard(ctx, at, d), "file_unchanged")
	write("a.txt", "three\n")
	refused("a commit without a message", second(r.PlanCommit(ctx, at, "", []string{"a.txt"})), "commit_message_missing")
	paths, err := r.PlanCommit(ctx, at, "second", []string{"a.txt"})
	if err != nil || !slices.Equal(paths, []string{"a.txt"}) {
		t.Errorf("the plan of a commit: %q, %v", paths, err)
	}
	id, err := r.Commit(ctx, at, "second", []string{"a.txt"})
	if err != nil || git("rev-parse", "HEAD") != id || git("show", "HEAD:a.txt") != "three" {
		t.Errorf("commit %s: %v", id, err)
	}

	if branches, err := r.Branches(ctx, at); err != nil || !slices.Equal(branches, []string{"main"}) {
		t.Errorf("branches: %q, %v", branches, err)
	}
	if to, err := r.WorktreesFolder(ctx, at); err != nil || to != summary.WorktreesFolder {
		t.Errorf("the folder of worktrees: %s, %v", to, err)
	}
	refused("a worktree that would show what is hidden", second(r.PlanWorktree(ctx, at, "topic", "main")), "worktree_hidden")
	planned, err := r.PlanWorktree(ctx, whole, "topic", "main")
	must("plan a worktree", err)
	dir, err := r.AddWorktree(ctx, whole, planned)
	if err != nil || dir != filepath.Join(summary.WorktreesFolder, "topic") {
		t.Fatalf("add a worktree: %s, %v", dir, err)
	}
	refused("what is no worktree", second(r.Worktree(ctx, whole)), "worktree_missing")
	write(".worktrees/topic/c.txt", "c\n")
	tree := whole
	tree.CWD = dir
	id, err = r.Commit(ctx, tree, "third", []string{"c.txt"})
	must("commit in a worktree", err)
	git("commit", "-q", "--allow-empty", "-m", "meanwhile")
	w, err := r.Worktree(ctx, tree)
	if err != nil || w.Folder != dir || w.Head != id || w.Merge != workingtree.MergeReady || w.Uncommitted != 0 {
		t.Errorf("a worktree: %+v, %v", w, err)
	}
	merge, err := r.PlanMerge(ctx, tree, w.Digest)
	must("plan a merge", err)
	if commit, err := r.MergeWorktree(ctx, tree, merge); err != nil || commit != merge.To || git("rev-parse", "main") != commit {
		t.Errorf("merge: %s, %v", commit, err)
	}
	write(".worktrees/topic/d.txt", "d\n")
	w, err = r.Worktree(ctx, tree)
	must("a worktree", err)
	removal, err := r.PlanRemoval(ctx, tree, w.Digest)
	must("plan a removal", err)
	removed, err := r.RemoveWorktree(ctx, tree, removal)
	if err != nil || removed.BranchKept || git("show", removed.Kept+":d.txt") != "d" {
		t.Errorf("remove a worktree: %+v, %v", removed, err)
	}
}

// testCheckpoint tests the copies that a CLI, whose settings folder is config, has made of files in a
// place.
func testCheckpoint(t *testing.T, r launch.Runner, at workingtree.Place, config string) {
	t.Helper()
	saved := filepath.Join(config, "projects/-w", savedID+".jsonl")
	backup := filepath.Join(config, "file-history", savedID, "aa@v1")
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `{"type":"file-history-snapshot","messageId":"`+saidID+`","snapshot":{"messageId":"`+saidID+`","trackedFileBackups":{"a.txt":{"backupFileName":"aa@v1"},"new.txt":{"backupFileName":null}}}}`+"\n"...)
	if err := errors.Join(os.WriteFile(saved, text, 0o600), os.MkdirAll(filepath.Dir(backup), 0o700), os.WriteFile(backup, []byte("before\n"), 0o600),
		os.WriteFile(filepath.Join(at.CWD, "a.txt"), []byte("after\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	found, err := r.CheckpointChanges(t.Context(), at, savedID, saidID)
	if err != nil || len(found.Changes) != 1 || found.Changes[0].Path != "a.txt" || found.Changes[0].Status != workingtree.Modified {
		t.Errorf("the changes since a checkpoint: %+v, %v", found, err)
	}
	c, err := r.CompareCheckpoint(t.Context(), at, savedID, saidID, "a.txt")
	if err != nil || c.Before.Text != "before\n" || c.After.Text != "after\n" {
		t.Errorf("a comparison with a checkpoint: %+v, %v", c, err)
	}
	if p := (*problem.Error)(nil); !errors.As(second(r.CompareCheckpoint(t.Context(), at, savedID, saidID, "b.txt")), &p) || p.Reason != "file_unchanged" {
		t.Errorf("a file without a copy: %v", p)
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
