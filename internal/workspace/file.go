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

// FileState reports whether a path holds a file that a person may see, or why not.
type FileState string

const (
	FileRead    FileState = "read"
	FileMissing FileState = "missing"
	FileOutside FileState = "outside" // outside the folders, also through a symbolic link, or a file with several hard links
	FileOther   FileState = "other"   // a folder, a device, a pipe, or a file that the kernel generates
	FileLarge   FileState = "large"
	FileDenied  FileState = "denied" // the server may not read it
)

// File is the content at a path. Data is set when State is [FileRead].
type File struct {
	State   FileState
	Size    int64
	ModTime time.Time
	Data    []byte
}

// ReadFile reads a file of up to maxBytes bytes inside cwd, the folder of a session, or
// inside one of the roots. path is absolute or relative to cwd. For a path that leads out of
// the folder, by .. or by a symbolic link, it returns [FileOutside], even if the path is swapped
// during the call.
//
// It also returns [FileOutside] for a file with several hard links, wherever they are. Anyone
// who can write to a folder can link a file there that they cannot read, and nothing leads from
// a file to its links: renames could mislead a search for them. A file with a single link
// belongs to its folder.
func (r Roots) ReadFile(cwd, path string, maxBytes int64) (File, error) {
	if path == "" || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") || strings.ContainsRune(path, 0) {
		return File{State: FileOutside}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	path = filepath.Clean(path)
	for _, folder := range append([]string{cwd}, r...) {
		if rest, ok := relativeTo(folder, path); ok && folder != "" {
			return readBelow(folder, rest, maxBytes)
		}
	}
	return File{State: FileOutside}, nil
}

func readBelow(folder, rest string, maxBytes int64) (File, error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return File{State: FileMissing}, nil
	}
	if err != nil {
		return File{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	const attempts = 3
	for range attempts {
		file, settled, err := readIn(root, rest, maxBytes)
		if err != nil || settled {
			return file, err
		}
		time.Sleep(clockTick)
	}
	return File{State: FileOutside}, nil // whoever keeps changing it may be about to swap it
}

// clockTick exceeds the granularity of the file system's change times.
const clockTick = 20 * time.Millisecond

// readIn reads a file once. settled is false if its links changed just before or during the
// read.
func readIn(root *os.Root, rest string, maxBytes int64) (_ File, settled bool, _ error) {
	// Without O_NONBLOCK, opening a pipe without a writer would block forever.
	f, err := root.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return File{State: FileMissing}, true, nil
	case errors.Is(err, fs.ErrPermission):
		return File{State: FileDenied}, true, nil
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return File{State: FileOther}, true, nil
	case err != nil:
		// os.Root returns no distinct error for a path that escapes. The file must not be
		// shown after any other error either.
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
	case before.links > 1:
		return File{State: FileOutside}, true, nil
	}
	file := File{State: FileRead, Size: info.Size(), ModTime: info.ModTime()}
	if info.Size() > maxBytes {
		file.State = FileLarge
	} else if file.Data, err = io.ReadAll(io.LimitReader(f, maxBytes+1)); err != nil { // one byte more, in case it has grown
		return File{}, false, err
	}
	// The kernel removes a link in several steps. In between, the link count is already lower,
	// but the name still leads to the file. Afterwards, the change time reveals the removal.
	after, here := inodeAt(root, rest, info)
	if age := time.Since(before.changed); !here || after != before || age >= 0 && age < clockTick {
		return File{}, false, nil
	}
	if len(file.Data) > 0 && info.Size() == 0 {
		// Its size was 0 but it has content: it has grown, or it is a file of /proc.
		if now, err := f.Stat(); err != nil || now.Size() == 0 {
			return File{State: FileOther}, true, nil
		}
	}
	if int64(len(file.Data)) > maxBytes {
		file.State, file.Data = FileLarge, nil
	}
	return file, true, nil
}

// inode holds the link count and the change time of a file.
type inode struct {
	links   uint64
	changed time.Time
}

// inodeAt looks up the file at a path. It returns false if that is not the open file.
func inodeAt(root *os.Root, path string, open fs.FileInfo) (inode, bool) {
	now, err := root.Stat(path)
	if err != nil || !os.SameFile(now, open) {
		return inode{}, false
	}
	s, ok := now.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{links: uint64(s.Nlink), changed: changedAt(s)}, true
}
