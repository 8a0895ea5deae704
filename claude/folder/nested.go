package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries bounds how many files and folders are listed in search of nested repositories. A
// repository of 50 000 files with its node_modules stays far below.
const maxEntries = 600_000

// readNested searches for repositories inside top, a repository or folder. Git uses the
// configuration of those that the index names, and of any in which it is run. Like Git,
// readNested follows no symbolic links. If it reaches the bound, it adds an item, because the
// rest may contain anything.
func (r *reader) readNested(top string) {
	whole := true
	queue := []string{top}
	for len(queue) > 0 && r.left > 0 {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		below, ok := r.scanFolder(dir, dir == top)
		whole = whole && ok
		queue = append(queue, below...)
	}
	if len(queue) > 0 || r.left <= 0 || !whole {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: top, Text: "It holds more than can be looked at, so repositories inside of it, and what Git would run there, may be unknown."})
	}
}

// scanFolder scans one folder and returns the subfolders to scan. complete is false if it could
// not read the whole folder.
func (r *reader) scanFolder(dir string, isTop bool) (below []string, complete bool) {
	f, err := os.Open(dir)
	if err != nil {
		r.recordTransient(err)
		// The CLI cannot read it either.
		return nil, errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	}
	defer f.Close()
	const head, objects, refs, commondir = 1, 2, 4, 8
	marks := 0
	for r.left > 0 {
		entries, err := f.ReadDir(1024)
		r.left -= len(entries)
		for _, e := range entries {
			name := e.Name()
			switch {
			// In any case, for file systems that ignore it.
			case strings.EqualFold(name, ".git"):
				if !isTop {
					r.readNestedDirs(r.withModules(r.gitDirsOf(filepath.Join(dir, name)))) // none if Git finds none there either
				}
				continue
			case strings.EqualFold(name, "HEAD"):
				marks |= head
			case strings.EqualFold(name, "objects"):
				marks |= objects
			case strings.EqualFold(name, "refs"):
				marks |= refs
			case strings.EqualFold(name, "commondir"):
				marks |= commondir
			}
			if e.IsDir() {
				below = append(below, filepath.Join(dir, name))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.recordTransient(err)
			return below, errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		}
	}
	isBare := marks&(head|commondir) == head|commondir || marks&(head|objects|refs) == head|objects|refs // see looksBare
	if isBare && !isTop {
		r.readNestedDirs(append(r.commonsOf(dir), dir))
	}
	return below, true
}

// readNestedDirs reads the Git folders of a repository inside another one.
func (r *reader) readNestedDirs(dirs []string) {
	for _, dir := range dirs {
		r.readGitDir(dir, true)
	}
}
