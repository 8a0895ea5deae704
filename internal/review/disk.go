package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// LocalDisk is the FileSystem of this machine, with the rights of the caller. It does not fail.
type LocalDisk struct{}

// PrivateFiles returns nil: LocalDisk does not know where sayso keeps its files.
func (LocalDisk) PrivateFiles(context.Context) ([]string, error) { return nil, nil }

// RealPath resolves the links of a path. For a missing file it returns where the file would be.
func (LocalDisk) RealPath(_ context.Context, path string) (RealPath, error) {
	rest := ""
	for {
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

// maxMatches bounds the paths that a pattern may match. maxWildcards bounds the wildcards in its
// folder, and so the folders that are read.
const (
	maxMatches   = 500
	maxWildcards = 3
)

// MatchPaths returns what a shell pattern matches.
func (LocalDisk) MatchPaths(_ context.Context, pattern string) (Matches, error) {
	if dir := filepath.Dir(pattern); strings.Count(dir, "*")+strings.Count(dir, "?")+strings.Count(dir, "[") > maxWildcards {
		return Matches{}, nil
	}
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) > maxMatches { // a pattern that is not valid is unknown, too
		return Matches{}, nil
	}
	return Matches{list, true}, nil
}
