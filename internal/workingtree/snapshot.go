package workingtree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// Limits of a snapshot. They keep what it writes to a repository small.
const (
	maxSnapshotFiles = 1000
	maxSnapshotBytes = 32 << 20
	// MaxCompared bounds a file that is compared with its state before a turn, in bytes.
	MaxCompared = 4 << 20
	// maxIndex bounds the index, which is copied.
	maxIndex = 64 << 20
)

// snapshotPrefix begins a [Base] that Snapshot returned; the id of a tree follows.
const snapshotPrefix = "snapshot:"

// tree returns the tree of a base that Snapshot returned, "" for any other base.
func (b Base) tree() string {
	id, is := strings.CutPrefix(string(b), snapshotPrefix)
	if !is || !objectID.MatchString(id) {
		return ""
	}
	return id
}

// Snapshot stores the content of a folder in its repository, and returns the base with which to
// compare it later. It returns "" for a folder without a repository, and for one in which more than
// 1000 files or 32 MB differ from the index. Files that git ignores and files larger than 4 MB are
// left out. It does not change the index, and writes nothing if there are no changes. Nothing refers
// to what it writes: git removes it after some weeks.
func (g *Git) Snapshot(ctx context.Context, p Place) (Base, error) {
	if has, err := g.hasRepository(g.within(p)); err != nil || !has {
		return "", err
	}
	f, err := g.Open(ctx, p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return f.snapshot(ctx)
}

// hasRepository reports whether there may be a repository at or above a folder, without running git.
func (g *Git) hasRepository(p Place) (has bool, err error) {
	err = g.o.As(func() error {
		dir, err := p.Roots.Resolve(p.CWD)
		if err != nil {
			return err
		}
		for ; !has && p.Roots.Contains(dir); dir = filepath.Dir(dir) {
			_, err := os.Lstat(filepath.Join(dir, ".git"))
			has = err == nil
			if dir == "/" {
				break
			}
		}
		return nil
	})
	return has, err
}

func (f *Folder) snapshot(ctx context.Context) (Base, error) {
	if f.State != RepositoryFound {
		return "", nil
	}
	out, cut, err := f.exec(ctx, call{args: statusArgs("all")})
	if err != nil {
		return "", failed(err)
	}
	if cut {
		return "", nil
	}
	work := parseStatus(records(out, false))
	if len(work.changed)+len(work.untracked) == 0 {
		head, _, _, err := f.heads(ctx)
		if err != nil {
			return "", err
		}
		if head == "" {
			return asBase(f.emptyTree(ctx))
		}
		out, _, err := f.exec(ctx, call{args: []string{"rev-parse", "--verify", head + "^{tree}"}})
		return asBase(strings.TrimSpace(string(out)), failed(err))
	}
	paths, fits, err := f.storable(work)
	if err != nil || !fits {
		return "", err
	}
	index, err := f.copyIndex()
	if err != nil {
		return "", err
	}
	// Unlike git add, update-index accepts the paths of deleted files.
	if _, _, err := f.exec(ctx, call{
		args:  []string{"-c", "core.safecrlf=false", "-c", "core.splitIndex=false", "update-index", "--add", "--remove", "--replace", "-z", "--stdin"},
		env:   index,
		stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
	}); err != nil {
		return "", failed(err)
	}
	out, _, err = f.exec(ctx, call{args: []string{"write-tree"}, env: index})
	return asBase(strings.TrimSpace(string(out)), failed(err))
}

func asBase(tree string, err error) (Base, error) {
	if err != nil {
		return "", err
	}
	return Base(snapshotPrefix + tree), nil
}

// storable returns the changed files that a snapshot stores, relative to the folder. fits is false
// if there are too many.
func (f *Folder) storable(w work) (paths []string, fits bool, err error) {
	err = f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		total := int64(0)
		add := func(path string) {
			name, inside := strings.CutPrefix(path, f.prefix)
			if !inside || !isComparable(root, name) {
				return
			}
			if info, err := root.Lstat(name); err == nil {
				total += info.Size()
			}
			paths = append(paths, name)
		}
		for path := range w.changed {
			add(path)
		}
		for _, path := range w.untracked {
			add(path)
		}
		fits = len(paths) <= maxSnapshotFiles && total <= maxSnapshotBytes
		return nil
	})
	return paths, fits, err
}

