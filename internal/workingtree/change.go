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

// Discarded is what Discard removed.
type Discarded struct {
	Path string
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

// Discard returns a file to the last commit, or removes one that is not in it. seen is the
// digest of the content that the person saw; Discard refuses when the file has other content.
// record is called with what will be removed, before it is removed.
func (f *Folder) Discard(ctx context.Context, filePath, seen string, record func(Discarded) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	name, err := checkPath(filePath)
	if err != nil {
		return err
	}
	if f.State != RepositoryFound {
		return problem.For("path", "file_unchanged")
	}
	change, err := f.uncommitted(ctx, name)
	if err != nil {
		return err
	}
	paths := []string{name}
	if change.OldPath != "" {
		paths = append(paths, change.OldPath)
	}
	if err := f.checkFilters(ctx, paths); err != nil {
		return err
	}
	shown, shownData, err := f.content(name, MaxText)
	if err != nil {
		return err
	}
	if digest(shown, shownData) != seen {
		return problem.For("path", "file_changed")
	}
	kept := Discarded{Path: name}
	if _, data, err := f.content(name, maxKept); err != nil {
		return err
	} else if data != nil {
		out, _, err := f.exec(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: data})
		if err != nil {
			return failed(err)
		}
		kept.Object = strings.TrimSpace(string(out))
	}
	if err := record(kept); err != nil {
		return err
	}
	if change.Status == Untracked {
		return f.git.o.As(func() error {
			root, err := os.OpenRoot(f.dir)
			if err != nil {
				return err
			}
			defer root.Close()
			return root.Remove(name)
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
	_, _, err = f.exec(ctx, call{args: append(args, paths...), locks: true})
	return failed(err)
}

// maxMessage bounds a commit message, in bytes.
const maxMessage = 64 << 10

// Commit commits the current content of files, and nothing else that is staged. It runs no
// hooks and does not sign. record is called before anything is written. It returns the id of the
// commit.
func (f *Folder) Commit(ctx context.Context, message string, paths []string, record func() error) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch {
	case f.State != RepositoryFound || len(paths) == 0:
		return "", problem.For("paths", "commit_nothing")
	case strings.TrimSpace(message) == "":
		return "", problem.For("message", "commit_message_missing")
	case len(message) > maxMessage || !utf8.ValidString(message) || strings.ContainsRune(message, 0):
		return "", problem.For("message", "commit_message_invalid")
	case !f.identity:
		return "", problem.New("commit_no_identity")
	}
	s, err := f.Status(ctx, BaseHead)
	if err != nil {
		return "", err
	}
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		name, err := checkPath(p)
		if err != nil {
			return "", err
		}
		at := slices.IndexFunc(s.Changes, func(c Change) bool { return c.Path == name && c.Uncommitted })
		if at < 0 {
			return "", problem.For("paths", "file_unchanged")
		}
		if s.Changes[at].Status == Conflicted {
			return "", problem.For("paths", "commit_conflict", "path", name)
		}
		all = append(all, name)
		if old := s.Changes[at].OldPath; old != "" {
			all = append(all, old)
		}
	}
	if err := f.checkFilters(ctx, all); err != nil {
		return "", err
	}
	if err := record(); err != nil {
		return "", err
	}
	// Paths go in through stdin: a thousand of them could exceed what a command line may hold.
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

// messageFile writes a commit message where git reads it: its standard input brings the paths.
func (f *Folder) messageFile(message string) (path string, err error) {
	path = filepath.Join(f.common, "sayso-message")
	return path, f.git.o.As(func() error { return os.WriteFile(path, []byte(message), 0o600) })
}

// checkFilters refuses files that a program of the user transforms between the working tree and
// the repository, as with Git LFS. That program is not run here, so they would be damaged.
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
