package workingtree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// TestRepositoryRunsNoProgram: every setting, hook and attribute with which a repository can
// name a program names one that leaves a mark. First git itself must leave one for some of them,
// or the test proves nothing.
func TestRepositoryRunsNoProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.write("b.txt", "one\n")
	b.write("sub/c.txt", "one\n")
	b.commit("first")
	b.run("checkout", "-q", "-b", "topic")

	marks := filepath.Join(filepath.Dir(b.root), "marks")
	if err := os.Mkdir(marks, 0o700); err != nil {
		t.Fatal(err)
	}
	evil := func(name string) string {
		path := filepath.Join(b.root, "evil-"+name)
		b.write(path, fmt.Sprintf("#!/bin/sh\ntouch '%s/%s'\ncat\n", marks, name))
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy", "core.alternateRefsCommand",
		"diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
		"merge.evil.driver", "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "credential.helper",
		"interactive.diffFilter", "sequence.editor", "uploadpack.packObjectsHook", "trailer.evil.command", "pager.status", "pager.diff",
	} {
		b.run("config", key, evil(strings.ReplaceAll(key, ".", "-")))
	}
	for _, kv := range [][2]string{
		{"commit.gpgSign", "true"}, {"gpg.format", "ssh"}, {"user.signingKey", "none"}, {"gc.auto", "1"}, {"filter.evil.required", "true"},
		{"alias.status", "!" + evil("alias")}, {"remote.origin.url", "ext::" + evil("remote")}, {"remote.origin.promisor", "true"},
		{"protocol.ext.allow", "always"}, {"diff.submodule", "diff"}, {"status.submoduleSummary", "true"},
	} {
		b.run("config", kv[0], kv[1])
	}
	for _, hook := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change", "reference-transaction",
		"pre-auto-gc", "post-rewrite", "fsmonitor-watchman",
	} {
		b.write(".git/hooks/"+hook, "#!/bin/sh\ntouch '"+marks+"/hook-"+hook+"'\n")
		if err := os.Chmod(filepath.Join(b.repo, ".git/hooks", hook), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.write(".git/info/attributes", "*.txt diff=evil merge=evil\n")
	b.write("a.txt", "two\n")
	b.write("b.txt", "two\n")
	b.write("new.txt", "new\n")

	left := func() (names []string) {
		entries, err := os.ReadDir(marks)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
			if err := os.Remove(filepath.Join(marks, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		return names
	}
	b.run("diff")
	if got := strings.Join(left(), " "); !strings.Contains(got, "core-fsmonitor") || !strings.Contains(got, "diff-e") {
		t.Fatalf("plain git ran only %q: the attack does not work, so its failure means nothing", got)
	}

	f := b.open("")
	s, found := b.status(f, workingtree.BaseBranch)
	if len(found) != 3 || s.Base != workingtree.BaseBranch {
		t.Errorf("got %+v", s)
	}
	for path := range found {
		b.compare(f, workingtree.BaseHead, path, "")
	}
	if _, _, err := f.Search(t.Context(), "txt"); err != nil {
		t.Error(err)
	}
	seen := b.compare(f, workingtree.BaseHead, "a.txt", "")
	if err := discard(t.Context(), f, "a.txt", seen.Digest); err != nil {
		t.Error(err)
	}
	if _, err := f.Commit(t.Context(), "change b", []string{"b.txt", "new.txt"}); err != nil {
		t.Error(err)
	}
	if got := left(); len(got) > 0 {
		t.Errorf("the repository ran %q", got)
	}
	if got := b.read("a.txt"); got != "one\n" {
		t.Errorf("after discard: %q", got)
	}

	// A filter would have to run: what it would write is refused instead.
	b.write(".gitattributes", "*.txt filter=evil\n")
	b.write("b.txt", "three\n")
	left()
	b.status(f, workingtree.BaseHead)
	seen = b.compare(f, workingtree.BaseHead, "b.txt", "")
	err := discard(t.Context(), f, "b.txt", seen.Digest)
	checkReason(t, err, "file_filtered")
	_, err = f.Commit(t.Context(), "x", []string{"b.txt"})
	checkReason(t, err, "file_filtered")
	if got := left(); len(got) > 0 {
		t.Errorf("with a filter, the repository ran %q", got)
	}
}

func checkReason(t *testing.T, err error, reason string) {
	t.Helper()
	var p *problem.Error
	if !errors.As(err, &p) || p.Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
	}
}

// TestSubmoduleRunsNoProgram: git status looks into submodules, with their settings.
func TestSubmoduleRunsNoProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inner := filepath.Join(b.repo, "inner")
	b.write("inner/x.txt", "one\n")
	outer := b.repo
	b.repo = inner
	b.run("init", "-q", "-b", "main")
	b.run("config", "user.name", "M")
	b.run("config", "user.email", "m@example.org")
	b.commit("inner")
	mark := filepath.Join(b.root, "mark")
	b.write(filepath.Join(b.root, "evil"), "#!/bin/sh\ntouch '"+mark+"'\n")
	if err := os.Chmod(filepath.Join(b.root, "evil"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.run("config", "core.fsmonitor", filepath.Join(b.root, "evil"))
	b.repo = outer
	b.write(".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n")
	b.run("-c", "advice.addEmbeddedRepo=false", "add", "--all")
	b.run("commit", "-q", "-m", "outer")
	b.write("inner/x.txt", "two\n")
	_ = os.Remove(mark)
	b.run("status")
	if _, err := os.Stat(mark); err != nil {
		t.Fatal("plain git ran nothing: the attack does not work")
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	f := b.open("")
	b.status(f, workingtree.BaseHead)
	b.compare(f, workingtree.BaseHead, "inner", "")
	if _, err := os.Stat(mark); err == nil {
		t.Error("a submodule ran a program")
	}
}

// TestRepositoryElsewhere: a repository whose parts are outside the roots, or hidden from the
// person, is not read.
func TestRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(b *bench, other string){
		"a .git file": func(b *bench, other string) { b.write(".git", "gitdir: "+other+"/.git\n") },
		"a linked .git": func(b *bench, other string) {
			mustNot(b.t, os.Symlink(filepath.Join(other, ".git"), filepath.Join(b.repo, ".git")))
		},
		"linked objects": func(b *bench, other string) {
			mustNot(b.t, os.Rename(filepath.Join(b.repo, "git.old"), filepath.Join(b.repo, ".git")))
			mustNot(b.t, os.RemoveAll(filepath.Join(b.repo, ".git/objects")))
			mustNot(b.t, os.Symlink(filepath.Join(other, ".git/objects"), filepath.Join(b.repo, ".git/objects")))
		},
		"alternates": func(b *bench, other string) {
			mustNot(b.t, os.Rename(filepath.Join(b.repo, "git.old"), filepath.Join(b.repo, ".git")))
			b.write(".git/objects/info/alternates", filepath.Join(other, ".git/objects")+"\n")
		},
		"a common folder": func(b *bench, other string) {
			mustNot(b.t, os.Rename(filepath.Join(b.repo, "git.old"), filepath.Join(b.repo, ".git")))
			b.write(".git/commondir", filepath.Join(other, ".git")+"\n")
		},
		"a working tree": func(b *bench, other string) {
			mustNot(b.t, os.Rename(filepath.Join(b.repo, "git.old"), filepath.Join(b.repo, ".git")))
			b.run("config", "core.worktree", other)
		},
	} {
		for _, hidden := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s hidden=%v", name, hidden), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				other := filepath.Join(filepath.Dir(b.root), "other")
				if hidden {
					other = filepath.Join(b.root, "other")
					b.hidden = other
				}
				mine := b.repo
				b.repo = other
				b.write("secret.txt", "of others\n")
				b.run("init", "-q", "-b", "main")
				b.run("config", "user.name", "M")
				b.run("config", "user.email", "m@example.org")
				b.commit("secret")
				b.repo = mine
				mustNot(t, os.Rename(filepath.Join(b.repo, ".git"), filepath.Join(b.repo, "git.old")))
				plant(b, other)
				f := b.open("")
				s, _ := b.status(f, workingtree.BaseHead)
				if s.Repository == workingtree.RepositoryFound || len(s.Changes) > 0 {
					t.Errorf("got %+v", s)
				}
				if c := b.compare(f, workingtree.BaseHead, "secret.txt", ""); c.Before.State != workingtree.ContentMissing || c.After.State != workingtree.ContentMissing {
					t.Errorf("got %+v", c)
				}
			})
		}
	}
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFilesElsewhere: no path, link, or special file leads out of the folder, blocks, or shows
// the repository itself.
func TestFilesElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(filepath.Join(filepath.Dir(b.root), "secret"), "outside\n")
	b.hidden = filepath.Join(b.repo, "hidden")
	b.write("hidden/h.txt", "hidden\n")
	b.write("a.txt", "a\n")
	b.write("dir/b.txt", "b\n")
	b.commit("first")
	for link, target := range map[string]string{
		"out": "../../secret", "outdir": "../..", "tohidden": "hidden/h.txt", "hiddendir": "hidden", "inside": "a.txt", "insidedir": "dir",
	} {
		mustNot(t, os.Symlink(target, filepath.Join(b.repo, link)))
	}
	mustNot(t, syscall.Mkfifo(filepath.Join(b.repo, "pipe"), 0o600))
	mustNot(t, os.Remove(filepath.Join(b.repo, "dir/b.txt")))
	mustNot(t, syscall.Mkfifo(filepath.Join(b.repo, "dir/b.txt"), 0o600))
	mustNot(t, os.Link(filepath.Join(b.repo, "a.txt"), filepath.Join(b.repo, "hard.txt")))
	b.write("hidden/h.txt", "hidden, changed\n")
	f := b.open("")

	for path, want := range map[string]workingtree.ContentState{
		"out": workingtree.ContentLink, "tohidden": workingtree.ContentLink, "inside": workingtree.ContentLink,
		"outdir/secret": workingtree.ContentOutside, "hiddendir/h.txt": workingtree.ContentOutside, "hidden/h.txt": workingtree.ContentOutside,
		"pipe": workingtree.ContentOther, "dir/b.txt": workingtree.ContentOther, "dir": workingtree.ContentOther,
		"hard.txt": workingtree.ContentOutside, "nothing": workingtree.ContentMissing,
	} {
		c, data, err := f.Read(path, workingtree.MaxText)
		if err != nil || c.State != want || strings.Contains(string(data)+c.Text, "outside\n") || strings.Contains(string(data), "hidden") {
			t.Errorf("%s: got %+v %q %v, want %s", path, c, data, err, want)
		}
	}
	for _, path := range []string{"", "/etc/passwd", "../../secret", "dir/../../../secret", ".git/config", "dir/.GIT/config", "a\x00b", "\xff"} {
		_, _, err := f.Read(path, workingtree.MaxText)
		checkReason(t, err, "path_invalid")
		if path != "" {
			_, _, err = f.List(path)
			checkReason(t, err, "path_invalid")
		}
		_, err = f.Compare(t.Context(), workingtree.BaseHead, path, "")
		checkReason(t, err, "path_invalid")
		if path != "" {
			_, err = f.Compare(t.Context(), workingtree.BaseHead, "a.txt", path)
			checkReason(t, err, "path_invalid")
		}
		checkReason(t, discard(t.Context(), f, path, ""), "path_invalid")
	}
	for _, path := range []string{"outdir", "hidden", "hiddendir", "insidedir", "pipe", "a.txt", "nothing"} {
		_, _, err := f.List(path)
		checkReason(t, err, "path_not_found")
	}
	list, _, err := f.List("")
	mustNot(t, err)
	for _, e := range list {
		if e.Name == ".git" || e.Name == "hidden" {
			t.Errorf("the list has %s", e.Name)
		}
	}
	_, found := b.status(f, workingtree.BaseHead)
	if _, ok := found["hidden/h.txt"]; ok || found["dir/b.txt"].Status == "" {
		t.Errorf("got %+v", found)
	}
	if c := b.compare(f, workingtree.BaseHead, "hidden/h.txt", ""); c.Before.State != workingtree.ContentOutside || c.After.State != workingtree.ContentOutside {
		t.Errorf("got %+v", c)
	}
	if c := b.compare(f, workingtree.BaseHead, "a.txt", "hidden/h.txt"); c.Before.State != workingtree.ContentOutside {
		t.Errorf("got %+v", c)
	}
	all, _, err := f.Search(t.Context(), "h.txt")
	if err != nil || len(all) > 0 {
		t.Errorf("search found %v %v", all, err)
	}

	// Outside of the roots there is nothing at all.
	_, err = b.git.Open(t.Context(), workingtree.Place{Roots: workspace.Roots{b.root}, CWD: filepath.Dir(b.root)})
	checkReason(t, err, "folder_outside")
}

