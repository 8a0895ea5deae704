package workingtree

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// MergeState reports whether the branch of a worktree can be merged into its base, or why not.
type MergeState string

const (
	MergeReady         MergeState = "ready"
	MergeNothing       MergeState = "nothing"        // the base has all commits
	MergeUncommitted   MergeState = "uncommitted"    // the worktree has uncommitted changes
	MergeConflicts     MergeState = "conflicts"      // see Worktree.Conflicts
	MergeBaseChanged   MergeState = "base_changed"   // the merge would overwrite uncommitted changes where the base is checked out
	MergeBaseElsewhere MergeState = "base_elsewhere" // the base is checked out in a worktree that is not the main one
	MergeBaseMissing   MergeState = "base_missing"   // there is no such branch any more
	MergeNoIdentity    MergeState = "no_identity"    // a merge commit is needed, and the settings name no committer
)

// Worktree is a working tree that AddWorktree has created.
type Worktree struct {
	Folder string // the one that the person views, absolute and without symbolic links
	Branch string // the one checked out in it; "" when HEAD is detached
	Base   string // the branch that it was created from, and is merged into
	Head   string // id of its last commit
	// Uncommitted is the number of files that differ from the last commit. Ignored files do not
	// count.
	Uncommitted int
	Unmerged    int // commits that Base lacks or, if Base is missing, commits since the creation
	Merge       MergeState
	Conflicts   []string // up to maxNamed paths
	// Main is the folder of the main working tree, absolute.
	Main string
	// BranchKept reports that removing the worktree leaves the branch, because it has commits that
	// its base lacks, or because it is not the one that was created with the worktree.
	BranchKept bool
	// BaseCheckedOut reports that Base is checked out in Main, so that a merge changes files there.
	BaseCheckedOut bool
	// Ignored lists up to maxNamed files and folders that git ignores, folders with a trailing
	// slash. They are in no commit. MoreIgnored means that there are more.
	Ignored     []string
	MoreIgnored bool
	// Digest changes with the branch, its last commit, and the names of the files that differ from
	// it, including ignored ones.
	Digest string
}

const (
	// treesFolder holds the worktrees. It is in the repository's main working tree, so that they
	// are inside the same roots. Git ignores it.
	treesFolder = ".worktrees"
	// adminPrefix begins the names of the worktrees' folders in the repository.
	adminPrefix = "sayso-"
	markerName  = "sayso.json"
	removing    = ".removing-"
	keptRefs    = "refs/sayso/removed/"
	// unfinishedAfter is the age from which an unfinished creation counts as interrupted. It
	// exceeds writeTimeout.
	unfinishedAfter = 10 * time.Minute
	maxBranches     = 500
	maxNamed        = 20
	maxTreeListing  = 64 << 20 // bytes of the names of all files of a commit
)

// marker is the content of a file in the repository that marks a working tree as ours.
type marker struct {
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Commit string `json:"commit"` // of Branch when it was created
	Ready  bool   `json:"ready"`
}

// tree is a working tree of the repository: the main one, or a linked one.
type tree struct{ gitDir, top string }

// in runs a git command in a working tree of the repository. It returns the output without the
// line break at its end.
func (f *Folder) in(ctx context.Context, t tree, c call) (string, error) {
	c.dir = t.top
	c.env = append([]string{
		"GIT_DIR=" + t.gitDir, "GIT_COMMON_DIR=" + f.common, "GIT_WORK_TREE=" + t.top,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
	}, c.env...)
	out, cut, err := f.git.run(ctx, c)
	if cut {
		return "", problem.New("git_failed", "detail", "the list of files is too long")
	}
	return strings.TrimRight(string(out), "\n"), err
}

// here returns the working tree of the folder, and main the one that contains the repository.
func (f *Folder) here() tree { return tree{f.gitDir, f.top} }
func (f *Folder) main() tree { return tree{f.commonDir, filepath.Dir(f.commonDir)} }

// treeOf returns the paths of the worktree of ours whose folder has this name.
func (f *Folder) treeOf(name string) tree {
	return tree{filepath.Join(f.commonDir, "worktrees", adminPrefix+name), filepath.Join(f.main().top, treesFolder, name)}
}

// branchName matches the allowed names of a new branch, a subset of those that git accepts.
var branchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

