package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileSystem reads the file system of a machine, which may be another one, for [Files]. Its methods
// return an error if the machine cannot be reached.
type FileSystem interface {
	RealPath(ctx context.Context, path string) (RealPath, error)
	IsFolder(ctx context.Context, path string) (bool, error)
	MatchPaths(ctx context.Context, pattern string) (Matches, error)
	// PrivateFiles returns sayso's own files and folders on that machine, as absolute paths.
	PrivateFiles(ctx context.Context) ([]string, error)
}

// RealPath is a path without links. Known is false if they cannot be followed.
type RealPath struct {
	Path  string
	Known bool
}

// Matches are the files that a pattern matches. Known is false if there are too many.
type Matches struct {
	Paths []string
	Known bool
}

// LocalDisk is the FileSystem of this machine, with the rights of the caller. It fails only when ctx
// ends, which it notices between system calls: one that hangs, on a network file system, does not
// return.
type LocalDisk struct{}

// PrivateFiles returns nil: LocalDisk does not know where sayso keeps its files.
func (LocalDisk) PrivateFiles(context.Context) ([]string, error) { return nil, nil }

// RealPath resolves the links of a path. For a missing file it returns where the file would be.
func (LocalDisk) RealPath(ctx context.Context, path string) (RealPath, error) {
	rest := ""
	for {
		if err := ctx.Err(); err != nil {
			return RealPath{}, err
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return RealPath{filepath.Join(real, rest), true}, nil
		case !errors.Is(err, fs.ErrNotExist) || path == "/":
			return RealPath{}, nil
		}
		if _, err := os.Lstat(path); err == nil { // a dangling link
			return RealPath{}, nil
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// IsFolder reports whether a path leads to a folder.
func (LocalDisk) IsFolder(_ context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	return err == nil && info.IsDir(), nil
}

// maxMatches bounds the paths that a pattern may match, and maxEntries the folders and names that
// are read to find them. maxWildcards bounds the wildcards in its folder.
const (
	maxMatches   = 500
	maxEntries   = 10_000
	maxWildcards = 3
)

// MatchPaths returns what a shell pattern matches.
func (LocalDisk) MatchPaths(ctx context.Context, pattern string) (Matches, error) {
	if dir := filepath.Dir(pattern); strings.Count(dir, "*")+strings.Count(dir, "?")+strings.Count(dir, "[") > maxWildcards {
		return Matches{}, nil
	}
	list, err := new(folderWalk).match(ctx, pattern, maxMatches)
	switch {
	case ctx.Err() != nil:
		return Matches{}, ctx.Err()
	case err != nil: // a pattern that is not valid is unknown, too
		return Matches{}, nil
	}
	return Matches{list, true}, nil
}

// errTooMany means that a pattern matches too much, or that too much was read for it.
var errTooMany = errors.New("too many files")

// folderWalk matches as [filepath.Glob] does, which stops neither when its caller gives up nor when it
// has read too much.
type folderWalk struct {
	read int // folders and names
}

// Limits of a walk.
const (
	maxSeparators = 10_000 // of a pattern, as in [filepath.Glob]
	readAtOnce    = 1_000  // names of a folder, before the other limits are checked
)

// match returns the paths that a pattern matches, those in each folder sorted by name, or
// errTooMany.
func (w *folderWalk) match(ctx context.Context, pattern string, most int) (list []string, err error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	dir, name := filepath.Split(pattern)
	switch {
	case strings.Count(pattern, "/") > maxSeparators:
		return nil, errTooMany
	case !hasMeta(pattern):
		if _, err := os.Lstat(pattern); err == nil {
			list = []string{pattern}
		}
		return list, nil
	case dir == "":
		dir = "."
	case dir != "/":
		dir = dir[:len(dir)-1]
	}
	folders := []string{dir}
	if hasMeta(dir) {
		if folders, err = w.match(ctx, dir, maxEntries); err != nil {
			return nil, err
		}
	}
	for _, folder := range folders {
		names, err := w.names(ctx, folder)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			fits, err := filepath.Match(name, n)
			if err != nil {
				return nil, err
			}
			if fits {
				list = append(list, filepath.Join(folder, n))
			}
		}
		if len(list) > most {
			return nil, errTooMany
		}
	}
	return list, nil
}

// hasMeta reports whether a path is a pattern.
func hasMeta(path string) bool { return strings.ContainsAny(path, `*?[\`) }

// names returns the names in a folder, sorted; none if it cannot be read.
func (w *folderWalk) names(ctx context.Context, folder string) (names []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.read++; w.read > maxEntries {
		return nil, errTooMany
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() { // a pipe would not open
		return nil, nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return nil, nil //nolint:nilerr // it cannot be read
	}
	defer f.Close()
	for {
		more, end := f.Readdirnames(readAtOnce)
		names = append(names, more...)
		if w.read += len(more); w.read > maxEntries {
			return nil, errTooMany
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if end != nil {
			slices.Sort(names)
			return names, nil
		}
	}
}
