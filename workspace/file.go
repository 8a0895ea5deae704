package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// FileState says what lies at a path, as far as a person may be shown it.
type FileState string

const (
	FileRead    FileState = "read"
	FileMissing FileState = "missing"
	FileOutside FileState = "outside" // outside the folders, also by a symbolic link
	FileOther   FileState = "other"   // a folder, a device, a pipe
	FileLarge   FileState = "large"
	FileDenied  FileState = "denied" // this server may not read it
)

// File is what lies at a path. Data is there when State is read.
type File struct {
	State   FileState
	Size    int64
	ModTime time.Time
	Data    []byte
}

// ReadFile reads a file of at most most bytes that lies in cwd, the folder of a
// session, or in one of the roots. path is absolute, or as seen from cwd. What
// leads out of the folder, by .. or by a symbolic link, is outside, also when it
// is swapped while it is read.
func (r Roots) ReadFile(cwd, path string, most int64) (File, error) {
	if path == "" || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") || strings.ContainsRune(path, 0) {
		return File{State: FileOutside}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	path = filepath.Clean(path)
	for _, folder := range append([]string{cwd}, r...) {
		if rest, ok := below(folder, path); ok && folder != "" {
			return readBelow(folder, rest, most)
		}
	}
	return File{State: FileOutside}, nil
}

func readBelow(folder, rest string, most int64) (File, error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return File{State: FileMissing}, nil
	}
	if err != nil {
		return File{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	// A pipe without a writer would hold us for ever.
	f, err := root.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return File{State: FileMissing}, nil
	case errors.Is(err, fs.ErrPermission):
		return File{State: FileDenied}, nil
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return File{State: FileOther}, nil
	case err != nil:
		// os.Root has no name for a path that escapes; whatever else it is, it is
		// not to be shown.
		return File{State: FileOutside}, nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	file := File{State: FileRead, Size: info.Size(), ModTime: info.ModTime()}
	switch {
	case !info.Mode().IsRegular():
		return File{State: FileOther}, nil
	case info.Size() > most:
		file.State = FileLarge
		return file, nil
	}
	// One byte more: it may have grown.
	file.Data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return File{}, err
	}
	if int64(len(file.Data)) > most {
		file.State, file.Data = FileLarge, nil
	}
	return file, nil
}
