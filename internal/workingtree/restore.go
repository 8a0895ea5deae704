package workingtree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// FileInfo describes a file.
type FileInfo struct {
	Missing bool
	ModTime time.Time
	Size    int64 // in bytes
	Mode    fs.FileMode
}

// Inspect describes the file at an absolute path that another program is about to write. It returns
// a [problem.Error] if the person may not see the path, or if writing could reach another file,
// through a symbolic link or several hard links.
func (f *Folder) Inspect(path string) (found FileInfo, err error) {
	hidden := problem.New("rewind_not_shown")
	err = f.git.o.As(func() error {
		dir, err := existing(filepath.Dir(path))
		if err != nil || !f.shows(dir) {
			return hidden
		}
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			found.Missing = true
			return nil
		}
		if err != nil || !info.Mode().IsRegular() || !f.shows(filepath.Join(dir, filepath.Base(path))) {
			return hidden
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
			return hidden
		}
		found = FileInfo{ModTime: info.ModTime(), Size: info.Size(), Mode: info.Mode()}
		return nil
	})
	return found, err
}

// existing returns the real path of a folder or, if it is missing, of its closest parent that exists.
func existing(dir string) (string, error) {
	for {
		real, err := filepath.EvalSymlinks(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == "/" {
			return real, err
		}
		dir = filepath.Dir(dir)
	}
}

// Keep stores the content of files, given by their absolute paths, in the repository, until git
// removes unused objects. It returns the ids of the objects by path. It leaves out files that it
// cannot read or that are larger than 32 MB, and all files if there is no repository.
func (f *Folder) Keep(ctx context.Context, paths []string) (map[string]string, error) {
	if f.State != RepositoryFound {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	kept := map[string]string{}
	for _, path := range paths {
		var file workspace.File
		err := f.git.o.As(func() (err error) {
			file, err = f.place.Roots.ReadFile(f.dir, path, maxKept)
			return err
		})
		if err != nil || file.State != workspace.FileRead {
			continue
		}
		out, _, err := f.exec(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: file.Data})
		if err != nil {
			return nil, failed(err)
		}
		kept[path] = strings.TrimSpace(string(out))
	}
	return kept, nil
}