// isComparable reports whether a path holds nothing, a symbolic link, or a file that git can read and
// that is not too large.
func isComparable(root *os.Root, name string) bool {
	if strings.HasSuffix(name, "/") { // a repository in the repository
		return false
	}
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return true
	case err != nil:
		return false
	case info.Mode()&fs.ModeSymlink != 0:
		return true
	case !info.Mode().IsRegular() || info.Size() > MaxCompared:
		return false
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// copyIndex copies the index, so that git can change the copy, and returns the environment in which
// git uses the copy.
func (f *Folder) copyIndex() (env []string, err error) {
	path := filepath.Join(f.common, "sayso-index")
	err = f.git.o.As(func() error {
		// Without O_NONBLOCK, a pipe of this name would block until somebody writes to it.
		in, err := os.OpenFile(filepath.Join(f.gitDir, "index"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was ever added
		}
		if err != nil {
			return fmt.Errorf("workingtree: %w", err)
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
			return errors.Join(err, fmt.Errorf("workingtree: copy the index: %w", fs.ErrInvalid))
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("workingtree: %w", err)
		}
		_, err = io.Copy(out, io.LimitReader(in, maxIndex))
		// Git rereads files whose modification time is not before that of the index, because they may
		// have changed within the same second. A copy with a later time would hide such a change.
		return errors.Join(err, out.Close(), os.Chtimes(path, info.ModTime(), info.ModTime()))
	})
	return []string{"GIT_INDEX_FILE=" + path}, err
}

// HasSnapshot reports whether the repository still has what Snapshot stored.
func (f *Folder) HasSnapshot(ctx context.Context, b Base) (bool, error) {
	if f.State != RepositoryFound || b.tree() == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if tree, err := f.emptyTree(ctx); err != nil || tree == b.tree() {
		return err == nil, err // git knows the empty tree without storing it
	}
	_, _, err := f.exec(ctx, call{args: []string{"cat-file", "-e", b.tree() + "^{tree}"}})
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

// untrackedIndex returns the environment in which git compares the working tree with a snapshot: its
// index also has the untracked files. left holds the changed files that are not compared; more reports
// that there are too many untracked ones.
func (f *Folder) untrackedIndex(ctx context.Context, w work) (env []string, left map[string]bool, more bool, err error) {
	left = map[string]bool{}
	var names []string
	err = f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		for path := range w.changed {
			if name, inside := strings.CutPrefix(path, f.prefix); inside && !isComparable(root, name) {
				left[path] = true
			}
		}
		for _, path := range w.untracked {
			name, inside := strings.CutPrefix(path, f.prefix)
			switch {
			case !inside || !isComparable(root, name):
				left[path] = true
			case len(names) == maxChanges:
				left[path], more = true, true
			default:
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	if env, err = f.copyIndex(); err != nil || len(names) == 0 {
		return env, left, more, err
	}
	_, _, err = f.exec(ctx, call{
		args:  []string{"-c", "core.splitIndex=false", "add", "--intent-to-add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"},
		env:   env,
		stdin: []byte(strings.Join(names, "\x00") + "\x00"),
	})
	return env, left, more, failed(err)
}

// CompareWith compares a file with its earlier content. name is relative to the folder, or absolute and
// anywhere inside the roots. same reports that nothing has changed.
func (f *Folder) CompareWith(before workspace.File, name string) (c Comparison, same bool, err error) {
	var was, is []byte
	c.Before, was = asContent(before)
	if filepath.IsAbs(name) {
		c.After, is, err = f.readInRoots(name)
	} else {
		c.After, is, err = f.Read(name, MaxCompared)
	}
	if err != nil {
		return Comparison{}, false, err
	}
	c.Digest = digest(c.After, is, time.Time{})
	same = was != nil && is != nil && bytes.Equal(was, is) || c.Before.State == ContentMissing && c.After.State == ContentMissing
	for _, side := range []*Content{&c.Before, &c.After} {
		if side.State == ContentText && side.Size > MaxText {
			side.State, side.Text = ContentLarge, ""
		}
	}
	if c.After.State == ContentOutside {
		c.Before = c.After // show neither side of a file that may be hidden from the person
	}
	return c, same, nil
}

// readInRoots reads a file at an absolute path.
func (f *Folder) readInRoots(name string) (c Content, data []byte, err error) {
	err = f.git.o.As(func() error {
		dir, err := existing(filepath.Dir(name))
		if err != nil || !f.shows(filepath.Join(dir, filepath.Base(name))) {
			c = Content{State: ContentOutside}
			return nil //nolint:nilerr // what cannot be followed is outside
		}
		file, err := f.place.Roots.ReadFile(f.dir, name, MaxCompared)
		if err != nil {
			return err
		}
		c, data = asContent(file)
		return nil
	})
	return c, data, err
}
