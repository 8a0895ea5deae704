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
	FileOutside FileState = "outside" // outside the folders, also by a symbolic link; or it has more than one name
	FileOther   FileState = "other"   // a folder, a device, a pipe, what the kernel makes up
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
//
// A file with more than one name (a hard link) is outside, too, wherever its names
// lie. Whoever can write to a folder can give a file that they cannot read a name
// there, and the names of a file cannot be told from the file: a search for them could
// be misled by renaming while it runs. What has one name belongs to the folder.
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
	const tries = 3
	for range tries {
		file, settled, err := readIn(root, rest, most)
		if err != nil || settled {
			return file, err
		}
		time.Sleep(clockTick)
	}
	return File{State: FileOutside}, nil // whoever keeps changing it may be about to swap it
}

// clockTick is more than the time in which a change of a file's names may leave its
// time of change as it was.
const clockTick = 20 * time.Millisecond

// readIn reads a file as it is. It is not settled when its names have changed just now,
// or while it was read.
func readIn(root *os.Root, rest string, most int64) (_ File, settled bool, _ error) {
	// A pipe without a writer would hold us for ever.
	f, err := root.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return File{State: FileMissing}, true, nil
	case errors.Is(err, fs.ErrPermission):
		return File{State: FileDenied}, true, nil
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return File{State: FileOther}, true, nil
	case err != nil:
		// os.Root has no name for a path that escapes; whatever else it is, it is
		// not to be shown.
		return File{State: FileOutside}, true, nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return File{}, false, err
	}
	if !info.Mode().IsRegular() {
		return File{State: FileOther}, true, nil
	}
	before, here := inodeAt(root, rest, info)
	switch {
	case !here:
		return File{}, false, nil
	case before.names > 1:
		return File{State: FileOutside}, true, nil
	}
	file := File{State: FileRead, Size: info.Size(), ModTime: info.ModTime()}
	if info.Size() > most {
		file.State = FileLarge
	} else if file.Data, err = io.ReadAll(io.LimitReader(f, most+1)); err != nil { // one byte more: it may have grown
		return File{}, false, err
	}
	// The kernel takes a name away in several steps, in the middle of which the file has
	// one name less and the name still leads to it. Afterwards its time of change tells.
	after, here := inodeAt(root, rest, info)
	if age := time.Since(before.changed); !here || after != before || age >= 0 && age < clockTick {
		return File{}, false, nil
	}
	if len(file.Data) > 0 && info.Size() == 0 {
		// Empty, and yet it holds something: it has grown, or it is one of /proc.
		if now, err := f.Stat(); err != nil || now.Size() == 0 {
			return File{State: FileOther}, true, nil
		}
	}
	if int64(len(file.Data)) > most {
		file.State, file.Data = FileLarge, nil
	}
	return file, true, nil
}

// inode is what a file system says of the names of a file.
type inode struct {
	names   uint64
	changed time.Time
}

// inodeAt looks up the file at a path, and is false when it is not the open one.
func inodeAt(root *os.Root, path string, open fs.FileInfo) (inode, bool) {
	now, err := root.Stat(path)
	if err != nil || !os.SameFile(now, open) {
		return inode{}, false
	}
	s, ok := now.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{names: uint64(s.Nlink), changed: changedAt(s)}, true
}