// TestRepositoryAboveRoots: a repository above the roots is not found from inside them.
func TestRepositoryAboveRoots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("inner/a.txt", "a\n")
	f, err := b.git.Open(t.Context(), workingtree.Place{
		Roots: workspace.Roots{filepath.Join(b.repo, "inner")}, CWD: filepath.Join(b.repo, "inner"),
	})
	mustNot(t, err)
	defer f.Close()
	if f.State != workingtree.RepositoryMissing {
		t.Errorf("got %s", f.State)
	}
}

// TestDiscardDoesNotFollowLinks: a folder that became a link loses nothing on its other side.
func TestDiscardDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("dir/a.txt", "a\n")
	b.commit("first")
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	b.write(filepath.Join(outside, "a.txt"), "precious\n")
	mustNot(t, os.RemoveAll(filepath.Join(b.repo, "dir")))
	mustNot(t, os.Symlink(outside, filepath.Join(b.repo, "dir")))
	f := b.open("")
	seen := b.compare(f, workingtree.BaseHead, "dir/a.txt", "")
	err := discard(t.Context(), f, "dir/a.txt", seen.Digest)
	if data, readErr := os.ReadFile(filepath.Join(outside, "a.txt")); readErr != nil || string(data) != "precious\n" {
		t.Errorf("discard (%v) reached through a link: %q %v", err, data, readErr)
	}
}