// commitOf returns the commit of a branch, "" if there is no such branch. name is not parsed as a
// revision.
func (f *Folder) commitOf(ctx context.Context, name string) (string, error) {
	out, err := f.in(ctx, f.here(), call{args: []string{"show-ref", "--verify", "--hash", "refs/heads/" + name}})
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return "", nil
	}
	return out, err
}

// Branches lists the local branches, those with the newest commits first, up to maxBranches.
func (f *Folder) Branches(ctx context.Context) (all []string, err error) {
	if f.State != RepositoryFound {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	out, err := f.in(ctx, f.here(), call{args: []string{"for-each-ref", "--sort=-committerdate", "--count=" + strconv.Itoa(maxBranches), "--format=%(refname:lstrip=2)", "refs/heads/"}})
	if err != nil {
		return nil, failed(err)
	}
	return strings.Fields(out), nil // no branch has a space in its name
}

// WorktreesFolder returns the absolute path of the folder in which AddWorktree creates worktrees, ""
// if it cannot create any: without a repository, if the repository is not in its main working tree, as
// with a submodule, or if the person may not see that tree.
func (f *Folder) WorktreesFolder() string {
	if f.State != RepositoryFound || filepath.Base(f.commonDir) != ".git" || !f.shows(f.main().top) {
		return ""
	}
	return filepath.Join(f.main().top, treesFolder)
}

// WithoutWorktree maps a folder in a worktree that AddWorktree created to the corresponding folder in
// the main working tree. It returns any other folder unchanged.
func WithoutWorktree(folder string) string {
	before, after, found := strings.Cut(folder, "/"+treesFolder+"/")
	if !found {
		return folder
	}
	_, rest, _ := strings.Cut(after, "/")
	return filepath.Join(before, rest)
}

// NewWorktree is a plan for AddWorktree.
type NewWorktree struct {
	Branch, Base string
	Commit       string // of both branches
	Path         string // of the working tree, absolute
}

// PlanWorktree returns what AddWorktree would create: a working tree on a new branch that starts at
// base. It changes nothing.
func (f *Folder) PlanWorktree(ctx context.Context, branch, base string) (w NewWorktree, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if f.WorktreesFolder() == "" {
		return w, problem.For("cwd", "worktree_no_repository")
	}
	if !branchName.MatchString(branch) {
		return w, problem.For("branch", "branch_invalid")
	}
	if _, err := f.in(ctx, f.here(), call{args: []string{"check-ref-format", "--branch", branch}}); err != nil {
		return w, problem.For("branch", "branch_invalid")
	}
	commit, err := f.commitOf(ctx, base)
	if err != nil {
		return w, err
	}
	if commit == "" {
		return w, problem.For("base", "branch_missing", "branch", base)
	}
	if taken, err := f.commitOf(ctx, branch); err != nil {
		return w, err
	} else if taken != "" {
		return w, problem.For("branch", "branch_exists", "branch", branch)
	}
	if err := f.checkTree(ctx, commit, base); err != nil {
		return w, err
	}
	return NewWorktree{Branch: branch, Base: base, Commit: commit, Path: f.newTree(branch).top}, nil
}

// newTree returns the paths of the worktree for a new branch.
func (f *Folder) newTree(branch string) tree { return f.treeOf(strings.ReplaceAll(branch, "/", "-")) }

// AddWorktree creates a working tree, and returns the folder in it that corresponds to f, absolute.
// It refuses if the plan would be different now. If the server ends before the call returns, a later
// call removes what is left.
func (f *Folder) AddWorktree(ctx context.Context, w NewWorktree) (dir string, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch now, err := f.PlanWorktree(ctx, w.Branch, w.Base); {
	case err != nil:
		return "", err
	case now != w:
		return "", problem.New("worktree_changed")
	}
	if err := f.sweep(ctx); err != nil {
		return "", err
	}
	t := f.newTree(w.Branch)
	m := marker{Branch: w.Branch, Base: w.Base, Commit: w.Commit}
	if err := f.git.o.As(func() error { return f.prepare(t, m) }); err != nil {
		return "", err
	}
	created := false
	if _, err = f.in(ctx, f.here(), call{args: []string{"update-ref", "refs/heads/" + w.Branch, w.Commit, strings.Repeat("0", len(w.Commit))}}); err == nil {
		created = true
		_, err = f.in(ctx, t, call{args: []string{"read-tree", "-m", "-u", "HEAD"}, locks: true})
	}
	if err == nil {
		m.Ready = true
		err = f.git.o.As(func() error {
			return errors.Join(writeMarker(t.gitDir, m), os.Remove(filepath.Join(t.gitDir, "locked")))
		})
	}
	if err != nil {
		return "", errors.Join(failed(err), f.undo(context.WithoutCancel(ctx), t, m, created))
	}
	return filepath.Join(t.top, f.prefix), nil
}

// checkTree refuses a commit if a copy of it would show files that are hidden from the person, if a
// filter program would have to transform its files, or if it lacks the folder of f.
func (f *Folder) checkTree(ctx context.Context, commit, base string) error {
	names, err := f.in(ctx, f.here(), call{args: []string{"ls-tree", "-r", "-z", "--full-tree", "--name-only", commit}, limit: maxTreeListing})
	if err != nil {
		return failed(err)
	}
	found := f.prefix == ""
	for name := range strings.SplitSeq(names, "\x00") {
		if !f.place.Visible(filepath.Join(f.main().top, name)) {
			return problem.For("cwd", "worktree_hidden")
		}
		found = found || strings.HasPrefix(name, f.prefix)
	}
	if !found {
		return problem.For("base", "worktree_folder_missing", "branch", base, "folder", strings.TrimSuffix(f.prefix, "/"))
	}
	return f.refuseFilters(ctx, names)
}

// refuseFilters refuses files that a filter program would have to transform. names are from git -z.
func (f *Folder) refuseFilters(ctx context.Context, names string) error {
	out, err := f.in(ctx, f.here(), call{args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: []byte(names), limit: 4 * maxTreeListing})
	if err != nil {
		return failed(err)
	}
	return refuseFiltered(records([]byte(out), false))
}

// prepare creates the files that make a folder a working tree, or none if it fails. It runs as the
// user of sessions.
func (f *Folder) prepare(t tree, m marker) error {
	for _, folder := range []string{filepath.Dir(t.gitDir), filepath.Dir(t.top)} {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("workingtree: %w", err)
		}
		// A link would lead elsewhere.
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
			return problem.For("cwd", "worktree_no_repository")
		}
	}
	ignore := filepath.Join(filepath.Dir(t.top), ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o644); err != nil {
			return fmt.Errorf("workingtree: %w", err)
		}
	}
	// Whoever creates the folder in the repository owns the name.
	if err := makeNew(t.gitDir, t.top); err != nil {
		return err
	}
	err := makeNew(t.top, t.top)
	if err == nil {
		err = writeMarker(t.gitDir, m)
	} else {
		t.top = "" // somebody else's
	}
	for _, file := range [][2]string{
		{filepath.Join(t.gitDir, "locked"), "sayso is creating it\n"},
		{filepath.Join(t.gitDir, "commondir"), "../..\n"},
		{filepath.Join(t.gitDir, "gitdir"), filepath.Join(t.top, ".git") + "\n"},
		{filepath.Join(t.gitDir, "HEAD"), "ref: refs/heads/" + m.Branch + "\n"},
		{filepath.Join(t.top, ".git"), "gitdir: " + t.gitDir + "\n"},
	} {
		if err == nil {
			err = os.WriteFile(file[0], []byte(file[1]), 0o644)
		}
	}
	if err != nil {
		if t.top != "" {
			_ = os.RemoveAll(t.top)
		}
		_ = os.RemoveAll(t.gitDir)
	}
	return err
}

