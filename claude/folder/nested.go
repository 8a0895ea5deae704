package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries bounds how many files and folders are looked at for nested
// repositories; a repository of 50 000 files with its node_modules stays far below.
const maxEntries = 600_000

// nested looks for repositories inside of top, a repository or a folder: Git enters
// those that the index names, and whoever runs Git in one enters it too. Symbolic
// links are not followed, as Git does not. What lies beyond the bound is an item, for
// there may be anything.
func (r *reader) nested(top string) {
	whole := true
	queue := []string{top}
	for len(queue) > 0 && r.left > 0 {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		below, ok := r.nestedIn(dir, dir == top)
		whole = whole && ok
		queue = append(queue, below...)
	}
	if len(queue) > 0 || r.left <= 0 || !whole {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: top, Text: "It holds more than can be looked at, so repositories inside of it, and what Git would run there, may be unknown."})
	}
}

// nestedIn looks at one folder and returns those below it that are to be looked at.
// It is false when it could not see all of it.
func (r *reader) nestedIn(dir string, isTop bool) (below []string, whole bool) {
	f, err := os.Open(dir)
	if err != nil {
		r.check(err)
		// What is gone or closed to us is so for the CLI, too.
		return nil, errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	}
	defer f.Close()
	marks := 0
	for r.left > 0 {
		entries, err := f.ReadDir(1024)
		r.left -= len(entries)
		for _, e := range entries {
			name := e.Name()
			switch {
			case strings.EqualFold(name, ".git"): // of any case where names have none
				if !isTop {
					r.nestedGit(filepath.Join(dir, name))
				}
				continue
			case name == "HEAD" || name == "objects" || name == "refs":
				marks++
			}
			if e.IsDir() {
				below = append(below, filepath.Join(dir, name))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.check(err)
			return below, errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		}
	}
	if marks == 3 && !isTop {
		r.gitDir(dir, true)
	}
	return below, true
}

// nestedGit looks at the repository of a .git inside of another.
func (r *reader) nestedGit(link string) {
	dir, common, ok := r.gitDirOf(link)
	if !ok {
		return // Git finds none there either
	}
	for _, dir := range unique(append([]string{dir, common}, r.modules(filepath.Join(common, "modules"), 0)...)) {
		r.gitDir(dir, true)
	}
}
