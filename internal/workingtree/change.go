package workingtree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Discarded is what Discard removes.
type Discarded struct {
	Path, OldPath string // OldPath of a renamed file
	Untracked     bool
	Digest        string // of the content that the person saw
	// Object is the id of the removed content in the repository, from which git cat-file
	// returns it until git removes unused objects. It is "" for content that was not kept.
	Object string
}

// uncommitted returns the change of a path against the last commit.
func (f *Folder) uncommitted(ctx context.Context, name string) (Change, error) {
	s, err := f.Status(ctx, BaseHead)
	if err != nil {
		return Change{}, err
	}
	for _, c := range s.Changes {
		if c.Path == name && c.Uncommitted {
			return c, nil
		}
	}
	return Change{}, problem.For("path", "file_unchanged")
}

// paths returns the paths that a discard changes.
func (d Discarded) paths() []string {
	if d.OldPath == "" {
		return []string{d.Path}
	}
	return []string{d.Path, d.OldPath}
}

// PlanDiscard returns what Discard would remove, and stores that content in the repository. seen is
// the digest of the content that the person saw; PlanDiscard refuses if the file's digest differs.
func (f *Folder) PlanDiscard(ctx context.Context, filePath, seen string) (Discarded, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	name, err := checkPath(filePath)
	if err != nil {
		return Discarded{}, err
	}
	if f.State != RepositoryFound {
		return Discarded{}, problem.For("path", "file_unchanged")
	}
	change, err := f.uncommitted(ctx, name)
	if err != nil {
		return Discarded{}, err
	}
	d := Discarded{Path: name, OldPath: change.OldPath, Untracked: change.Status == Untracked, Digest: seen}
	if err := f.checkFilters(ctx, d.paths()); err != nil {
		return Discarded{}, err
	}
	shown, shownData, modTime, err := f.content(name, MaxText)
	if err != nil {
		return Discarded{}, err
	}
	if digest(shown, shownData, modTime) != seen {
		return Discarded{}, problem.For("path", "file_changed")
	}
	if _, data, _, err := f.content(name, maxKept); err != nil {
		return Discarded{}, err
	} else if data != nil {
		out, _, err := f.exec(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: data})
		if err != nil {
			return Discarded{}, failed(err)
		}
		d.Object = strings.TrimSpace(string(out))
	}
	return d, nil
}

// Discard restores a file from the last commit, or removes a file that the commit lacks. It refuses
// if the plan would be different now.
func (f *Folder) Discard(ctx context.Context, d Discarded) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch now, err := f.PlanDiscard(ctx, d.Path, d.Digest); {
	case err != nil:
		return err
	case now != d:
		return problem.For("path", "file_changed")
	}
	if d.Untracked {
		return f.git.o.As(func() error {
			root, err := os.OpenRoot(f.dir)
			if err != nil {
				return err
			}
			defer root.Close()
			return root.Remove(d.Path)
		})
	}
	head, _, _, err := f.heads(ctx)
	if err != nil {
		return err
	}
	args := []string{"restore", "--source=HEAD", "--staged", "--worktree", "--"}
	if head == "" { // nothing to restore from
		args = []string{"rm", "--quiet", "--force", "--"}
	}
	_, _, err = f.exec(ctx, call{args: append(args, d.paths()...), locks: true})
	return failed(err)
}

// maxMessage bounds a commit message, in bytes.
const maxMessage = 64 << 10

// PlanCommit refuses what Commit would refuse, and writes nothing. It returns the paths that Commit
// would change, including the former paths of renamed files.
func (f *Folder) PlanCommit(ctx context.Context, message string, paths []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch {
	case f.State != RepositoryFound || len(paths) == 0:
		return nil, problem.For("paths", "commit_nothing")
	case strings.TrimSpace(message) == "":
		return nil, problem.For("message", "commit_message_missing")
	case len(message) > maxMessage || !utf8.ValidString(message) || strings.ContainsRune(message, 0):
		return nil, problem.For("message", "commit_message_invalid")
	case !f.identity:
		return nil, problem.New("commit_no_identity")
	}
	s, err := f.Status(ctx, BaseHead)
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		name, err := checkPath(p)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(s.Changes, func(c Change) bool { return c.Path == name && c.Uncommitted })
		if at < 0 {
			return nil, problem.For("paths", "file_unchanged")
		}
		if s.Changes[at].Status == Conflicted {
			return nil, problem.For("paths", "commit_conflict", "path", name)
		}
		all = append(all, name)
		if old := s.Changes[at].OldPath; old != "" {
			all = append(all, old)
		}
	}
	return all, f.checkFilters(ctx, all)
}

// Commit commits the current content of files, and nothing else that is staged. It runs no
// hooks and does not sign. It returns the id of the commit.
func (f *Folder) Commit(ctx context.Context, message string, paths []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	all, err := f.PlanCommit(ctx, message, paths)
	if err != nil {
		return "", err
	}
	// Paths go through stdin, because a thousand of them could exceed the length of a command line.
	names := []byte(strings.Join(all, "\x00") + "\x00")
	if _, _, err := f.exec(ctx, call{args: []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, stdin: names, locks: true}); err != nil {
		return "", failed(err)
	}
	text, err := f.messageFile(message)
	if err != nil {
		return "", err
	}
	if _, _, err := f.exec(ctx, call{
		args:  []string{"commit", "--quiet", "--only", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=strip", "--file=" + text, "--pathspec-from-file=-", "--pathspec-file-nul"},
		stdin: names, locks: true,
	}); err != nil {
		return "", failed(err)
	}
	out, _, err := f.exec(ctx, call{args: []string{"rev-parse", "--verify", "HEAD"}})
	return strings.TrimSpace(string(out)), failed(err)
}

// messageFile writes a commit message to a file for git, whose standard input carries the paths.
func (f *Folder) messageFile(message string) (path string, err error) {
	path = filepath.Join(f.common, "sayso-message")
	return path, f.git.o.As(func() error { return os.WriteFile(path, []byte(message), 0o600) })
}

// checkFilters refuses files that a filter program transforms between the working tree and the
// repository, as with Git LFS. That program does not run here, so the files would be damaged.
func (f *Folder) checkFilters(ctx context.Context, paths []string) error {
	out, _, err := f.exec(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: []byte(strings.Join(paths, "\x00") + "\x00")})
	if err != nil {
		return failed(err)
	}
	return refuseFiltered(records(out, false))
}

// refuseFiltered refuses files with a filter, in the output of git check-attr.
func refuseFiltered(all []string) error {
	for i := 0; i+2 < len(all); i += 3 { // path, attribute, value
		if all[i+2] != "unspecified" && all[i+2] != "unset" {
			return problem.For("path", "file_filtered", "path", all[i], "filter", all[i+2])
		}
	}
	return nil
}