// makeNew creates a folder for the worktree at path.
func makeNew(folder, path string) error {
	err := os.Mkdir(folder, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return problem.For("branch", "worktree_exists", "path", path)
	}
	if err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	return nil
}

func writeMarker(gitDir string, m marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	path := filepath.Join(gitDir, markerName)
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	return nil
}

// readMarker reads the marker of a worktree. Claude can write it, too, so its fields are checked.
func readMarker(gitDir string) (m marker, ok bool) {
	text, err := readSmall(filepath.Join(gitDir, markerName))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return m, false
	}
	return m, branchName.MatchString(m.Branch) && m.Base != "" && objectID.MatchString(m.Commit)
}

var objectID = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// undo removes an incomplete working tree and, if withBranch, its branch, unless somebody has
// committed to it.
func (f *Folder) undo(ctx context.Context, t tree, m marker, withBranch bool) error {
	if err := f.git.o.As(func() error { return f.clear(t) }); err != nil || !withBranch {
		return err
	}
	_, err := f.in(ctx, f.main(), call{args: []string{"update-ref", "-d", "refs/heads/" + m.Branch, m.Commit}})
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return nil // there is no branch, or it has moved and stays
	}
	return err
}

// clear deletes a working tree. It renames the tree first, so that it disappears at once. It
// returns [fs.ErrNotExist] if somebody else has removed the tree.
func (f *Folder) clear(t tree) error {
	gone := filepath.Join(filepath.Dir(t.top), removing+rand.Text())
	missing := os.Rename(t.top, gone)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("workingtree: %w", missing)
	}
	if err := errors.Join(os.RemoveAll(t.gitDir), os.RemoveAll(gone)); err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	return missing
}

// sweep removes what is left of working trees if a server ended while it created or removed them. A
// tree that holds more than files of its original commit stays, because somebody may have worked in
// it.
func (f *Folder) sweep(ctx context.Context) error {
	type left struct {
		marker
		empty bool
	}
	unfinished := map[tree]left{}
	err := f.git.o.As(func() error {
		removed, err := filepath.Glob(filepath.Join(f.main().top, treesFolder, removing+"*"))
		for _, folder := range removed {
			err = errors.Join(err, os.RemoveAll(folder))
		}
		admin, more := filepath.Glob(filepath.Join(f.commonDir, "worktrees", adminPrefix+"*"))
		for _, gitDir := range admin {
			t := f.treeOf(strings.TrimPrefix(filepath.Base(gitDir), adminPrefix))
			info, statErr := os.Lstat(gitDir)
			if statErr != nil || !info.IsDir() {
				continue
			}
			m, ours := readMarker(gitDir)
			_, topErr := os.Lstat(t.top)
			empty := errors.Is(topErr, fs.ErrNotExist)
			if ours && (!m.Ready && time.Since(info.ModTime()) > unfinishedAfter || m.Ready && empty) {
				unfinished[t] = left{m, empty}
			}
		}
		return errors.Join(err, more)
	})
	if err != nil {
		return fmt.Errorf("workingtree: sweep: %w", err)
	}
	for t, l := range unfinished {
		if !l.empty && !f.isPart(ctx, t, l.marker) {
			continue
		}
		if err := f.undo(ctx, t, l.marker, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isPart reports whether a working tree holds only files of the commit that it was created from. Some
// of them may be missing.
func (f *Folder) isPart(ctx context.Context, t tree, m marker) bool {
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(f.common, "sayso-part")}
	if _, err := f.in(ctx, t, call{args: []string{"read-tree", m.Commit}, env: index, locks: true}); err != nil {
		return false
	}
	out, err := f.in(ctx, t, call{args: []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored"}, env: index})
	return err == nil && !slices.ContainsFunc(records([]byte(out), false), func(r string) bool {
		return !strings.HasPrefix(r, " D ") && !strings.HasPrefix(r, "AD ") // not written yet; AD if the branch is missing
	})
}

// mark returns the marker of the folder's working tree, or false if AddWorktree has not created that
// tree in this place.
func (f *Folder) mark() (m marker, ours bool, err error) {
	if f.WorktreesFolder() == "" || f.here() != f.treeOf(filepath.Base(f.top)) {
		return m, false, nil
	}
	err = f.git.o.As(func() error { m, ours = readMarker(f.gitDir); return nil })
	return m, ours && m.Ready, err
}

// Worktree describes the working tree of the folder. It returns a [problem.Error] if AddWorktree has
// not created that tree. It changes nothing.
func (f *Folder) Worktree(ctx context.Context) (Worktree, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	w, m, ours, err := f.worktree(ctx)
	switch {
	case err != nil:
	case !ours:
		err = problem.New("worktree_missing")
	case w.Merge == "":
		_, err = f.planMerge(ctx, &w, m, nil)
	}
	return w, err
}

// seenWorktree is worktree for a change. It refuses if digest is not that of the current state.
func (f *Folder) seenWorktree(ctx context.Context, digest string) (w Worktree, m marker, err error) {
	w, m, ours, err := f.worktree(ctx)
	switch {
	case err != nil:
	case !ours:
		err = problem.New("worktree_missing")
	case w.Digest != digest:
		err = problem.New("worktree_changed")
	}
	return w, m, err
}

// worktree describes the working tree. w.Merge is "" if only planMerge can determine it.
func (f *Folder) worktree(ctx context.Context) (w Worktree, m marker, ours bool, err error) {
	if m, ours, err = f.mark(); err != nil || !ours {
		return w, m, false, err
	}
	w = Worktree{Folder: f.dir, Base: m.Base, Main: f.main().top}
	if branch, err := f.in(ctx, f.here(), call{args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}}); err == nil {
		w.Branch = branch
	}
	if w.Head, err = f.in(ctx, f.here(), call{args: []string{"rev-parse", "--verify", "HEAD^{commit}"}}); err != nil {
		return w, m, true, failed(err)
	}
	// Git lists a folder as one entry if a pattern ignores it.
	out, err := f.in(ctx, f.here(), call{args: []string{
		"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty",
	}, limit: maxTreeListing})
	if err != nil {
		return w, m, true, failed(err)
	}
	for _, r := range records([]byte(out), false) {
		if name, ignored := strings.CutPrefix(r, "!! "); !ignored {
			w.Uncommitted++
		} else if len(w.Ignored) < maxNamed {
			w.Ignored = append(w.Ignored, strings.ToValidUTF8(name, "�"))
		} else {
			w.MoreIgnored = true
		}
	}
	sum := sha256.Sum256([]byte(w.Branch + "\x00" + w.Head + "\x00" + out))
	w.Digest = hex.EncodeToString(sum[:])
	old, err := f.commitOf(ctx, m.Base)
	if err != nil {
		return w, m, true, err
	}
	since := old
	if old == "" {
		since, w.Merge = m.Commit, MergeBaseMissing
	}
	if out, err = f.in(ctx, f.here(), call{args: []string{"rev-list", "--count", since + ".." + w.Head, "--"}}); err != nil {
		return w, m, true, failed(err)
	}
	if w.Unmerged, err = strconv.Atoi(out); err != nil {
		return w, m, true, fmt.Errorf("workingtree: %w", err)
	}
	elsewhere, err := f.checkedOut(&w)
	if err != nil {
		return w, m, true, err
	}
	w.BranchKept = w.Unmerged > 0 || w.Branch != m.Branch || w.Merge == MergeBaseMissing
	switch {
	case w.Merge != "":
	case w.Uncommitted > 0:
		w.Merge = MergeUncommitted
	case w.Unmerged == 0:
		w.Merge = MergeNothing
	case elsewhere:
		w.Merge = MergeBaseElsewhere
	}
	return w, m, true, nil
}

// mergePlan describes how a branch is merged.
type mergePlan struct {
	old, commit string // of the base, before and after
	names       string // of the files that differ, from git -z
}

// planMerge sets w.Merge. dates is the environment in which git commits a merge; if it is nil, the
// repository stores none of the new objects.
func (f *Folder) planMerge(ctx context.Context, w *Worktree, m marker, dates []string) (p mergePlan, err error) {
	var env []string
	if dates == nil {
		scratch := filepath.Join(f.common, "scratch")
		if err := f.git.o.As(func() error { return os.Mkdir(scratch, 0o700) }); err != nil && !errors.Is(err, fs.ErrExist) {
			return p, fmt.Errorf("workingtree: %w", err)
		}
		env = []string{"GIT_OBJECT_DIRECTORY=" + scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(f.common, "objects")}
	}
	if p.old, err = f.commitOf(ctx, m.Base); err != nil {
		return p, err
	}
	// result is a commit or a tree; only its content is compared.
	result := w.Head
	p.commit = w.Head
	_, err = f.in(ctx, f.here(), call{args: []string{"merge-base", "--is-ancestor", p.old, w.Head}})
	if exit := (*exitError)(nil); err != nil && !errors.As(err, &exit) {
		return p, err
	}
	if err != nil { // both have commits that the other lacks
		if !f.identity {
			w.Merge = MergeNoIdentity
			return p, nil
		}
		if result, err = f.mergeTree(ctx, w, p.old, env); err != nil || w.Merge != "" {
			return p, err
		}
		p.commit = ""
		if dates != nil {
			p.commit, err = f.in(ctx, f.here(), call{env: dates, args: []string{"commit-tree", "--no-gpg-sign", result, "-p", p.old, "-p", w.Head, "-m", "Merge branch '" + w.name(m) + "'"}})
			if err != nil {
				return p, failed(err)
			}
		}
	}
	p.names, err = f.in(ctx, f.here(), call{args: []string{"diff-tree", "-r", "--name-only", "-z", "--no-renames", p.old, result}, env: env, limit: maxTreeListing})
	if err != nil {
		return p, failed(err)
	}
	if w.BaseCheckedOut {
		overwritten, err := f.overwritten(ctx, p.names)
		if err != nil {
			return p, err
		}
		if overwritten {
			w.Merge = MergeBaseChanged
			return p, nil
		}
	}
	w.Merge = MergeReady
	return p, nil
}

// name returns the name of the branch for a message.
func (w Worktree) name(m marker) string {
	if w.Branch != "" {
		return w.Branch
	}
	return m.Branch
}

// mergeTree returns the tree that merges two commits, without touching a file. If they conflict it
// sets w.Merge and w.Conflicts.
func (f *Folder) mergeTree(ctx context.Context, w *Worktree, old string, env []string) (string, error) {
	out, err := f.in(ctx, f.here(), call{args: []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", old, w.Head}, env: env, limit: maxTreeListing})
	if exit := (*exitError)(nil); errors.As(err, &exit) && exit.code == 1 {
		w.Merge = MergeConflicts
		for i, name := range slices.Compact(records([]byte(out), false)) {
			if i > 0 && i <= maxNamed { // the first is the tree
				w.Conflicts = append(w.Conflicts, strings.ToValidUTF8(name, "�"))
			}
		}
		return "", nil
	}
	merged, _, _ := strings.Cut(out, "\x00")
	return merged, failed(err)
}

// overwritten reports whether any of these files of the main working tree differs from its last
// commit. names are from git -z.
func (f *Folder) overwritten(ctx context.Context, names string) (bool, error) {
	out, err := f.in(ctx, f.main(), call{args: []string{
		"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty",
	}, limit: maxTreeListing})
	if err != nil {
		return false, failed(err)
	}
	changed := map[string]bool{}
	for _, r := range records([]byte(out), false) {
		if len(r) > 3 {
			changed[r[3:]] = true
		}
	}
	for name := range strings.SplitSeq(names, "\x00") {
		if changed[name] {
			return true, nil
		}
	}
	return false, nil
}

// checkedOut sets w.BaseCheckedOut, and reports whether the base is checked out in a linked working
// tree. No merge changes that tree, because the person may lack the right to change its folder.
func (f *Folder) checkedOut(w *Worktree) (elsewhere bool, err error) {
	err = f.git.o.As(func() error {
		is := func(gitDir string) bool {
			head, err := readSmall(filepath.Join(gitDir, "HEAD"))
			return err == nil && strings.TrimSpace(string(head)) == "ref: refs/heads/"+w.Base
		}
		w.BaseCheckedOut = is(f.commonDir)
		linked, err := filepath.Glob(filepath.Join(f.commonDir, "worktrees", "*"))
		elsewhere = slices.ContainsFunc(linked, is)
		return err
	})
	return elsewhere, err
}

// Merge is a plan for MergeWorktree.
type Merge struct {
	Digest         string // of the state that the person saw
	Branch, Base   string // Branch is "" when HEAD is detached
	From, To       string // commits of Base, before and after
	BaseCheckedOut bool
	At             int64 // when it was planned, in seconds since 1970
}

// datesOf returns the environment in which git commits with this time, in seconds since 1970, so that
// the same plan results in the same commit id.
func datesOf(at int64) []string {
	date := fmt.Sprintf("%d %s", at, time.Unix(at, 0).Format("-0700"))
	return []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
}

// PlanMerge returns how MergeWorktree would merge the branch of the working tree into its base. digest
// identifies the state that the person saw. PlanMerge refuses if the state has changed, if the
// branches conflict, if there are uncommitted changes, or if the base is checked out and the merge
// would overwrite changes there.
func (f *Folder) PlanMerge(ctx context.Context, digest string) (Merge, error) {
	return f.planMergeAt(ctx, digest, time.Now().Unix())
}

func (f *Folder) planMergeAt(ctx context.Context, digest string, at int64) (Merge, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w, m, err := f.seenWorktree(ctx, digest)
	if err != nil {
		return Merge{}, err
	}
	var p mergePlan
	if w.Merge == "" {
		if p, err = f.planMerge(ctx, &w, m, datesOf(at)); err != nil {
			return Merge{}, err
		}
	}
	switch w.Merge {
	case MergeUncommitted:
		return Merge{}, problem.New("worktree_uncommitted")
	case MergeNothing:
		return Merge{}, problem.New("worktree_merged")
	case MergeBaseMissing:
		return Merge{}, problem.New("branch_missing", "branch", w.Base)
	case MergeNoIdentity:
		return Merge{}, problem.New("commit_no_identity")
	case MergeConflicts:
		return Merge{}, problem.New("worktree_conflicts", "branch", w.Base, "files", strings.Join(w.Conflicts, ", "))
	case MergeBaseElsewhere:
		return Merge{}, problem.New("worktree_base_elsewhere", "branch", w.Base)
	case MergeBaseChanged:
		return Merge{}, problem.New("worktree_base_changed", "branch", w.Base)
	}
	if err := f.refuseFilters(ctx, p.names); err != nil {
		return Merge{}, err
	}
	return Merge{Digest: digest, Branch: w.Branch, Base: w.Base, From: p.old, To: p.commit, BaseCheckedOut: w.BaseCheckedOut, At: at}, nil
}

// MergeWorktree merges the branch of the working tree into its base, and returns the new commit of
// the base. It changes nothing if the plan would be different now, or if the base is checked out and
// the merge would overwrite ignored files there. It runs no hooks.
func (f *Folder) MergeWorktree(ctx context.Context, p Merge) (commit string, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch now, err := f.planMergeAt(ctx, p.Digest, p.At); {
	case err != nil:
		return "", err
	case now != p:
		return "", problem.New("worktree_changed")
	}
	if !p.BaseCheckedOut {
		_, err = f.in(ctx, f.here(), call{args: []string{"update-ref", "refs/heads/" + p.Base, p.To, p.From}})
	} else {
		_, err = f.in(ctx, f.main(), call{args: []string{"merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-verify", "--no-stat", p.To}, locks: true})
	}
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		if strings.Contains(exit.stderr, "would be overwritten") {
			return "", problem.New("worktree_base_changed", "branch", p.Base)
		}
		// Somebody else may have moved the base meanwhile.
		if now, _ := f.commitOf(ctx, p.Base); now != p.From {
			return "", problem.New("worktree_changed")
		}
	}
	return p.To, failed(err)
}

// RemovedWorktree is what RemoveWorktree removes.
type RemovedWorktree struct {
	Worktree
	Top string // of the working tree, absolute
	At  int64  // when it was planned, in seconds since 1970
	// Kept is a commit with the uncommitted changes, or with commits that are on no branch, which
	// a reference below refs/sayso/removed keeps; "" when there were none.
	Kept string
}

// Contains reports whether a path, absolute and without symbolic links, is in the working tree.
func (w RemovedWorktree) Contains(real string) bool {
	return workspace.Roots([]string{w.Top}).Contains(real)
}

// PlanRemoval returns what RemoveWorktree would remove. digest identifies the state that the person
// saw. PlanRemoval refuses if the state has changed, or if there are other repositories in the working
// tree, which no commit keeps.
func (f *Folder) PlanRemoval(ctx context.Context, digest string) (RemovedWorktree, error) {
	gone, _, err := f.planRemovalAt(ctx, digest, time.Now().Unix())
	return gone, err
}

func (f *Folder) planRemovalAt(ctx context.Context, digest string, at int64) (gone RemovedWorktree, m marker, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w, m, err := f.seenWorktree(ctx, digest)
	if err != nil {
		return gone, m, err
	}
	gone = RemovedWorktree{Worktree: w, Top: f.top, At: at}
	gone.Kept, err = f.unmerged(ctx, w, m, datesOf(at))
	return gone, m, err
}

// RemoveWorktree deletes the working tree, and its branch if the base has all its commits.
// Uncommitted changes are kept as a commit; ignored files are lost. It refuses if the plan would be
// different now. The folder of f is gone afterwards.
func (f *Folder) RemoveWorktree(ctx context.Context, planned RemovedWorktree) (gone RemovedWorktree, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	gone, m, err := f.planRemovalAt(ctx, planned.Digest, planned.At)
	switch {
	case err != nil:
		return gone, err
	case gone.Kept != planned.Kept || gone.BranchKept != planned.BranchKept || gone.Top != planned.Top:
		return gone, problem.New("worktree_changed")
	}
	if gone.Kept != "" {
		if _, err := f.in(ctx, f.here(), call{args: []string{"update-ref", keptRefs + rand.Text(), gone.Kept}}); err != nil {
			return gone, failed(err)
		}
	}
	err = f.git.o.As(func() error { return f.clear(f.here()) })
	if errors.Is(err, fs.ErrNotExist) {
		return gone, problem.New("worktree_changed")
	}
	if err != nil || gone.BranchKept {
		return gone, err
	}
	_, err = f.in(ctx, f.main(), call{args: []string{"update-ref", "-d", "refs/heads/" + m.Branch, gone.Head}})
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		gone.BranchKept, err = true, nil // it moved meanwhile
	}
	return gone, err
}

// unmerged returns a commit, on no branch, of everything that is not ignored, "" if branches hold
// everything. It refuses if a commit cannot hold everything.
func (f *Folder) unmerged(ctx context.Context, w Worktree, m marker, dates []string) (commit string, err error) {
	if w.Uncommitted == 0 {
		listed, err := f.in(ctx, f.here(), call{args: []string{"ls-files", "--stage", "-z"}, limit: 2 * maxTreeListing})
		if err != nil {
			return "", failed(err)
		}
		if err := f.refuseRepositories(listed); err != nil || w.Branch != "" || w.Unmerged == 0 {
			return "", err
		}
		return w.Head, nil
	}
	return f.commitAll(ctx, w, m, dates)
}

// commitAll returns a commit of everything that is not ignored. Its second parent is what was
// staged, if that is different.
func (f *Folder) commitAll(ctx context.Context, w Worktree, m marker, dates []string) (string, error) {
	as := append([]string{"GIT_AUTHOR_NAME=sayso", "GIT_AUTHOR_EMAIL=sayso@localhost", "GIT_COMMITTER_NAME=sayso", "GIT_COMMITTER_EMAIL=sayso@localhost"}, dates...)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(f.common, "sayso-index")}
	var err error
	git := func(env []string, args ...string) (out string) {
		if err == nil {
			out, err = f.in(ctx, f.here(), call{args: args, env: env, locks: true, limit: 2 * maxTreeListing})
		}
		return out
	}
	git(index, "read-tree", "HEAD")
	git(index, "add", "--all", "--", ".")
	listed := git(index, "ls-files", "--stage", "-z")
	all := git(index, "write-tree")
	head := git(nil, "rev-parse", "--verify", "HEAD^{tree}")
	if err != nil {
		return "", failed(err)
	}
	if err := f.refuseRepositories(listed); err != nil {
		return "", err
	}
	parents := []string{"-p", w.Head}
	staged := git(nil, "write-tree")
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		staged, err = all, nil // there are conflicts in the index
	}
	if staged != all && staged != head {
		parents = append(parents, "-p", git(as, "commit-tree", "--no-gpg-sign", staged, "-p", w.Head, "-m", "Staged changes of "+w.name(m)))
	}
	commit := git(as, append([]string{"commit-tree", "--no-gpg-sign", all, "-m", "Uncommitted changes of " + w.name(m)}, parents...)...)
	return commit, failed(err)
}

// refuseRepositories refuses a working tree with other repositories in it. listed is the output of
// git ls-files --stage -z.
func (f *Folder) refuseRepositories(listed string) error {
	return f.git.o.As(func() error {
		if modules, _ := os.ReadDir(filepath.Join(f.gitDir, "modules")); len(modules) > 0 {
			return problem.New("worktree_repositories", "path", f.top)
		}
		for _, r := range records([]byte(listed), false) { // mode id stage\tpath
			facts, name, _ := strings.Cut(r, "\t")
			if !strings.HasPrefix(facts, "160000 ") {
				continue
			}
			if inside, _ := os.ReadDir(filepath.Join(f.top, name)); len(inside) > 0 {
				return problem.New("worktree_repositories", "path", filepath.Join(f.top, strings.ToValidUTF8(name, "�")))
			}
		}
		return nil
	})
}
